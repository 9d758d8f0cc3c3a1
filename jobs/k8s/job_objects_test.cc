#include "jobs/k8s/job_objects.h"

#include <gmock/gmock.h>

#include "jobs/k8s/test_jobs.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json env_of(const json& container) {
  json out = json::object();
  for (const json& one : container["env"]) out[one["name"].get<std::string>()] = one["value"];
  return out;
}

TEST(TfConfig, IsUpstreamsToTheByte) {
  const TfJob job = read_job(job_json({{"Worker", 2}, {"PS", 1}}));
  EXPECT_EQ(tf_config(job, ReplicaType::kWorker, 1),
            R"({"cluster":{"ps":["mnist-ps-0.ml.svc:2222"],)"
            R"("worker":["mnist-worker-0.ml.svc:2222","mnist-worker-1.ml.svc:2222"]},)"
            R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST(TfConfig, HasTheClustersDomainWhereItIsKnown) {
  const TfJob job = read_job(job_json({{"Worker", 1}}));
  EXPECT_EQ(tf_config(job, ReplicaType::kWorker, 0, "tf.training.com"),
            R"({"cluster":{"worker":["mnist-worker-0.ml.svc.tf.training.com:2222"]},)"
            R"("task":{"type":"worker","index":0},"environment":"cloud"})");
}

// The strings of upstream's own tests, with and without a domain.
TEST(TfConfig, OfServersAndEvaluatorsIsUpstreamsToTheByte) {
  const TfJob two = read_job(job_json({{"Worker", 1}, {"PS", 1}}));
  EXPECT_EQ(tf_config(two, ReplicaType::kWorker, 0, "tf.training.com"),
            R"({"cluster":{"ps":["mnist-ps-0.ml.svc.tf.training.com:2222"],)"
            R"("worker":["mnist-worker-0.ml.svc.tf.training.com:2222"]},)"
            R"("task":{"type":"worker","index":0},"environment":"cloud"})");
  const TfJob three = read_job(job_json({{"Worker", 1}, {"PS", 1}, {"Evaluator", 1}}));
  for (const std::string domain : {"", "tf.training.com"}) {
    const std::string rest = ".ml.svc" + (domain.empty() ? "" : "." + domain) + ":2222";
    EXPECT_EQ(tf_config(three, ReplicaType::kWorker, 0, domain),
              R"({"cluster":{"evaluator":["mnist-evaluator-0)" + rest + R"("],"ps":["mnist-ps-0)" +
                  rest + R"("],"worker":["mnist-worker-0)" + rest +
                  R"("]},"task":{"type":"worker","index":0},"environment":"cloud"})");
  }
}

TEST(TfConfig, HasBareNamesIfTheJobAsksForThem) {
  const TfJob job =
      read_job(job_json({{"Master", 1}, {"PS", 1}}, {{"tfConfig", {{"hostNames", "Bare"}}}}));
  EXPECT_EQ(tf_config(job, ReplicaType::kMaster, 0, "d"),
            R"({"cluster":{"master":["mnist-master-0:2222"],"ps":["mnist-ps-0:2222"]},)"
            R"("task":{"type":"master","index":0},"environment":"cloud"})");
}

TEST(TfConfig, EvaluatorsAreInTheClusterOrNot) {
  EXPECT_THAT(
      tf_config(read_job(job_json({{"Worker", 1}, {"Evaluator", 1}})), ReplicaType::kEvaluator, 0),
      HasSubstr(R"({"cluster":{"evaluator":["mnist-evaluator-0.ml.svc:2222"],"worker":)"));
  const json out = {{"tfConfig", {{"evaluatorInCluster", false}}}};
  EXPECT_THAT(tf_config(read_job(job_json({{"Worker", 1}, {"Evaluator", 1}}, out)),
                        ReplicaType::kEvaluator, 0),
              HasSubstr(R"({"cluster":{"worker":)"));
}

