// Rows of composites and optimizers hold together: what they say in text names what they have.

#include <gtest/gtest.h>

#include <algorithm>

#include "build/composites.h"
#include "build/operators.h"
#include "build/optimizers.h"
#include "build/row_text.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

constexpr uint8_t kGraphKind = kind_of<Graph*>();

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_engines(const RowParameter& p) {
  return p.name != "name" && p.name != "scope" && p.how != "collection" &&
         !p.how.starts_with("for ");
}

bool has(std::span<const RowParameter> parameters, std::string_view name) {
  return std::ranges::any_of(parameters, [&](const RowParameter& p) { return p.name == name; });
}

// The parameter that another one refers to, or none.
std::string_view referred(const RowParameter& parameter) {
  for (std::string_view start : {"type of ", "as ", "for "}) {
    if (parameter.how.starts_with(start)) return parameter.how.substr(start.size());
  }
  return {};
}

void check_words(const CompositeDef& row, std::span<const RowParameter> parameters) {
  for (std::string_view word : words_of(row.order)) EXPECT_TRUE(has(parameters, word)) << word;
  for (std::string_view word : words_of(row.constants)) {
    EXPECT_TRUE(has(parameters, word.substr(0, word.find('=')))) << word;
  }
  for (const RowParameter& p : parameters) {
    EXPECT_TRUE(referred(p).empty() || has(parameters, referred(p))) << p.how;
  }
}

TEST(CompositeRows, SayTheParametersOfTheirFunctions) {
  for (const CompositeDef* row : all_composites()) {
    SCOPED_TRACE(row->name);
    ASSERT_TRUE(row->build.call);
    if (row->python.empty()) continue;
    const std::vector<RowParameter> parameters = row_parameters(row->python);
    // Besides, the function takes its name, and a graph where no argument may have one.
    const size_t more = row->build.kinds.front() == kGraphKind ? 2 : 1;
    EXPECT_EQ(std::ranges::count_if(parameters, is_engines) + more, row->build.kinds.size());
    EXPECT_FALSE(row->doc.empty() || row->scope.empty());
    check_words(*row, parameters);
  }
}

TEST(CompositeRows, AreFoundByTheirNames) {
  EXPECT_EQ(composite_called("log_loss").scope, "log_loss");
  EXPECT_THROW(composite_called("log_los"), Error);
  EXPECT_EQ(reduction_called("weighted_sum"), Reduction::kSum);
  EXPECT_THROW(reduction_called("sum"), Error);
}

TEST(CompositeRows, CallTheirFunctionsWithArgumentsByKind) {
  Graph g(standard_catalog());
  Output x = placeholder(g, DType::kFloat, {4, 3}, "x");
  const std::vector<Argument> given = {x, Axes{{1}}, 1e-12, std::string("unit")};
  Built made = composite_called("l2_normalize").build.call(given);
  EXPECT_EQ(std::get<Output>(made).name(), "unit:0");
}

TEST(RowText, HasNamesWhatIsSaidOfThemAndDefaults) {
  auto found = row_parameters("nn.f (x, y: type of x, z: for y='a b')");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "x");
  EXPECT_EQ(found[1].how, "type of x");
  EXPECT_EQ(found[2].value, "'a b'");
  EXPECT_TRUE(row_parameters("").empty());
}

// Whether the word is an input that the row has.
bool is_input(const OptimizerDef& row, std::span<const RowParameter> parameters,
              std::string_view word) {
  if (!word.starts_with('@')) return word == "var" || word == "grad" || has(parameters, word);
  word.remove_prefix(1);
  return std::ranges::any_of(row.slots, [&](const SlotDef& s) { return s.kind == word; }) ||
         std::ranges::any_of(row.powers, [&](const PowerDef& p) { return p.name == word; });
}

TEST(OptimizerRows, NameParametersVariablesAndInputsThatThereAre) {
  for (const OptimizerDef* row : all_optimizers()) {
    SCOPED_TRACE(row->name);
    const std::vector<RowParameter> parameters = row_parameters(row->python_class);
    EXPECT_TRUE(has(parameters, "name") && has(parameters, "use_locking"));
    for (const SlotDef& slot : row->slots) {
      EXPECT_TRUE(slot.initial.empty() || has(parameters, slot.initial)) << slot.initial;
    }
    for (const PowerDef& power : row->powers) EXPECT_TRUE(has(parameters, power.of)) << power.of;
    if (row->dense.build) continue;
    const auto inputs = words_of(row->dense.inputs);
    for (std::string_view word : inputs) EXPECT_TRUE(is_input(*row, parameters, word)) << word;
    EXPECT_EQ(inputs.size(), standard_catalog().get(row->dense.op).inputs.size());
  }
}

class OptimizerRowsInUse : public ::testing::Test {
 protected:
  Node& train(Optimizer& optimizer) {
    VariableOptions options;
    options.name = "w";
    weights.push_back(make_variable(g, filled(DType::kFloat, {2}, 1), options));
    return minimize(g, optimizer, reduce_sum(square(weights[0].read)), weights);
  }
  Graph g{standard_catalog()};
  std::vector<VariableRef> weights;
};

TEST_F(OptimizerRowsInUse, KeepTheVariablesThatTheySay) {
  auto optimizer = adam(0.01);
  train(*optimizer);
  EXPECT_EQ(optimizer->slot("v", weights[0])->name(), "w/Adam_1");
  EXPECT_TRUE(g.find("beta2_power"));
  EXPECT_EQ(g.find("Adam/update_w/ApplyAdam")->op(), "ApplyAdam");
}

TEST_F(OptimizerRowsInUse, RefuseSettingsThatTheRowDoesNotAllow) {
  EXPECT_THROW(adagrad(0.1, -1), Error);
  EXPECT_THROW(make_optimizer("adagrad", {0.1}), Error);
  EXPECT_THROW(make_optimizer("adagard", {0.1}), Error);
}

// var -= learning_rate * sign(grad)
Node& sign_step(const ApplyContext& c) {
  Output step = c.parameter("learning_rate") * c.graph().add("Sign", {c.gradient()});
  return *c.graph().add("AssignSub", {c.variable().ref, step}).node;
}

TEST_F(OptimizerRowsInUse, MayApplyGradientsByAFunction) {
  constexpr OptimizerDef kRow = {
      .name = "sign",
      .python_class = "train.SignOptimizer (learning_rate, use_locking=False, name='Sign')",
      .dense = {.build = sign_step}};
  auto optimizer = make_optimizer(kRow, {0.1, false, std::string("Sign")});
  EXPECT_EQ(train(*optimizer).name(), "Sign");
  EXPECT_EQ(g.find("Sign/update_w/AssignSub")->op(), "AssignSub");
}

}  // namespace
}  // namespace capstan
