#include "jobs/k8s/kube_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "jobs/k8s/base64.h"

namespace capstan::jobs::k8s {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class KubeConfigTest : public testing::Test {
 protected:
  KubeConfig load(const KubeChoice& choice = {}) { return load_kube_config(choice, environment); }
  std::string wrong(const KubeChoice& choice = {}) {
    try {
      load(choice);
    } catch (const Error& error) {
      code = error.code();
      return error.message();
    }
    return "nothing is wrong";
  }
  // A file with one context, whose user and cluster are as given.
  std::string put(const std::string& cluster, const std::string& user) {
    return folder.put("config",
                      "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, "
                      "user: u, namespace: train}\nclusters:\n- name: k\n  cluster:\n" +
                          cluster + "users:\n- name: u\n  user:\n" + user);
  }

  TemporaryFolder folder;
  KubeEnvironment environment{.kubeconfig = folder.file("config"), .home = folder.path()};
  Code code = Code::kOk;
  const std::string server = "    server: https://10.0.0.1:6443/\n";
};

TEST_F(KubeConfigTest, HasServerNamespaceAndToken) {
  put(server, "    token: secret\n");
  const KubeConfig config = load();
  EXPECT_EQ(config.server, "https://10.0.0.1:6443");
  EXPECT_EQ(config.space, "train");
  EXPECT_EQ(config.token, "secret");
  EXPECT_EQ(config.source, folder.file("config") + ", context c");
  EXPECT_EQ(load({.space = "other"}).space, "other");
}

TEST_F(KubeConfigTest, HasCertificatesFromDataAndFromFilesBesideIt) {
  folder.put("ca.pem", "CA");
  folder.put("key.pem", "KEY");
  put(server + "    certificate-authority: ca.pem\n    tls-server-name: kube\n",
      "    client-certificate-data: " + base64_encode("CERT") + "\n    client-key: key.pem\n");
  const KubeConfig config = load();
  EXPECT_EQ(config.ca, "CA");
  EXPECT_EQ(config.certificate, "CERT");
  EXPECT_EQ(config.key, "KEY");
  EXPECT_EQ(config.tls_server_name, "kube");
}

TEST_F(KubeConfigTest, IsMergedFromSeveralFilesOfWhichTheFirstWins) {
  const std::string users = folder.put("users", "users: [{name: u, user: {token: first}}]\n");
  put(server, "    token: second\n");
  environment.kubeconfig = folder.file("missing") + "::" + users + ":" + folder.file("config");
  EXPECT_EQ(load().token, "first");
}

TEST_F(KubeConfigTest, ComesFromTheHomeWhenNothingElseIsSaid) {
  environment.kubeconfig = "";
  EXPECT_FALSE(has_kube_config({}, environment));
  folder.put(".kube/config",
             "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
             "clusters: [{name: k, cluster: {server: 'http://localhost:8001'}}]\n");
  EXPECT_TRUE(has_kube_config({}, environment));
  EXPECT_EQ(load().server, "http://localhost:8001");
}

TEST_F(KubeConfigTest, SaysWhatToDoWhenThereIsNone) {
  EXPECT_THAT(wrong(),
              AllOf(HasSubstr("KUBECONFIG="), HasSubstr("--kubeconfig"), HasSubstr("--local")));
  EXPECT_EQ(code, Code::kNotFound);
  EXPECT_THAT(wrong({.path = "/nowhere/config"}), HasSubstr("/nowhere/config is not there"));
}

TEST_F(KubeConfigTest, NamesTheContextsThatThereAre) {
  put(server, "    token: t\n");
  EXPECT_THAT(wrong({.context = "d"}),
              AllOf(HasSubstr("--context names the context 'd'"), HasSubstr("contexts: c.")));
  folder.put("config", "contexts: []\n");
  EXPECT_THAT(wrong(), HasSubstr("no current-context is set"));
  folder.put("config", "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n");
  EXPECT_THAT(wrong(), AllOf(HasSubstr("contexts[0].context names the cluster 'k'"),
                             HasSubstr("there are none")));
}

TEST_F(KubeConfigTest, NamesFileLineAndFieldOfAMistake) {
  put("    server: 10.0.0.1\n", "    token: t\n");
  EXPECT_THAT(wrong(), AllOf(HasSubstr("config:8:"), HasSubstr("clusters[0].cluster.server"),
                             HasSubstr("https://")));
  put(server + "    certificate-authority-data: '!'\n", "    token: t\n");
  EXPECT_THAT(wrong(), HasSubstr("certificate-authority-data: is no base64"));
  put(server + "    certificate-authority: none.pem\n", "    token: t\n");
  EXPECT_THAT(wrong(), AllOf(HasSubstr("certificate-authority"), HasSubstr("none.pem")));
  put(server + "    insecure-skip-tls-verify: maybe\n", "    token: t\n");
  EXPECT_THAT(wrong(), HasSubstr("must be true or false"));
  put(server, "    token: 5\n");
  EXPECT_THAT(wrong(), HasSubstr("users[0].user.token: must be a text"));
  put(server, "    client-key-data: eA==\n");
  EXPECT_THAT(wrong(), HasSubstr("go together"));
  put(server, "    tokenFile: none\n");
  EXPECT_THAT(wrong(), HasSubstr("is not there"));
  folder.put("config", "a: [\n");
  EXPECT_THAT(wrong(), HasSubstr("config:"));
  folder.put("config", "- a\n");
  EXPECT_THAT(wrong(), HasSubstr("is no kubeconfig"));
}

TEST_F(KubeConfigTest, SaysHowToDoWithoutWhatItDoesNotKnow) {
  put(server, "    exec: {command: gke-gcloud-auth-plugin}\n");
  EXPECT_THAT(wrong(),
              AllOf(HasSubstr("'gke-gcloud-auth-plugin'"), HasSubstr("kubectl create token")));
  EXPECT_EQ(code, Code::kUnimplemented);
  put(server, "    auth-provider: {name: oidc}\n");
  EXPECT_THAT(wrong(), AllOf(HasSubstr("'oidc'"), HasSubstr("kubectl create token")));
  put(server, "    username: u\n    password: p\n");
  EXPECT_THAT(wrong(), HasSubstr("no password since 1.19"));
  // A token beside them is enough.
  put(server, "    token: t\n    exec: {command: x}\n");
  EXPECT_EQ(load().token, "t");
}

TEST_F(KubeConfigTest, ComesFromThePodWhereThereIsNoFile) {
  folder.put("account/token", "t1\n");
  folder.put("account/ca.crt", "CA");
  folder.put("account/namespace", "ops\n");
  environment.service_host = "10.0.0.9";
  environment.service_port = "443";
  environment.account = folder.file("account");
  const KubeConfig config = load();
  EXPECT_EQ(config.server, "https://10.0.0.9:443");
  EXPECT_EQ(config.space, "ops");
  EXPECT_EQ(config.ca, "CA");
  EXPECT_EQ(config.token_file, folder.file("account/token"));
  environment.service_host = "fd00::1";
  EXPECT_EQ(load().server, "https://[fd00::1]:443");
  posix_files().remove(folder.file("account/token"));
  EXPECT_THAT(wrong(), HasSubstr("automountServiceAccountToken"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
