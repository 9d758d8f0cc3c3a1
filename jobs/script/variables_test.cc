#include "jobs/script/variables.h"

#include <gtest/gtest.h>

namespace capstan::script {
namespace {

TEST(Templates, KnowWhereEachByteCameFrom) {
  const Variables script = {{"long", {"0123456789"}}, {"empty", {""}}};
  const Variables none;
  const Rendered text = Templates(script, none).render("ab ${long} cd ${empty} ${nobody} ef");
  EXPECT_EQ(text.text, "ab 0123456789 cd  ${nobody} ef");
  EXPECT_EQ(text.origin(0), 0u);
  EXPECT_EQ(text.origin(3), 3u);
  EXPECT_EQ(text.origin(12), 3u);   // inside the value: where its template stands
  EXPECT_EQ(text.origin(14), 11u);  // "c"
  EXPECT_EQ(text.origin(28), 33u);  // "e"
  EXPECT_EQ(text.origin(1000), 1005u);
}

TEST(Templates, LookInTheScriptBeforeTheSession) {
  const Variables script = {{"a", {"script"}}}, session = {{"a", {"session"}}, {"b", {"${a}"}}};
  EXPECT_EQ(Templates(script, session).render("${a} ${b}").text, "script script");
}

TEST(Templates, LeaveWhatIsNone) {
  const Variables script = {{"a", {"1"}}};
  const Variables none;
  const Templates templates(script, none);
  for (const char* text : {"$", "${", "${}", "${a", "$a", "${{a}}", "${a\n}", "$ {a}", "${A}"})
    EXPECT_EQ(templates.render(text).text, text);
  EXPECT_EQ(templates.render("$${a}}").text, "$1}");
}

TEST(FormatDate, TakesTheLettersOfJava) {
  std::tm day{.tm_sec = 9, .tm_min = 5, .tm_hour = 13, .tm_mday = 7, .tm_mon = 0, .tm_year = 126};
  day.tm_isdst = -1;
  const std::time_t time = std::mktime(&day);
  EXPECT_EQ(format_date(time, "yyyyMMdd HH:mm:ss"), "20260107 13:05:09");
  EXPECT_EQ(format_date(time, "d.M.yy h 'o''clock'"), "7.1.26 1 oclock");
  EXPECT_EQ(format_date(time, "EEE"), std::nullopt);
  EXPECT_EQ(format_date(time, "'open"), std::nullopt);
  EXPECT_EQ(format_date(time, std::string(1000, 'y')), std::nullopt);
  EXPECT_EQ(format_date(time, ""), "");
}

}  // namespace
}  // namespace capstan::script
