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

// Rows that only a session, a peer or a file can give what they need.
bool never_computes(const OpDef& def) {
  for (std::string_view name : {"_Arg", "Placeholder", "PlaceholderV2", "RestoreV2",
                                "MergeV2Checkpoints", "SaveV2", "Assert", "MergeSummary"}) {
    if (def.name == name) return true;
  }
  return def.blocking != nullptr;
}

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
  int computed = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::mt19937 random(static_cast<unsigned>(draw));
    for (char& byte : bytes) byte = static_cast<char>(random());
    const RowCheck check = check_row(*GetParam(), bytes);
    EXPECT_EQ(check.fault, "") << "draw " << draw;
    computed += check.computed;
  }
  // A net that catches nothing because every draw is refused is none.
  if (!never_computes(*GetParam())) EXPECT_GT(computed, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalog, RowsUnderFire,
                         ::testing::ValuesIn(standard_catalog().all().begin(),
                                             standard_catalog().all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace capstan
