// Prediction through the engine that runs SQL in this process.

#include "jobs/duck/test_engine.h"
#include "jobs/script/dtf_predict.h"
#include "jobs/script/test_call.h"
#include "train/test_model.h"

namespace capstan::script {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class EnginePrediction : public duck::DuckTest, protected TestModel {
 protected:
  EnginePrediction() { save(); }
  void SetUp() override {
    DuckTest::SetUp();
    if (!engine) return;
    call_ = std::make_unique<TestCall>(*engine);
    engine->select(
        "select * from (values (1, [1, 2], 1.0, 2), (2, [-1, 0.5], -1.0, 0.5), (3, null, null, 1)) "
        "as v(id, x, a, b)",
        "t");
  }
  void predict(const KeyValues& options) {
    call_->run(dtf_predict, dtf_predict_options(), "t", TestModel::folder_, "r", options);
  }
  std::string expected(int row) const { return fmt::format("{}", expected_.data<float>()[row]); }

  std::unique_ptr<TestCall> call_;
};

TEST_F(EnginePrediction, AddsAColumnWithNullWhereTheRowHasNone) {
  predict({{"outputs", "p"}, {"inputs", "x=x"}});
  EXPECT_EQ(answer("select id, prediction from r order by id"),
            fmt::format("id,prediction|1,{}|2,{}|3,null", expected(0), expected(1)));
}

TEST_F(EnginePrediction, AListOfAnotherLengthIsNamedByItsColumn) {
  engine->select("select [1, 2] as x union all select [1, 2, 3]", "t");
  EXPECT_THAT(duck::thrown([&] {
                predict({{"outputs", "p"}});
              }),
              AllOf(HasSubstr("x has 3 numbers where 2 are expected"), Not(HasSubstr("capstan_"))));
}

TEST_F(EnginePrediction, SeparateColumnsGiveTheSameAsAList) {
  predict({{"outputs", "p=q"}, {"features", "a,b"}});
  EXPECT_EQ(answer("select id, q from r order by id"),
            fmt::format("id,q|1,{}|2,{}|3,null", expected(0), expected(1)));
}

TEST_F(EnginePrediction, SeveralOutputsBecomeColumnsBesideAllOthers) {
  predict({{"outputs", "p, logits=z"}, {"features", "a,b"}});
  std::string names;
  for (const Column& column : engine->columns("r")) names += column.name + " ";
  EXPECT_EQ(names, "id x a b p z ");
  EXPECT_EQ(answer("select z from r where id = 1"), "z|-3.25");
}

TEST_F(EnginePrediction, ARegisteredModelIsCalledInAnySelect) {
  call_->run(dtf_enroll, dtf_enroll_options(), "", TestModel::folder_, "f", {{"outputs", "p"}});
  EXPECT_EQ(answer("select f([1, 2]) as q"), "q|" + expected(0));
  EXPECT_EQ(answer("select id from t where f(x) > 0.2"), "id|2");
  EXPECT_EQ(answer("select name from f where part = 'argument'"), "name|x");
  EXPECT_THAT(duck::thrown([&] { answer("select f([1, 2, 3]) as q"); }),
              HasSubstr("has 3 numbers where 2 are expected"));
}

}  // namespace
}  // namespace capstan::script
