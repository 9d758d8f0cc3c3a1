#include <cmath>
#include <cstring>
#include <thread>

#include "ops/row_test.h"

namespace capstan {
namespace {

constexpr int64_t kSize = 11;  // whole vectors and a rest, for every instruction set

class Training : public RowTest {
 protected:
  Training() {
    for (int64_t i = 0; i < kSize; ++i) {
      start.data<float>()[i] = float(0.1 * double(i) - 0.3);
      grad.data<float>()[i] = float(double(i * 7 % 5 - 2) * 0.25 + 0.01 * double(i));
    }
  }
  std::shared_ptr<Variable> filled(const std::string& name, float value) {
    Tensor t(DType::kFloat, Shape{kSize});
    std::fill_n(t.data<float>(), kSize, value);
    return variable(name, t);
  }
  // Values recorded from TensorFlow 2.21 after three steps; `ulps` apart at most.
  static void expect_bits(const Variable& v, const std::vector<uint32_t>& bits, int ulps = 0) {
    for (size_t i = 0; i < bits.size(); ++i) {
      int32_t got, want = int32_t(bits[i]);
      std::memcpy(&got, v.value().data<float>() + i, 4);
      EXPECT_NEAR(got, want, ulps) << v.name() << " at " << i;
    }
  }
  static Tensor scalar(double value) { return Tensor::scalar(float(value)); }

