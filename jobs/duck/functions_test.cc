#include <chrono>
#include <cstdio>

#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

using script::Function;
using script::FunctionValue;
using ::testing::HasSubstr;

// f(x FLOAT[n], k) = sum of x + k, for each row.
Function weighted(int64_t width) {
  Function function{
      "f", {{"x", DType::kFloat, width}, {"k", DType::kInt64, 0}}, {{"y", DType::kFloat, 0}}, {}};
  function.call = [width](const std::vector<Tensor>& in) {
    int64_t rows = in[0].shape()[0];
    Tensor out(DType::kFloat, Shape{rows});
    for (int64_t r = 0; r < rows; ++r) {
      float sum = float(in[1].data<int64_t>()[r]);
      for (int64_t i = 0; i < width; ++i) sum += in[0].data<float>()[r * width + i];
      out.data<float>()[r] = sum;
    }
    return std::vector<Tensor>{out};
  };
  return function;
}

TEST_F(DuckTest, AFunctionIsCalledWithListsArraysAndNumbersOfAnyKind) {
  engine->add_function(weighted(2));
  EXPECT_THAT(engine->functions(), ::testing::ElementsAre("f"));
  EXPECT_EQ(answer("select f([1.5, 2], 1) as a, f([1, 2]::double[2], '3') as b, f(array[1::float, "
                   "2], 1.0) as c"),
            "a,b,c|4.5,6,4");
}

TEST_F(DuckTest, ARowWithANullArgumentGivesNullAndIsNotHandedOver) {
  Function function = weighted(1);
  int64_t seen = 0;
  function.call = [&seen, inner = function.call](const std::vector<Tensor>& in) {
    seen += in[0].shape()[0];
    return inner(in);
  };
  engine->add_function(function);
  EXPECT_EQ(
      answer("select f(if(i % 2 = 0, null, [i]), if(i = 3, null, 0)) as y from range(6) as r(i)"),
      "y|null|1|null|null|null|5");
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(answer("select f(null, 1) as y"), "y|null");
}

TEST_F(DuckTest, ANullInsideAListIsANullArgument) {
  engine->add_function(weighted(2));
  EXPECT_EQ(answer("select f([i, if(i % 2 = 0, null, 1)], 0) as y from range(4) as r(i)"),
            "y|null|2|null|4");
  EXPECT_EQ(answer("select f([null], 0) as y"), "y|null");
}

TEST_F(DuckTest, WhatAFunctionThrowsIsTheErrorOfTheQuery) {
  engine->add_function(weighted(3));
  EXPECT_THAT(thrown([&] { answer("select f([1, 2], 1)"); }),
              HasSubstr("f: x has 2 numbers where 3 are expected"));
  Function broken = weighted(1);
  broken.call = [](const std::vector<Tensor>&) -> std::vector<Tensor> {
    throw failed_precondition("no model");
  };
  engine->add_function(broken);
  EXPECT_THAT(thrown([&] { answer("select f([1], 1)"); }), HasSubstr("f: no model"));
  broken.call = [](const std::vector<Tensor>&) { return std::vector<Tensor>{Tensor::scalar(1.0)}; };
  engine->add_function(broken);
  EXPECT_THAT(thrown([&] { answer("select f([1], 1)"); }), HasSubstr("float64"));
  EXPECT_EQ(answer("select 1 as a"), "a|1");
}

TEST_F(DuckTest, SeveralResultsAreOneStruct) {
  Function both{"pair",
                {{"s", DType::kString, 0}},
                {{"label", DType::kString, 0}, {"p", DType::kDouble, 2}},
                {}};
  both.call = [](const std::vector<Tensor>& in) {
    int64_t rows = in[0].size();
    Tensor label(DType::kString, Shape{rows}), p(DType::kDouble, Shape{rows, 2});
    for (int64_t i = 0; i < rows; ++i) {
      label.data<std::string>()[i] = "label of " + in[0].data<std::string>()[i];
      p.data<double>()[2 * i] = 0.25;
      p.data<double>()[2 * i + 1] = 0.75;
    }
    return std::vector<Tensor>{label, p};
  };
  engine->add_function(both);
  EXPECT_EQ(answer("select pair(s).label as l, pair(s).p[2] as p from (values ('a'), (null), "
                   "('b')) as v(s)"),
            "l,p|label of a,0.75|null,null|label of b,0.75");
}

TEST_F(DuckTest, AFunctionOfTypesThatSqlHasNotIsRefused) {
  Function function{"c", {{"x", DType::kComplex64, 0}}, {{"y", DType::kFloat, 0}}, {}};
  EXPECT_THAT(thrown([&] { engine->add_function(function); }), HasSubstr("complex64"));
}

TEST_F(DuckTest, AFunctionOverManyRowsSeesEachOnce) {
  engine->add_function(weighted(20));
  std::string columns;
  for (int i = 0; i < 20; ++i)
    columns += fmt::format("{}(i + {})::float as c{}", i ? ", " : "", i, i);
  engine->select("select " + columns + " from range(200000) as r(i)", "t");
  std::string list;
  for (int i = 0; i < 20; ++i) list += fmt::format("{}c{}", i ? ", " : "", i);
  EXPECT_EQ(answer("select count(*) as n, sum(f([" + list + "], 0)::double)::bigint as s from t"),
            "n,s|200000," + std::to_string(20LL * 199999 * 100000 + 190LL * 200000));
}

}  // namespace
}  // namespace capstan::duck
