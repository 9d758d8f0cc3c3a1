#include "jobs/k8s/quantity.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace capstan::jobs::k8s {
namespace {

TEST(Quantity, IsReadInThousandths) {
  EXPECT_EQ(parse_quantity("2"), 2000);
  EXPECT_EQ(parse_quantity("500m"), 500);
  EXPECT_EQ(parse_quantity("1.5"), 1500);
  EXPECT_EQ(parse_quantity("1Ki"), 1024000);
  EXPECT_EQ(parse_quantity("1k"), 1000000);
  EXPECT_EQ(parse_quantity("1e3"), 1000000);
  EXPECT_EQ(parse_quantity("1n"), 1);
  EXPECT_EQ(quantity_of(4), 4000);
  EXPECT_EQ(quantity_of("2Gi"), 2147483648000);
}

TEST(Quantity, RefusesWhatIsNoAmount) {
  for (const char* text : {"", "x", "Gi", "1 Gi", "1gi", "1Gi2", "--1", "nan", "1e", "0x1"}) {
    EXPECT_FALSE(parse_quantity(text)) << text;
  }
  EXPECT_FALSE(quantity_of(true));
}

TEST(Quantity, IsWrittenAsShortAsCanBe) {
  EXPECT_EQ(quantity_text(1500), "1500m");
  EXPECT_EQ(quantity_text(2000), "2");
}

}  // namespace
}  // namespace capstan::jobs::k8s