  Tensor start{DType::kFloat, Shape{kSize}}, grad{DType::kFloat, Shape{kSize}};
};

TEST_F(Training, GradientDescentIsTensorFlows) {
  auto w = variable("w", start);
  for (int i = 0; i < 3; ++i) run("ApplyGradientDescent", {w, scalar(0.3), grad});
  expect_bits(*w,
              {0x3e19999a, 0xbe56041a, 0xbf116873, 0x3e4ac083, 0xbe24dd2e, 0x3f1ae148, 0x3e7be76c,
               0xbde76c8c, 0x3f272b02, 0x3e96872c, 0x3f87ae14},
              2);
}

TEST_F(Training, MomentumIsTensorFlows) {
  auto w = variable("w", start), a = filled("a", 0);
  for (int i = 0; i < 3; ++i) run("ApplyMomentum", {w, a, scalar(0.3), grad, scalar(0.9)});
  expect_bits(*w,
              {0x3f0a9fbe, 0xbe5e08b0, 0xbf79a416, 0x3ebd92b8, 0xbec6b11c, 0x3f7514e4, 0x3e4bcbe6,
               0xbf0f2ef0, 0x3f493e81, 0x3ce392d0, 0x3fafc504},
              8);
  expect_bits(*a,
              {0xbfad70a4, 0x3cde00d1, 0x3fb460aa, 0xbf18a090, 0x3f4930be, 0xbf9c1893, 0x3e26809d,
               0x3fc5b8ba, 0xbeebe0e0, 0x3f6be0e0, 0xbf8ac083},
              2);
}

TEST_F(Training, NesterovMomentumIsTensorFlows) {
  auto w = variable("w", start), a = filled("a", 0);
  for (int i = 0; i < 3; ++i) {
    run("ApplyMomentum", {w, a, scalar(0.3), grad, scalar(0.9)}, {{"use_nesterov", true}});
  }
  expect_bits(*w,
              {0x3f684818, 0xbe6586cb, 0xbfad85be, 0x3f07fef4, 0xbf19aad6, 0x3fa4afcd, 0x3e1ed741,
               0xbf79f3f8, 0x3f691676, 0xbe624d50, 0x3fd53b8f},
              4);
}

TEST_F(Training, AdagradIsTensorFlows) {
  auto w = variable("w", start), a = filled("a", 0.1f);
  for (int i = 0; i < 3; ++i) run("ApplyAdagrad", {w, a, scalar(0.3), grad});
  expect_bits(*w,
              {0x3e9eaa56, 0xbe69ea1b, 0xbf36f1c9, 0x3ee82290, 0xbed5acb3, 0x3f4bc1b2, 0x3e0a43eb,
               0xbe66284a, 0x3f6372a4, 0x3d4ed2d4, 0x3fa397d5},
              8);
  expect_bits(*a,
              {0x3f59999a, 0x3dcd6a17, 0x3f694467, 0x3e7b15b6, 0x3eb460aa, 0x3f351eb8, 0x3de2eb1d,
               0x3f898fc5, 0x3e3f2e49, 0x3ee4c2f8, 0x3f147ae2},
              2);
}

TEST_F(Training, AdagradLeavesItsSlotAloneWhenAsked) {
  auto w = variable("w", start), a = filled("a", 0.1f);
  for (int i = 0; i < 3; ++i)
    run("ApplyAdagrad", {w, a, scalar(0.3), grad}, {{"update_slots", false}});
  expect_bits(*w,
              {0x3f8fbf48, 0xbe69f18e, 0xbfca3baa, 0x3f204a1e, 0xbf39b0d4, 0x3fbd8850, 0x3e0456b4,
               0xbf9c72a2, 0x3f7bdc2f, 0xbebc3d8b, 0x3feb5158},
              8);
  expect_bits(*a, std::vector<uint32_t>(size_t(kSize), 0x3dcccccd));
}

TEST_F(Training, AdamIsTensorFlows) {
  for (bool nesterov : {false, true}) {
    auto w = variable("w", start), m = filled("m", 0), v = filled("v", 0);
    float power1 = 0.9f, power2 = 0.999f;
    for (int i = 0; i < 3; ++i) {
      run("ApplyAdam",
          {w, m, v, scalar(power1), scalar(power2), scalar(0.01), scalar(0.9), scalar(0.999),
           scalar(1e-8), grad},
          {{"use_nesterov", nesterov}});
      power1 *= 0.9f;
      power2 *= 0.999f;
    }
    if (nesterov) {
      expect_bits(*w,
                  {0xbe821272, 0xbe7bdad2, 0xbe1574b7, 0x3d3c3938, 0x3d5d605e, 0x3e7bdb1d,
                   0x3e821277, 0x3eb545a5, 0x3f0bc394, 0x3f0dd606, 0x3f3ef6c7},
                  8);
    } else {
      expect_bits(*w,
                  {0xbe8a3d75, 0xbe6b84e7, 0xbe051eb1, 0x3cf5c247, 0x3d8f5c3a, 0x3e6b8517,
                   0x3e8a3d78, 0x3ebd70a8, 0x3f07ae12, 0x3f11eb88, 0x3f3ae146},
                  8);
    }
    expect_bits(*m,
                {0xbe0ac085, 0x3b319a43, 0x3e104d57, 0xbd74341e, 0x3da0f3cd, 0xbdf9c0ef, 0x3c8533b3,
                 0x3e1e2d64, 0xbd3cb3e9, 0x3dbcb3e9, 0xbdde00d6},
                4);
    expect_bits(*v,
                {0x3a4468b0, 0x34a0e5f0, 0x3a546f96, 0x3918195d, 0x398424d7, 0x3a1f175a, 0x373502ae,
                 0x3a7f40c8, 0x38b5a395, 0x39b5a395, 0x39fb6748},
                4);
  }
}

TEST_F(Training, DoublesWorkToo) {
  auto w = variable("w", Tensor::of<double>({3}, {1, 2, 3}));
  run("ApplyGradientDescent", {w, Tensor::scalar(0.5), Tensor::of<double>({3}, {2, 2, 2})});
  EXPECT_TRUE(w->value().equals(Tensor::of<double>({3}, {0, 1, 2})));
}

TEST_F(Training, AGradientOfAnotherShapeIsRefusedByName) {
  auto w = variable("weights", start);
  const std::string message = message_of([&] {
    run("ApplyGradientDescent", {w, scalar(1), Tensor::of<float>({1}, {1})});
  });
  EXPECT_NE(message.find("variable weights has shape [11] but its gradient has [1]"),
            std::string::npos)
      << message;
}

TEST_F(Training, AllInstructionSetsAgree) {
  std::vector<Tensor> results;
  for (Isa isa : machine_isas()) {
    TaskState other("/job:localhost/task:0", 1, posix_files(), isa);
    RunContext run_context{&other, &session, &cancellation};
    auto w = variable("w", start), m = filled("m", 0.5f), v = filled("v", 0.25f);
    const std::vector<Arg> args = {w,
                                   m,
                                   v,
                                   scalar(0.9),
                                   scalar(0.999),
                                   scalar(0.1),
                                   scalar(0.9),
                                   scalar(0.999),
                                   scalar(1e-8),
                                   grad};
    std::vector<KernelInput> inputs;
    for (const Arg& arg : args) inputs.push_back({arg.value, arg.variable});
    run_kernel(node("ApplyAdam", args), inputs, run_context);
    results.push_back(w->value().clone());
  }
  for (const Tensor& result : results) EXPECT_TRUE(result.equals(results[0]));
}

TEST_F(Training, LockedUpdatesOfSharedSlotsDoNotBlockEachOther) {
  auto a = filled("a", 0), b = filled("b", 0);
  Node& there =
      node("ApplyMomentum", {a, b, scalar(0.1), grad, scalar(0.9)}, {{"use_locking", true}});
  Node& back =
      node("ApplyMomentum", {b, a, scalar(0.1), grad, scalar(0.9)}, {{"use_locking", true}});
  std::jthread other([&] {
    for (int i = 0; i < 500; ++i) run(there, {a, b, scalar(0.1), grad, scalar(0.9)});
  });
  for (int i = 0; i < 500; ++i) run(back, {b, a, scalar(0.1), grad, scalar(0.9)});
}

}  // namespace
}  // namespace capstan
