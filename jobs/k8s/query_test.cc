#include "jobs/k8s/query.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jobs/k8s/kube_api.h"

namespace capstan::jobs::k8s {
namespace {

const nlohmann::json kPod = {
    {"metadata", {{"name", "p"}, {"labels", {{"app", "x"}, {"role", "ps"}}}}},
    {"spec", {{"nodeName", "n1"}}}};

bool labels(std::string_view selector) { return Selector(selector, "").matches(kPod); }
bool fields(std::string_view selector) { return Selector("", selector).matches(kPod); }

TEST(Query, ComesBackAsItWasEscaped) {
  const std::string odd = "a=b,c in (d)&%+\xc3\xa4";
  const Query query = parse_query("limit=5&labelSelector=" + query_escape(odd) + "&watch");
  EXPECT_EQ(query_value(query, "labelSelector"), odd);
  EXPECT_EQ(query_value(query, "limit"), "5");
  EXPECT_EQ(query_value(query, "watch"), "");
  EXPECT_EQ(query_value(query, "nothing"), "");
}

TEST(Selector, PicksByLabels) {
  EXPECT_TRUE(labels(""));
  EXPECT_TRUE(labels("app=x,role==ps"));
  EXPECT_FALSE(labels("app=x,role=worker"));
  EXPECT_TRUE(labels("app!=y,other!=z"));
  EXPECT_TRUE(labels("app,!other"));
  EXPECT_FALSE(labels("!app"));
  EXPECT_TRUE(labels("app in (w, x),role notin (worker)"));
  EXPECT_FALSE(labels("app in (w)"));
}

TEST(Selector, PicksByFields) {
  EXPECT_TRUE(fields("metadata.name=p,spec.nodeName=n1"));
  EXPECT_FALSE(fields("spec.nodeName!=n1"));
  EXPECT_TRUE(fields("status.phase="));
}

TEST(Selector, RefusesWhatIsNone) {
  EXPECT_THROW(Selector("app like x", ""), Error);
  EXPECT_THROW(Selector("", "=x"), Error);
}

}  // namespace
}  // namespace capstan::jobs::k8s