TEST(TfConfig, DynamicWorkersKnowThemselvesAndTheServers) {
  const TfJob job =
      read_job(job_json({{"Worker", 2}, {"PS", 1}, {"Chief", 1}}, {{"enableDynamicWorker", true}}));
  EXPECT_EQ(tf_config(job, ReplicaType::kWorker, 1),
            R"({"cluster":{"worker":{"1":"mnist-worker-1.ml.svc:2222"},)"
            R"("ps":["mnist-ps-0.ml.svc:2222"]},"task":{"type":"worker","index":1}})");
  EXPECT_EQ(tf_config(job, ReplicaType::kPs, 0),
            R"({"cluster":{"worker":{},"ps":["mnist-ps-0.ml.svc:2222"]},)"
            R"("task":{"type":"ps","index":0}})");
  EXPECT_EQ(tf_config(job, ReplicaType::kChief, 0),
            R"({"cluster":{"chief":["mnist-chief-0.ml.svc:2222"],)"
            R"("worker":{"0":"mnist-worker-0.ml.svc:2222","1":"mnist-worker-1.ml.svc:2222"},)"
            R"("ps":["mnist-ps-0.ml.svc:2222"]},"task":{"type":"chief","index":0}})");
}

TEST(Pods, CarryNamesLabelsAndTheirOwner) {
  const TfJob job = read_job(job_json({{"Worker", 2}}));
  const json pod = pod_of(job, job.replicas[0], 1, 3);
  EXPECT_EQ(pod["kind"], "Pod");
  EXPECT_EQ(pod["metadata"]["name"], "mnist-worker-1");
  EXPECT_EQ(pod["metadata"]["namespace"], "ml");
  EXPECT_EQ(pod["metadata"]["labels"],
            json({{"training.kubeflow.org/operator-name", "tfjob-controller"},
                  {"training.kubeflow.org/job-name", "mnist"},
                  {"training.kubeflow.org/replica-type", "worker"},
                  {"training.kubeflow.org/replica-index", "1"}}));
  EXPECT_EQ(pod["metadata"]["ownerReferences"], json::array({{{"apiVersion", "kubeflow.org/v1"},
                                                              {"kind", "TFJob"},
                                                              {"name", "mnist"},
                                                              {"uid", "u-1"},
                                                              {"controller", true},
                                                              {"blockOwnerDeletion", true}}}));
  EXPECT_EQ(pod["metadata"]["annotations"]["capstan/attempt"], "3");
}

TEST(Pods, OneIsTheMaster) {
  auto role = [](const TfJob& job, ReplicaType type, int index) {
    return pod_of(job, *job.replica(type), index, 1)["metadata"]["labels"].value(
        "training.kubeflow.org/job-role", "");
  };
  const TfJob workers = read_job(job_json({{"Worker", 2}, {"PS", 1}}));
  EXPECT_EQ(role(workers, ReplicaType::kWorker, 0), "master");
  EXPECT_EQ(role(workers, ReplicaType::kWorker, 1), "");
  EXPECT_EQ(role(workers, ReplicaType::kPs, 0), "");
  const TfJob chief = read_job(job_json({{"Worker", 2}, {"Chief", 1}}));
  EXPECT_EQ(role(chief, ReplicaType::kWorker, 0), "");
  EXPECT_EQ(role(chief, ReplicaType::kChief, 0), "master");
}

