#include "jobs/script/dtf_predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/script/bindings.h"
#include "jobs/script/test_call.h"
#include "train/test_model.h"

namespace capstan::script {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Knows one table's columns, and keeps what it is given.
class KeepingEngine : public Engine {
 public:
  void load(const LoadFrom&, const std::string&) override {}
  void define(const std::string& table, const Rows& rows) override { defined[table] = rows; }
  void select(std::string_view sql, const std::string& table) override { selected[table] = sql; }
  void execute(std::string_view) override {}
  void save(const std::string&, const SaveTo&) override {}
  void drop(const std::string&) override {}
  std::vector<std::string> tables() const override { return {"t"}; }
  std::vector<Column> columns(const std::string&) const override { return table_columns; }
  Rows rows(const std::string&, int64_t) const override { return {}; }
  std::unique_ptr<RowReader> read(const std::string&) const override { return nullptr; }
  Rows query(std::string_view, int64_t) override {
    Rows rows;
    rows.rows = {{std::string("[1.0,2.0]")}};
    return rows;
  }
  int partitions(const std::string&) const override { return 1; }
  void repartition(const std::string&, int, const std::string&) override {}
  std::vector<Shard> write_shards(const std::string&, const std::string&,
                                  const std::string&) override {
    return {};
  }
  void add_function(Function function) override { added.push_back(std::move(function)); }
  std::vector<std::string> functions() const override { return {}; }
  void interrupt() override {}
  void resume() override {}

  std::vector<Column> table_columns = {{"id", "BIGINT"}, {"x", "DOUBLE[]"}};
  std::map<std::string, Rows> defined;
  std::map<std::string, std::string> selected;
  std::vector<Function> added;
};

class Prediction : public testing::Test, protected TestModel {
 protected:
  Prediction() { save(); }

  const Function& enroll(const KeyValues& options) {
    call_.run(dtf_enroll, dtf_enroll_options(), "", folder_, "f", options);
    return engine_.added.back();
  }
  std::string predict(const KeyValues& options) {
    call_.run(dtf_predict, dtf_predict_options(), "t", folder_, "r", options);
    return engine_.selected.at("r");
  }

