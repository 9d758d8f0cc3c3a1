// What only a server can refuse: rights, credentials, certificates, kinds that it does not know.

#include "jobs/k8s/http_api.h"
#include "k8s/api_suite.h"

namespace capstan::jobs::k8s {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Resource kAccounts = {"", "v1", "serviceaccounts", "ServiceAccount"};

class ApiRights : public ApiSuite {
 protected:
  KubeConfig config() { return load_kube_config({.path = test_kubeconfig()}, {}); }
  ApiAnswer ask_as(KubeConfig config, ApiCall call) {
    HttpApi other(host->loop(), std::move(config));
    std::optional<ApiAnswer> got;
    other.call(std::move(call), [&](const ApiAnswer& answer) { got = answer; });
    host->run_until([&] { return got.has_value(); });
    return got.value();
  }
  ApiCall list_pods() { return {Verb::kGet, kPods, {host->space(), ""}}; }
};

INSTANTIATE_TEST_SUITE_P(Api, ApiRights, testing::Values(ApiKind::kServer), kind_name);

TEST_P(ApiRights, ThatAreMissingAreNamedWithTheRuleThatGivesThem) {
  made(kAccounts, {{"metadata", {{"name", "poor"}}}});
  const json asked = {{"apiVersion", "authentication.k8s.io/v1"},
                      {"kind", "TokenRequest"},
                      {"spec", {{"expirationSeconds", 600}}}};
  const ApiAnswer token = on(Verb::kCreate, kAccounts, "poor", asked, "token");
  ASSERT_TRUE(token.ok()) << token.error->message();
  KubeConfig poor = config();
  poor.token = (*token.body)["status"]["token"];
  poor.token_file = poor.certificate = poor.key = "";
  const ApiAnswer refused = ask_as(poor, list_pods());
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.error->code(), Code::kPermissionDenied);
  EXPECT_THAT(refused.error->message(),
              AllOf(HasSubstr("system:serviceaccount:" + host->space() + ":poor"),
                    HasSubstr(R"(- {apiGroups: [""], resources: ["pods"], verbs: ["list"]})"),
                    HasSubstr("Role in namespace " + host->space())));
}

TEST_P(ApiRights, OfNobodyAreNone) {
  KubeConfig nobody = config();
  nobody.token = "wrong";
  nobody.token_file = nobody.certificate = nobody.key = "";
  const ApiAnswer refused = ask_as(nobody, list_pods());
  EXPECT_EQ(refused.code, 401);
  EXPECT_EQ(refused.error->code(), Code::kUnauthenticated);
  EXPECT_THAT(refused.error->message(), HasSubstr(test_kubeconfig()));
}

TEST_P(ApiRights, AreNotAskedOfAServerThatIsNotTrusted) {
  KubeConfig stranger = config();
  stranger.ca = "";
  stranger.insecure = false;
  const ApiAnswer refused = ask_as(stranger, list_pods());
  EXPECT_EQ(refused.code, 0);
  EXPECT_THAT(refused.error->message(), HasSubstr("certificate"));
  KubeConfig elsewhere = config();
  elsewhere.tls_server_name = "another.example";
  if (!elsewhere.insecure) EXPECT_EQ(ask_as(elsewhere, list_pods()).code, 0);
}

TEST_P(ApiRights, ToKindsThatAreNotThereAskForTheirCrd) {
  constexpr Resource kNothings = {"suite.capstan.example", "v1", "nothings", "Nothing"};
  const ApiAnswer answer = list(kNothings);
  EXPECT_EQ(answer.code, 404);
  EXPECT_THAT(answer.error->message(), HasSubstr("Is the CRD of nothings.suite.capstan.example"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
