#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

#include "fuzz/row_check.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

constexpr int kDraws = 300, kBytes = 200;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimited = false;  // by the sanitizer's own options
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimited = false;
#else
constexpr bool kLimited = true;
#endif
#else
constexpr bool kLimited = true;
#endif

class RowsUnderFire : public ::testing::TestWithParam<const OpDef*> {
 protected:
  // A row may ask for more memory than there is: it must fail here, not take the machine's.
  static void SetUpTestSuite() {
    constexpr rlim_t kMost = rlim_t{4} << 30;
    const rlimit limit{kMost, kMost};
    if (kLimited) ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
};

TEST_P(RowsUnderFire, GiveWhatTheyAnnounceOrAnError) {
  std::string bytes(kBytes, '\0');
  for (int draw = 0; draw < kDraws; ++draw) {
    std::mt19937 random(static_cast<unsigned>(draw));
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(check_row(*GetParam(), bytes), "") << "draw " << draw;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, RowsUnderFire,
                         ::testing::ValuesIn(standard_catalog().all().begin(),
                                             standard_catalog().all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace capstan