  KeepingEngine engine_;
  TestCall call_{engine_};
};

TEST_F(Prediction, ARegisteredModelIsAFunctionOfAList) {
  const Function& f = enroll({{"outputs", "p"}});
  EXPECT_EQ(f.name, "f");
  ASSERT_EQ(f.arguments.size(), 1u);
  EXPECT_EQ(f.arguments[0].name, "x");
  EXPECT_EQ(f.arguments[0].width, 2);
  ASSERT_EQ(f.results.size(), 1u);
  EXPECT_EQ(f.results[0].width, 0);
  const Tensor answer = f.call({rows_})[0];
  EXPECT_TRUE(answer.equals(expected_.reshaped({3})));
}

TEST_F(Prediction, FeaturesMakeItAFunctionOfSeparateColumns) {
  const Function& f = enroll({{"outputs", "p"}, {"features", "age, height"}});
  ASSERT_EQ(f.arguments.size(), 2u);
  EXPECT_EQ(f.arguments[1].name, "height");
  const Tensor answer =
      f.call({Tensor::of<float>({3}, {1, -1, 0}), Tensor::of<float>({3}, {2, 0.5f, 0})})[0];
  EXPECT_TRUE(answer.equals(expected_.reshaped({3})));
  EXPECT_THAT(message_of([&] {
                enroll({{"outputs", "p"}, {"features", "a,b,c"}});
              }),
              HasSubstr("takes 2 numbers per row, but it is given 3"));
}

TEST_F(Prediction, TheTableOfARegisteredModelExplainsIt) {
  enroll({{"outputs", "p"}});
  std::string text;
  for (const auto& row : engine_.defined.at("f").rows)
    text += std::get<std::string>(row[0]) + "=" + std::get<std::string>(row[1]) + " ";
  EXPECT_THAT(text, AllOf(HasSubstr("model=the checkpoint"), HasSubstr("argument=x "),
                          HasSubstr("result=prediction "), HasSubstr("variable=w ")));
}

TEST_F(Prediction, ThePredictionStandsBesideAllColumns) {
  EXPECT_THAT(predict({{"outputs", "p"}}),
              testing::MatchesRegex("select \\*, capstan_predict_[a-z_0-9]*\\(`x`\\) as "
                                    "`prediction` from `t`"));
  EXPECT_THAT(predict({{"outputs", "p=chance, logits"}}),
              AllOf(HasSubstr("select `id`, `x`, capstan_answer.`chance` as `chance`, "
                              "capstan_answer.`logits` as `logits` from (select *, ")));
}

TEST_F(Prediction, ColumnsAreFoundWhateverTheirCaseOrNamedInOptions) {
  engine_.table_columns = {{"X", "DOUBLE[]"}};
  EXPECT_THAT(predict({{"outputs", "p"}}), HasSubstr("(`X`)"));
  engine_.table_columns = {{"v", "FLOAT[2]"}, {"a", "DOUBLE"}, {"b", "BIGINT"}};
  EXPECT_THAT(predict({{"outputs", "p"}, {"inputs", "x:0=v"}}), HasSubstr("(`v`)"));
  EXPECT_THAT(predict({{"outputs", "p"}, {"inputs", "x=[B, a]"}}), HasSubstr("(`b`, `a`)"));
  EXPECT_THAT(predict({{"outputs", "p"}, {"features", "a,b"}}), HasSubstr("(`a`, `b`)"));
  EXPECT_THAT(predict({{"outputs", "kept"}, {"inputs", "x=v, keep_prob=1"}}), HasSubstr("(`v`)"));
}

TEST_F(Prediction, WhatIsMissingIsToldWithAWayOut) {
  EXPECT_THAT(message_of([&] { predict({}); }), HasSubstr("name its outputs"));
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "kept"}});
              }),
              HasSubstr("'keep_prob:0' (float32 []) is one value for all rows: give it, as "
                        "inputs=\"keep_prob:0=1\""));
  engine_.table_columns = {{"id", "BIGINT"}, {"weight", "DOUBLE"}};
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "p"}});
              }),
              AllOf(HasSubstr("finds no column 'x'"), HasSubstr("it has id, weight")));
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "p"}, {"inputs", "x=wieght"}});
              }),
              HasSubstr("did you mean weight?"));
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "p"}, {"inputs", "x=weight"}});
              }),
              HasSubstr("takes 2 numbers per row, but it is given 1"));
  engine_.table_columns = {{"x", "DOUBLE[]"}, {"Prediction", "DOUBLE"}};
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "p"}});
              }),
              HasSubstr("has a column 'prediction' already"));
  EXPECT_THAT(message_of([&] {
                predict({{"outputs", "p"}, {"modelVersion", "3"}});
              }),
              HasSubstr("NotFound"));
}

TEST_F(Prediction, APathWithoutAModelSaysHowToGetOne) {
  EXPECT_THAT(message_of([&] {
                call_.run(dtf_predict, dtf_predict_options(), "t", folder_ + "/none", "r", {});
              }),
              HasSubstr("no trained model; train one there first"));
}

TEST_F(Prediction, AnAnswerForAllRowsTogetherIsRefused) {
  EXPECT_THAT(message_of([&] {
                enroll({{"outputs", "loss"}});
              }),
              HasSubstr("'loss' gives [] for 3 rows"));
}

// Of two inputs it has two rows itself.
TEST_F(Prediction, AnOutputThatIsAVariableIsRefusedByThatWord) {
  for (const char* outputs : {"w", "p,w", "w:0"}) {
    EXPECT_THAT(message_of([&] {
                  enroll({{"outputs", outputs}});
                }),
                HasSubstr("is a variable, the same for every row"));
  }
}

TEST(Bindings, MapTensorsToColumnsListsAndValues) {
  const auto bindings = parse_bindings(" a/x:0 = features, y=[c 1, c2],keep=0.5, train=false, z ");
  ASSERT_EQ(bindings.size(), 5u);
  EXPECT_EQ(bindings[0].tensor, "a/x:0");
  EXPECT_THAT(bindings[0].columns, ElementsAre("features"));
  EXPECT_THAT(bindings[1].columns, ElementsAre("c 1", "c2"));
  EXPECT_TRUE(bindings[1].side_by_side);
  EXPECT_EQ(bindings[2].value, 0.5);
  EXPECT_EQ(bindings[3].value, 0.0);
  EXPECT_THAT(bindings[4].columns, ElementsAre());
}

TEST(Bindings, RefuseWhatNamesNothing) {
  for (const char* text : {"=a", "a=", "a,,b", "a=[b", "a=b]", "a=[,]", "a,a"})
    EXPECT_THAT(message_of([&] { parse_bindings(text); }), HasSubstr("InvalidArgument")) << text;
}

}  // namespace
}  // namespace capstan::script