TEST(Pods, TakeOverWhatTheTemplateSaysAndOursWins) {
  json object = job_json({{"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {
      {"labels", {{"a", "b"}, {"training.kubeflow.org/job-name", "other"}}},
      {"annotations", {{"c", "d"}}},
      {"finalizers", {"e.f/g"}}};
  object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelector"] = {{"x", "y"}};
  const TfJob job = read_job(object);
  const json pod = pod_of(job, job.replicas[0], 0, 1);
  EXPECT_EQ(pod["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(pod["metadata"]["labels"]["training.kubeflow.org/job-name"], "mnist");
  EXPECT_EQ(pod["metadata"]["annotations"]["c"], "d");
  EXPECT_EQ(pod["metadata"]["finalizers"], json::array({"e.f/g"}));
  EXPECT_EQ(pod["spec"]["nodeSelector"]["x"], "y");
}

TEST(Pods, HaveTheReplicasPolicyNotTheTemplates) {
  const std::pair<const char*, const char*> cases[] = {
      {"Never", "Never"}, {"OnFailure", "OnFailure"}, {"Always", "Always"}, {"ExitCode", "Never"}};
  for (const auto& [policy, expected] : cases) {
    json object = job_json({{"Worker", 1}});
    json& worker = object["spec"]["tfReplicaSpecs"]["Worker"];
    worker["restartPolicy"] = policy;
    worker["template"]["spec"]["restartPolicy"] = "OnFailure";
    const TfJob job = read_job(object);
    EXPECT_EQ(pod_of(job, job.replicas[0], 0, 1)["spec"]["restartPolicy"], expected) << policy;
  }
}

TEST(Pods, OnlyTheMainContainerIsToldItsRoleAndTheSecret) {
  json object = job_json({{"Worker", 1}});
  json& containers = object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"];
  containers[0]["env"] = {{{"name", "TF_CONFIG"}, {"value", "mine"}}};
  containers.push_back({{"name", "sidecar"}, {"image", "s"}});
  const TfJob job = read_job(object);
  const json pod = pod_of(job, job.replicas[0], 0, 1);
  const json& env = pod["spec"]["containers"][0]["env"];
  EXPECT_EQ(env.front()["value"], "mine");
  EXPECT_EQ(env.back()["name"], "TF_CONFIG");
  EXPECT_EQ(env.back()["value"], tf_config(job, ReplicaType::kWorker, 0));
  EXPECT_FALSE(pod["spec"]["containers"][1].contains("env"));
  EXPECT_FALSE(pod["spec"]["containers"][1].contains("volumeMounts"));
}

TEST(Pods, MountTheJobsSecret) {
  const TfJob job = read_job(job_json({{"Worker", 1}}));
  const json pod = pod_of(job, job.replicas[0], 0, 1);
  EXPECT_EQ(env_of(pod["spec"]["containers"][0])["CAPSTAN_SECRET_FILE"],
            "/var/run/capstan/job/secret");
  EXPECT_EQ(pod["spec"]["volumes"][0]["secret"]["secretName"], "mnist-secret-u-1");
  EXPECT_EQ(pod["spec"]["volumes"][0]["secret"]["defaultMode"], 0400);
  const json secret = secret_of(job, "s3cret");
  EXPECT_EQ(secret["metadata"]["name"], "mnist-secret-u-1");
  EXPECT_EQ(secret["stringData"]["secret"], "s3cret");
}

TEST(Services, AreHeadlessAndHaveAllPortsOfTheContainer) {
  json object = job_json({{"PS", 1}});
  object["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"][0]["ports"] = {
      {{"name", "metrics"}, {"containerPort", 9090}}, {{"containerPort", 8080}}};
  const TfJob job = read_job(object);
  const json service = service_of(job, job.replicas[0], 0);
  EXPECT_EQ(service["metadata"]["name"], "mnist-ps-0");
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["publishNotReadyAddresses"], true);
  EXPECT_EQ(service["spec"]["selector"]["training.kubeflow.org/replica-index"], "0");
  const json ports = {{{"name", "metrics"}, {"port", 9090}, {"targetPort", 9090}},
                      {{"name", "port-8080"}, {"port", 8080}, {"targetPort", 8080}},
                      {{"name", "tfjob-port"}, {"port", 2222}, {"targetPort", 2222}}};
  EXPECT_EQ(service["spec"]["ports"], ports);
}

TEST(TensorBoard, HasThePodAndServiceOfTheOldDays) {
  const TfJob job =
      read_job(job_json({{"PS", 1}, {"Master", 1}}, {{"tensorboard", {{"logDir", "/logs"}}}}));
  const json pod = tensorboard_pod_of(job);
  EXPECT_EQ(pod["metadata"]["name"], "mnist-tensorboard");
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "example/mnist:1");
  EXPECT_EQ(pod["spec"]["containers"][0]["command"], json::array({"tensorboard"}));
  EXPECT_FALSE(pod["metadata"]["labels"].contains("training.kubeflow.org/operator-name"));
  const json service = tensorboard_service_of(job);
  EXPECT_EQ(service["spec"]["type"], "ClusterIP");
  EXPECT_EQ(service["spec"]["ports"][0]["port"], 80);
  EXPECT_EQ(service["spec"]["ports"][0]["targetPort"], 6006);
  EXPECT_EQ(service["spec"]["selector"], pod["metadata"]["labels"]);
}

TEST(PodGroups, AskForAllPodsOrWhatThePolicySays) {
  json object = job_json({{"Worker", 2}, {"PS", 1}});
  for (const char* type : {"Worker", "PS"}) {
    object["spec"]["tfReplicaSpecs"][type]["template"]["spec"]["containers"][0]["resources"] = {
        {"requests", {{"cpu", "500m"}, {"memory", "1Gi"}}}};
  }
  const json group = pod_group_of(read_job(object), {.gang_scheduler = "volcano"});
  EXPECT_EQ(group["apiVersion"], "scheduling.volcano.sh/v1beta1");
  EXPECT_EQ(group["metadata"]["name"], "mnist");
  EXPECT_EQ(group["spec"]["minMember"], 3);
  EXPECT_EQ(group["spec"]["queue"], "default");
  EXPECT_EQ(group["spec"]["minResources"], json({{"cpu", "1500m"}, {"memory", "3221225472"}}));
  object["spec"]["runPolicy"]["schedulingPolicy"] = {
      {"minAvailable", 2}, {"queue", "q"}, {"priorityClass", "high"}};
  const json chosen = pod_group_of(read_job(object), {.gang_scheduler = "volcano"});
  EXPECT_EQ(chosen["spec"]["minMember"], 2);
  EXPECT_EQ(chosen["spec"]["queue"], "q");
  EXPECT_EQ(chosen["spec"]["priorityClassName"], "high");
  EXPECT_EQ(chosen["spec"]["minResources"]["cpu"], "1");
  EXPECT_TRUE(waits_for_pod_group("", {.gang_scheduler = "volcano"}));
  EXPECT_FALSE(waits_for_pod_group("Inqueue", {.gang_scheduler = "volcano"}));
}

TEST(PodGroups, PodsNameTheirGroup) {
  const TfJob job = read_job(job_json({{"Worker", 1}}));
  const json volcano = pod_of(job, job.replicas[0], 0, 1, {.gang_scheduler = "volcano"});
  EXPECT_EQ(volcano["spec"]["schedulerName"], "volcano");
  EXPECT_EQ(volcano["metadata"]["annotations"]["scheduling.k8s.io/group-name"], "mnist");
  const json other = pod_of(job, job.replicas[0], 0, 1, {.gang_scheduler = "gang"});
  EXPECT_EQ(other["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], "mnist");
  EXPECT_FALSE(waits_for_pod_group("", {.gang_scheduler = "gang"}));
}

TEST(NetworkPolicies, LetThePodsOfTheJobIn) {
  const json policy = network_policy_of(read_job(job_json({{"Worker", 1}})));
  const json labels = {{"training.kubeflow.org/operator-name", "tfjob-controller"},
                       {"training.kubeflow.org/job-name", "mnist"}};
  EXPECT_EQ(policy["spec"]["podSelector"]["matchLabels"], labels);
  EXPECT_EQ(policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"], labels);
  EXPECT_EQ(policy["spec"]["policyTypes"], json::array({"Ingress"}));
}

TEST(Selectors, FindTheReplicasOfAJobOrOfAType) {
  const TfJob job = read_job(job_json({{"Worker", 1}}));
  EXPECT_EQ(selector_of(job),
            "training.kubeflow.org/operator-name=tfjob-controller,"
            "training.kubeflow.org/job-name=mnist");
  EXPECT_THAT(selector_of(job, ReplicaType::kWorker),
              HasSubstr(",training.kubeflow.org/replica-type=worker"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
