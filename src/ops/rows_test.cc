// Checks every row against its own samples: the kernel's shapes are the shape function's, and the
// gradient is that of finite differences.

#include <gtest/gtest.h>

#include <cmath>

#include "graph/attr_kind.h"
#include "graph/gradients.h"
#include "graph/graph.h"
#include "ops/catalog.h"
#include "ops/sample.h"
#include "ops/test_interpreter.h"

namespace capstan {
namespace {

// One row on one sample, with its inputs as constants, variables, or placeholders where a gradient
// is wanted.
struct SampleGraph {
  SampleGraph(const OpDef& def, std::string_view text, DType reals)
      : sample(parse_sample(def, text, reals)), graph(standard_catalog()) {
    std::vector<bool> refs = reference_inputs(def);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      inputs.push_back(make_input(sample.inputs[i], i < refs.size() && refs[i]));
    }
    node = &graph.add_node(def.name, inputs, sample.attrs, "op");
  }

  static std::vector<bool> reference_inputs(const OpDef& def) {
    std::vector<bool> refs;
    for (const ArgDef& arg : def.inputs) refs.push_back(arg_type(def, arg).ref);
    return refs;
  }

  Output make_input(const Tensor& value, bool ref) {
    if (ref) {
      Output variable =
          graph.add("VariableV2", {}, {{"shape", value.shape()}, {"dtype", value.dtype()}});
      interpreter.set_variable(*variable.node, value);
      return variable;
    }
    if (!is_floating(value.dtype())) return graph.constant(value);
    Output placeholder =
        graph.add("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", value.shape()}});
    interpreter.feed(placeholder, value);
    return placeholder;
  }

  // The outputs that a gradient is taken of: the first, or all of a list.
  std::vector<Output> differentiated() {
    std::vector<Output> ys;
    bool list = node->def().outputs.size() == 1;
    for (int i = 0; i < (list ? node->outputs() : 1); ++i) {
      if (is_floating(node->output_type(i))) ys.push_back(node->output(i));
    }
    return ys;
  }

  Sample sample;
  Graph graph;
  Interpreter interpreter;
  std::vector<Output> inputs;
  Node* node;
};

void check_shapes(const OpDef& def, std::string_view text) {
  SampleGraph s(def, text, DType::kFloat);
  const std::vector<Tensor>& outputs = s.interpreter.outputs(*s.node);
  for (int i = 0; i < s.node->outputs(); ++i) {
    const Tensor& out = outputs[size_t(i)];
    EXPECT_EQ(out.dtype(), s.node->output_type(i));
    EXPECT_TRUE(s.node->output_shape(i).compatible_with(out.shape()))
        << "output " << i << ": " << s.node->output_shape(i).text() << " against "
        << out.shape().text();
  }
}

// Weights that make one number of the outputs.
Tensor weights(const Shape& shape) {
  Tensor w(DType::kDouble, shape);
  for (int64_t i = 0; i < w.size(); ++i) w.data<double>()[i] = 0.5 + 0.25 * double(i % 5);
  return w;
}

double weighted_sum(const OpDef& def, std::string_view text, size_t input, int64_t element,
                    double shift) {
  SampleGraph s(def, text, DType::kDouble);
  if (shift != 0) {
    Tensor moved = s.sample.inputs[input].clone();
    moved.data<double>()[element] += shift;
    s.interpreter.feed(s.inputs[input], moved);
  }
  double sum = 0;
  for (Output y : s.differentiated()) {
    Tensor value = s.interpreter.value(y), w = weights(value.shape());
    for (int64_t i = 0; i < value.size(); ++i) sum += value.data<double>()[i] * w.data<double>()[i];
  }
  return sum;
}

void check_input_gradient(const OpDef& def, std::string_view text, size_t input,
                          const Tensor& gradient) {
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < gradient.size(); ++i) {
    double up = weighted_sum(def, text, input, i, kStep),
           down = weighted_sum(def, text, input, i, -kStep);
    double expected = (up - down) / (2 * kStep), got = gradient.data<double>()[i];
    EXPECT_NEAR(got, expected, 1e-6 * std::max(1.0, std::abs(expected)))
        << "d(output)/d(input " << input << ")[" << i << "]";
  }
}

void check_gradients(const OpDef& def, std::string_view text) {
  SampleGraph s(def, text, DType::kDouble);
  std::vector<Output> ys = s.differentiated(), xs;
  std::vector<size_t> places;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (s.inputs[i].dtype() != DType::kDouble || s.inputs[i].is_ref()) continue;
    xs.push_back(s.inputs[i]);
    places.push_back(i);
  }
  if (ys.empty() || xs.empty()) return;
  GradientOptions options;
  for (Output y : ys) {
    options.grad_ys.push_back(s.graph.constant(weights(s.interpreter.value(y).shape())));
  }
  std::vector<Output> grads = gradients(s.graph, ys, xs, options);
  for (size_t k = 0; k < xs.size(); ++k) {
    if (!grads[k]) continue;  // TensorFlow has none for it either
    Tensor gradient = s.interpreter.value(grads[k]);
    ASSERT_EQ(gradient.shape(), s.sample.inputs[places[k]].shape())
        << "gradient of input " << places[k];
    EXPECT_TRUE(grads[k].shape().compatible_with(gradient.shape()));
    check_input_gradient(def, text, places[k], gradient);
  }
}

class EveryRow : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(EveryRow, HasTheShapesThatItsShapeFunctionSays) {
  for (std::string_view text : GetParam()->samples) {
    SCOPED_TRACE(text);
    check_shapes(*GetParam(), text);
  }
}

TEST_P(EveryRow, HasTheGradientOfFiniteDifferences) {
  const OpDef& def = *GetParam();
  // Its gradient is an error with a message.
  if (!def.gradient || def.name == "PreventGradient") return;
  EXPECT_GT(def.samples.size(), 0u)
      << def.name << " has a gradient, but no sample to check it with";
  for (std::string_view text : def.samples) {
    SCOPED_TRACE(text);
    check_gradients(def, text);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryRow,
                         ::testing::ValuesIn(standard_catalog().all().begin(),
                                             standard_catalog().all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace capstan
