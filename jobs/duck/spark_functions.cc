#include "jobs/duck/spark_functions.h"

#include <fmt/format.h>

namespace capstan::duck {
namespace {

constexpr SparkFunction kFunctions[] = {
    // Choices.
    {"nvl", "(a, b) AS coalesce(a, b)", "b where a is null", "nvl(null, 'x')", "x"},
    {"nvl2", "(a, b, c) AS CASE WHEN a IS NOT NULL THEN b ELSE c END",
     "b where a is not null, else c", "nvl2(null, 1, 2)", "2"},
    {"nanvl", "(a, b) AS CASE WHEN isnan(a) THEN b ELSE a END", "b where a is no number",
     "nanvl('nan'::double, 2)", "2"},
    {"isnull", "(a) AS a IS NULL", "whether there is no value", "isnull(1)", "false"},
    {"isnotnull", "(a) AS a IS NOT NULL", "whether there is a value", "isnotnull(1)", "true"},
    // Text.
    {"split", "(s, pattern) AS string_split_regex(s, pattern)",
     "the parts between what matches a regular expression", "split('a1b2c', '[0-9]')",
     "[\"a\",\"b\",\"c\"]"},
    {"concat_ws",
     "(d, a) AS CASE WHEN typeof(a) LIKE '%]' THEN array_to_string(TRY_CAST(a AS VARCHAR[]), d) "
     "ELSE CAST(a AS VARCHAR) END, "
     "(d, a, b) AS system.main.concat_ws(d, a, b), "
     "(d, a, b, c) AS system.main.concat_ws(d, a, b, c), "
     "(d, a, b, c, e) AS system.main.concat_ws(d, a, b, c, e), "
     "(d, a, b, c, e, f) AS system.main.concat_ws(d, a, b, c, e, f), "
     "(d, a, b, c, e, f, g) AS system.main.concat_ws(d, a, b, c, e, f, g), "
     "(d, a, b, c, e, f, g, h) AS system.main.concat_ws(d, a, b, c, e, f, g, h)",
     "texts, or the elements of one array, with d between; up to seven", "concat_ws('-', [1, 2])",
     "1-2"},
    {"substring_index",
     "(s, d, n) AS CASE WHEN n > 0 THEN array_to_string(string_split(s, d)[1:n], d) "
     "WHEN n < 0 THEN array_to_string(string_split(s, d)[n:], d) ELSE '' END",
     "what stands before the n-th d; from the right for a negative n",
     "substring_index('a.b.c', '.', -2)", "b.c"},
    {"locate",
     "(part, s) AS instr(s, part), "
     "(part, s, i) AS CASE WHEN instr(s[i:], part) = 0 THEN 0 ELSE instr(s[i:], part) + i - 1 END",
     "where part stands in s, from 1; 0: nowhere", "locate('b', 'abcb', 3)", "4"},
    {"lpad", "(s, n) AS system.main.lpad(s, n, ' '), (s, n, p) AS system.main.lpad(s, n, p)",
     "filled up at the left, or cut", "lpad('7', 3, '0')", "007"},
    {"rpad", "(s, n) AS system.main.rpad(s, n, ' '), (s, n, p) AS system.main.rpad(s, n, p)",
     "filled up at the right, or cut", "rpad('7', 3, '.')", "7.."},
    {"initcap",
     "(s) AS array_to_string(list_transform(string_split(lower(s), ' '), "
     "lambda w: upper(w[1]) || w[2:]), ' ')",
     "each word with a large first letter", "initcap('ab CD')", "Ab Cd"},
    {"space", "(n) AS repeat(' ', n)", "n spaces", "'[' || space(2) || ']'", "[  ]"},
    {"startswith", "(s, part) AS starts_with(s, part)", "whether s begins so",
     "startswith('abc', 'ab')", "true"},
    {"endswith", "(s, part) AS suffix(s, part)", "whether s ends so", "endswith('abc', 'bc')",
     "true"},
    {"find_in_set", "(s, texts) AS coalesce(list_position(string_split(texts, ','), s), 0)",
     "which of the texts between commas s is, from 1; 0: none", "find_in_set('b', 'a,b')", "2"},
    {"regexp_extract",
     "(s, pattern) AS system.main.regexp_extract(s, pattern, 1), "
     "(s, pattern, n) AS system.main.regexp_extract(s, pattern, n)",
     "what the n-th group matched; the first unless said", "regexp_extract('a12', '([0-9])')", "1"},
    {"regexp_replace",
     "(s, pattern, r) AS system.main.regexp_replace(s, pattern, replace(r, '$', '\\'), 'g')",
     "all matches replaced; $1 is the first group", "regexp_replace('a1b2', '([0-9])', '<$1>')",
     "a<1>b<2>"},
    {"regexp_like", "(s, pattern) AS regexp_matches(s, pattern)", "whether some part matches",
     "regexp_like('abc', 'b')", "true"},
    {"get_json_object",
     "(s, path) AS CASE WHEN json_valid(s) THEN json_extract_string(s, path) END",
     "the part of a JSON text at $.path", "get_json_object('{\"a\":{\"b\":[7]}}', '$.a.b[0]')",
     "7"},
    {"base64", "(s) AS to_base64(encode(CAST(s AS VARCHAR)))", "its bytes in base 64",
     "base64('abc')", "YWJj"},
    {"unbase64", "(s) AS decode(from_base64(s))", "the text of base 64", "unbase64('YWJj')", "abc"},
    {"sha", "(s) AS sha1(s)", "SHA-1 in hexadecimal", "sha('a')",
     "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
    {"sha2",
     "(s, bits) AS CASE WHEN bits IN (0, 256) THEN sha256(s) "
     "ELSE error('sha2: only 256 bits are known here') END",
     "SHA-256 in hexadecimal", "left(sha2('a', 256), 8)", "ca978112"},
    // Numbers.
    {"pmod", "(a, b) AS ((a % b) + b) % b", "the remainder that is not negative", "pmod(-7, 3)",
     "2"},
    {"log", "(x) AS ln(x), (base, x) AS system.main.log(base, x)",
     "the natural logarithm, as in Spark; DuckDB's own is of base 10", "log(1)", "0"},
    {"rint", "(x) AS round_even(x, 0)", "the nearest whole number, the even one of two",
     "rint(2.5)", "2"},
    {"rand", "() AS random()", "from 0 to 1; takes no seed", "rand() < 1", "true"},
    {"shiftleft", "(a, n) AS a << n", "bits moved to the left", "shiftleft(1, 3)", "8"},
    {"shiftright", "(a, n) AS a >> n", "bits moved to the right", "shiftright(8, 3)", "1"},
    // Dates: text is read as a date wherever one is expected. respell() makes patterns strftime's.
    {"date_format", "(d, f) AS strftime(CAST(d AS TIMESTAMP), f)", "a date by a Java pattern",
     "date_format('2026-11-16 10:05:00', 'yyyy/MM/dd HH:mm')", "2026/11/16 10:05"},
    {"to_date",
     "(d) AS TRY_CAST(d AS DATE), "
     "(s, f) AS CAST(try_strptime(CAST(s AS VARCHAR), f) AS DATE)",
     "a date; null where it is none", "to_date('16.11.2026', 'dd.MM.yyyy')", "2026-11-16"},
    {"to_timestamp",
     "(s) AS TRY_CAST(s AS TIMESTAMP), "
     "(s, f) AS try_strptime(CAST(s AS VARCHAR), f)",
     "a time; null where it is none", "to_timestamp('2026-11-16 10:00', 'yyyy-MM-dd HH:mm')",
     "2026-11-16 10:00:00"},
    {"date_add", "(d, n) AS CAST(d AS DATE) + CAST(n AS INTEGER)", "n days later",
     "date_add('2026-11-30', 1)", "2026-12-01"},
    {"date_sub",
     "(d, n) AS CAST(d AS DATE) - CAST(n AS INTEGER), (p, a, b) AS system.main.date_sub(p, a, b)",
     "n days before", "date_sub('2026-12-01', 1)", "2026-11-30"},
    {"datediff",
     "(a, b) AS date_diff('day', CAST(b AS DATE), CAST(a AS DATE)), "
     "(p, a, b) AS date_diff(p, a, b)",
     "days from b to a", "datediff('2026-12-01', '2026-11-30')", "1"},
    {"add_months", "(d, n) AS CAST(CAST(d AS DATE) + to_months(n) AS DATE)", "n months later",
     "add_months('2026-11-30', 3)", "2027-02-28"},
    {"last_day", "(d) AS system.main.last_day(CAST(d AS DATE))", "the last day of its month",
     "last_day('2026-02-01')", "2026-02-28"},
    {"unix_timestamp",
     "() AS CAST(epoch(now()) AS BIGINT), "
     "(d) AS CAST(epoch(CAST(CAST(d AS TIMESTAMP) AS TIMESTAMPTZ)) AS BIGINT), "
     "(s, f) AS CAST(epoch(CAST(strptime(CAST(s AS VARCHAR), f) AS TIMESTAMPTZ)) "
     "AS BIGINT)",
     "seconds since 1970", "unix_timestamp(from_unixtime(86400))", "86400"},
    {"from_unixtime",
     "(s) AS strftime(system.main.to_timestamp(CAST(s AS DOUBLE)), '%Y-%m-%d %H:%M:%S'), "
     "(s, f) AS strftime(system.main.to_timestamp(CAST(s AS DOUBLE)), f)",
     "a time of seconds since 1970, as text, in the local zone", "length(from_unixtime(0))", "19"},
    {"year", "(d) AS system.main.year(CAST(d AS TIMESTAMP))", "", "year('2026-11-16')", "2026"},
    {"quarter", "(d) AS system.main.quarter(CAST(d AS TIMESTAMP))", "", "quarter('2026-11-16')",
     "4"},
    {"month", "(d) AS system.main.month(CAST(d AS TIMESTAMP))", "", "month('2026-11-16')", "11"},
    {"day", "(d) AS system.main.day(CAST(d AS TIMESTAMP))", "", "day('2026-11-16')", "16"},
    {"dayofmonth", "(d) AS system.main.day(CAST(d AS TIMESTAMP))", "", "dayofmonth('2026-11-16')",
     "16"},
    {"dayofyear", "(d) AS system.main.dayofyear(CAST(d AS TIMESTAMP))", "",
     "dayofyear('2026-02-01')", "32"},
    {"dayofweek", "(d) AS system.main.dayofweek(CAST(d AS TIMESTAMP)) + 1", "Sunday is 1",
     "dayofweek('2026-11-16')", "2"},
    {"weekofyear", "(d) AS system.main.weekofyear(CAST(d AS TIMESTAMP))", "",
     "weekofyear('2026-11-16')", "47"},
    {"hour", "(d) AS system.main.hour(CAST(d AS TIMESTAMP))", "", "hour('2026-11-16 10:05:07')",
     "10"},
    {"minute", "(d) AS system.main.minute(CAST(d AS TIMESTAMP))", "",
     "minute('2026-11-16 10:05:07')", "5"},
    {"second", "(d) AS system.main.second(CAST(d AS TIMESTAMP))", "",
     "second('2026-11-16 10:05:07')", "7"},
    // Arrays.
    {"size", "(a) AS coalesce(len(a), -1)", "how many elements; -1 for null", "size([1, 2])", "2"},
    {"sort_array",
     "(a) AS list_sort(a), (a, up) AS CASE WHEN up THEN list_sort(a) ELSE list_reverse_sort(a) END",
     "in order", "sort_array([2, 1], false)", "[2,1]"},
    {"array_join", "(a, d) AS array_to_string(a, d)", "its elements with d between",
     "array_join(['a', 'b'], '+')", "a+b"},
    {"array_max", "(a) AS list_max(a)", "the largest", "array_max([1, 3, 2])", "3"},
    {"array_min", "(a) AS list_min(a)", "the smallest", "array_min([3, 1, 2])", "1"},
    {"slice", "(a, start, n) AS a[start:start + n - 1]", "n elements from start on",
     "slice([1, 2, 3, 4], 2, 2)", "[2,3]"},
    {"element_at", "(a, i) AS a[i]", "the i-th element, from 1, or the value of a key",
     "element_at([7, 8], 2)", "8"},
    {"sequence", "(a, b) AS generate_series(a, b), (a, b, step) AS generate_series(a, b, step)",
     "from a to b", "sequence(1, 3)", "[1,2,3]"},
    {"explode", "(a) AS unnest(a)", "a row per element", "explode([5])", "5"},
    {"vec_dense", "(a) AS CAST(a AS FLOAT[])", "an array as a vector", "vec_dense([1, 2])",
     "[1,2]"},
    {"vec_array", "(v) AS CAST(v AS DOUBLE[])", "a vector as an array", "vec_array([1, 2])",
     "[1,2]"},
    {"vec_argmax", "(v) AS list_position(v, list_max(v)) - 1", "where the largest stands, from 0",
     "vec_argmax([0.1, 0.9])", "1"},
    // Aggregates.
    {"collect_list", "(a) AS coalesce(list(a) FILTER (WHERE a IS NOT NULL), [])",
     "all values that are not null", "collect_list(7)", "[7]"},
    {"collect_set", "(a) AS coalesce(list(DISTINCT a) FILTER (WHERE a IS NOT NULL), [])",
     "the different values that are not null", "collect_set(7)", "[7]"},
    {"percentile_approx",
     "(a, p) AS approx_quantile(a, p), (a, p, accuracy) AS approx_quantile(a, p)",
     "about the p-th part of the values is below", "percentile_approx(7, 0.5)", "7"},
    {"percentile", "(a, p) AS quantile_cont(a, p)", "the same, exactly", "percentile(7, 0.5)", "7"},
};

}  // namespace

std::span<const SparkFunction> spark_functions() { return kFunctions; }

void SparkMacros::add_those_in(const SparkSql& sql) {
  for (const Token& token : sql.tokens()) {
    if (token.kind != Token::Kind::kWord || known_.contains(token.text)) continue;
    for (const SparkFunction& function : kFunctions) {
      if (function.name == token.text) add(function);
    }
  }
}

void SparkMacros::add(const SparkFunction& function) {
  known_.insert(std::string(function.name));
  link_.run(fmt::format("CREATE MACRO main.{}{}", sql_name(function.name), function.macro));
}

}  // namespace capstan::duck
