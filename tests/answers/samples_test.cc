// Every row gives one answer on each of its samples, however it is run and whatever its inputs and
// outputs pass through.

#include <gtest/gtest.h>

#include "answers/samples.h"
#include "answers/ways.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

class EveryRow : public testing::TestWithParam<const OpDef*> {
 protected:
  // A few of the ways each time, others every time.
  void expect_one_answer(Question& q, int count) {
    static const std::vector<Way> all = all_ways();
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(runner_.differs(q, all[next_++ * 17 % all.size()]), "");
      if (HasFailure()) return;
    }
  }

 private:
  Runner runner_;
  size_t next_ = 0;
};

TEST_P(EveryRow, GivesOneAnswerOnItsSamples) {
  const OpDef& row = *GetParam();
  for (std::string_view text : row.samples) {
    const Sample sample = parse_sample(row, text);
    for (Origin origin : kOrigins) {
      for (Detour detour : kDetours) {
        SCOPED_TRACE(
            fmt::format("{} {}, origin {}, detour {}", row.name, text, int(origin), int(detour)));
        Question q;
        ask(q, row, sample, origin, detour);
        expect_one_answer(q, 6);
      }
    }
  }
}

// Loops over so many elements are shared between threads.
TEST_P(EveryRow, GivesOneAnswerOnLargeInputs) {
  const OpDef& row = *GetParam();
  for (std::string_view text : row.samples) {
    const std::optional<std::string> large = grown(text, 140'000);
    if (!large) continue;
    SCOPED_TRACE(fmt::format("{} {}", row.name, *large));
    Question q;
    try {
      ask(q, row, parse_sample(row, *large), Origin::kComputed, Detour::kNone);
    } catch (const Error&) {
      continue;  // an attr speaks of the dimension, and the row refuses another
    }
    expect_one_answer(q, 6);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryRow,
                         testing::ValuesIn(standard_catalog().all().begin(),
                                           standard_catalog().all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

// Whether an output of the row is an input's tensor, where the row does not say so.
void expect_said(const OpDef& row, std::string_view text) {
  Question q;
  ask(q, row, parse_sample(row, text), Origin::kFed, Detour::kNone);
  Node& node = *q.graph.find(row.name);
  const std::vector<Tensor>& outputs = q.interpreter.outputs(node);
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.input(int(i)).is_ref()) continue;
      const bool handed_on = outputs[o].raw() == q.interpreter.value(node.input(int(i))).raw();
      const bool said = o == 0 && i == 0 && (row.forwards || row.hands_on);
      EXPECT_TRUE(!handed_on || said)
          << row.name << " " << text << ": output " << o << " is input " << i;
    }
  }
}

// Memory is laid out by it: see OpDef::hands_on.
TEST(Rows, SayWhichInputTheyHandOn) {
  for (const OpDef* row : standard_catalog().all()) {
    for (std::string_view text : row->samples) expect_said(*row, text);
  }
}

}  // namespace
}  // namespace capstan
