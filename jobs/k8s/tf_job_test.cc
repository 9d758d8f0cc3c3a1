#include "jobs/k8s/tf_job.h"

#include <gmock/gmock.h>

#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/test_jobs.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSeed = R"(
apiVersion: kubeflow.org/v1beta1
kind: TFJob
metadata:
  name: module6-ex1-gpu
spec:
  tfReplicaSpecs:
    MASTER:
      replicas: 1
      template:
        spec:
          containers:
            - image: <DOCKER_USERNAME>/tf-mnist:gpu
              name: tensorflow
              resources:
                limits:
                  nvidia.com/gpu: 1
          restartPolicy: OnFailure
)";

json& container(json& job, const std::string& type = "Worker") {
  return job["spec"]["tfReplicaSpecs"][type]["template"]["spec"]["containers"][0];
}

std::string message(const json& object) {
  std::vector<FieldError> errors;
  read_tf_job(object, true, errors);
  return errors.empty() ? "" : errors[0].message;
}

TEST(TfJob, TheSeedIsAMasterThatIsNeverRestarted) {
  const TfJob job = job_of(kSeed);
  EXPECT_EQ(job.name, "module6-ex1-gpu");
  EXPECT_EQ(job.space, "default");
  ASSERT_EQ(job.replicas.size(), 1u);
  EXPECT_EQ(job.replicas[0].type, ReplicaType::kMaster);
  EXPECT_EQ(job.replicas[0].restart, ReplicaRestart::kNever);
  EXPECT_EQ(job.replicas[0].template_restart, "OnFailure");
}

TEST(TfJob, ThePolicyOfATemplateIsWarnedOfWithTheRemedy) {
  const auto warnings = warnings_of(job_of(kSeed));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].reason, "SetPodTemplateRestartPolicy");
  EXPECT_EQ(warnings[0].path, "spec.tfReplicaSpecs[Master].template.spec.restartPolicy");
  EXPECT_THAT(warnings[0].message,
              HasSubstr("spec.tfReplicaSpecs[Master].restartPolicy: OnFailure"));
}

TEST(TfJob, TypesAreReadInAnyCaseAndInOneOrder) {
  const TfJob job = read_job(job_json({{"worker", 2}, {"ps", 1}, {"CHIEF", 1}, {"evaluator", 1}}));
  std::vector<std::string> types;
  for (const ReplicaSpec& replica : job.replicas) types.emplace_back(type_name(replica.type));
  EXPECT_THAT(types, ElementsAre("Chief", "Evaluator", "PS", "Worker"));
}

TEST(TfJob, DefaultsAreFilledIn) {
  json object = job_json({{"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["Worker"].erase("replicas");
  const TfJob job = read_job(object);
  EXPECT_EQ(job.replicas[0].replicas, 1);
  EXPECT_EQ(job.replicas[0].restart, ReplicaRestart::kNever);
  EXPECT_EQ(job.replicas[0].port, 2222);
  EXPECT_EQ(job.clean_pods, CleanPods::kRunning);
  EXPECT_FALSE(job.backoff_limit || job.deadline_seconds || job.ttl_seconds);
  EXPECT_FALSE(job.suspend);
  const json& ports = (*job.replicas[0].template_json)["spec"]["containers"][0]["ports"];
  EXPECT_EQ(ports, json::array({{{"name", "tfjob-port"}, {"containerPort", 2222}}}));
}

TEST(TfJob, APortOfThatNameIsKept) {
  json object = job_json({{"Worker", 1}});
  container(object)["ports"] = {{{"name", "x"}, {"containerPort", 1}},
                                {{"name", "tfjob-port"}, {"containerPort", 7}}};
  const TfJob job = read_job(object);
  EXPECT_EQ(job.replicas[0].port, 7);
  EXPECT_EQ((*job.replicas[0].template_json)["spec"]["containers"][0]["ports"].size(), 2u);
}

TEST(TfJob, PoliciesStandUnderRunPolicyOrAboveIt) {
  const json policy = {{"cleanPodPolicy", "All"},
                       {"ttlSecondsAfterFinished", 5},
                       {"activeDeadlineSeconds", 6},
                       {"backoffLimit", 7}};
  for (const json& spec : {policy, json({{"runPolicy", policy}})}) {
    const TfJob job = read_job(job_json({{"Worker", 1}}, spec));
    EXPECT_EQ(job.clean_pods, CleanPods::kAll);
    EXPECT_EQ(job.ttl_seconds, 5);
    EXPECT_EQ(job.deadline_seconds, 6);
    EXPECT_EQ(job.backoff_limit, 7);
  }
}

TEST(TfJob, TwoPlacesMustNotSayDifferentThings) {
  const json spec = {{"backoffLimit", 3}, {"runPolicy", {{"backoffLimit", 4}}}};
  EXPECT_THAT(errors_of(job_json({{"Worker", 1}}, spec)),
              ElementsAre("spec.backoffLimit: Invalid"));
}

TEST(TfJob, EveryVersionIsReadAndOthersAreNamed) {
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    json object = job_json({{"Worker", 1}});
    object["apiVersion"] = std::string("kubeflow.org/") + version;
    EXPECT_THAT(errors_of(object), ElementsAre()) << version;
  }
  json object = job_json({{"Worker", 1}});
  object["apiVersion"] = "kubeflow.org/v1alpha1";
  EXPECT_THAT(errors_of(object), ElementsAre("apiVersion: NotSupported"));
}

// Upstream's rules, each with its place.
TEST(TfJobRules, NameIsALabelThatBeginsWithALetter) {
  for (const char* name : {"00test", "Test", "a_b", "a-", "a.b", "a\x1b[2J", ""}) {
    json object = job_json({{"Worker", 1}});
    object["metadata"]["name"] = name;
    const auto errors = errors_of(object);
    ASSERT_EQ(errors.size(), 1u) << name;
    EXPECT_THAT(errors[0], HasSubstr("metadata.name: "));
  }
}

TEST(TfJobRules, NameLeavesRoomForTypeAndIndex) {
  json object = job_json({{"Worker", 11}});
  object["metadata"]["name"] = std::string(54, 'a');  // -worker-10 has ten characters
  EXPECT_THAT(errors_of(object), ElementsAre("metadata.name: Invalid"));
  EXPECT_THAT(message(object), HasSubstr("shorten the name by 1"));
  object["metadata"]["name"] = std::string(53, 'a');
  EXPECT_THAT(errors_of(object), ElementsAre());
}

TEST(TfJobRules, ReplicasAreRequired) {
  EXPECT_THAT(errors_of(job_json({})), ElementsAre("spec.tfReplicaSpecs: Required"));
  json object = job_json({{"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["Worker"] = nullptr;
  EXPECT_THAT(errors_of(object), ElementsAre("spec.tfReplicaSpecs[Worker]: Required"));
}

TEST(TfJobRules, ContainersAreRequiredAndOneIsTensorflow) {
  json object = job_json({{"Worker", 1}});
  container(object)["name"] = "main";
  const char* path = "spec.tfReplicaSpecs[Worker].template.spec.containers: Required";
  EXPECT_THAT(errors_of(object), ElementsAre(path));
  object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = json::array();
  EXPECT_THAT(errors_of(object), ElementsAre(path));
  object["spec"]["tfReplicaSpecs"]["Worker"].erase("template");
  EXPECT_THAT(errors_of(object), ElementsAre(path));
}

TEST(TfJobRules, EveryContainerHasAnImage) {
  json object = job_json({{"Worker", 1}});
  container(object)["image"] = "";
  EXPECT_THAT(
      errors_of(object),
      ElementsAre("spec.tfReplicaSpecs[Worker].template.spec.containers[0].image: Required"));
}

TEST(TfJobRules, ChiefAndMasterAreOneRole) {
  EXPECT_THAT(errors_of(job_json({{"Chief", 1}, {"Master", 1}})),
              ElementsAre("spec.tfReplicaSpecs: Forbidden"));
}

TEST(TfJobRules, ManagedByIsOneOfTwoAndStays) {
  const json ours = {{"runPolicy", {{"managedBy", "kubeflow.org/training-operator"}}}};
  const json other = {{"runPolicy", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}};
  EXPECT_TRUE(is_ours(read_job(job_json({{"Worker", 1}}))));
  EXPECT_TRUE(is_ours(read_job(job_json({{"Worker", 1}}, ours))));
  EXPECT_FALSE(is_ours(read_job(job_json({{"Worker", 1}}, other))));
  EXPECT_THAT(errors_of(job_json({{"Worker", 1}}, {{"runPolicy", {{"managedBy", "me"}}}})),
              ElementsAre("spec.runPolicy.managedBy: NotSupported"));
  const auto changed = check_update(read_job(job_json({{"Worker", 1}}, ours)),
                                    read_job(job_json({{"Worker", 1}}, other)));
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].path, "spec.runPolicy.managedBy");
}

// What upstream lets pass.
TEST(TfJobRules, UnknownTypesAndPoliciesAreNamedWithTheNearest) {
  json object = job_json({{"Wroker", 1}});
  EXPECT_THAT(errors_of(object), ElementsAre("spec.tfReplicaSpecs[Wroker]: NotSupported"));
  EXPECT_THAT(message(object), HasSubstr("did you mean Worker?"));
  object = job_json({{"Worker", 1}}, {{"cleanPodPolicy", "running"}});
  EXPECT_THAT(errors_of(object), ElementsAre("spec.cleanPodPolicy: NotSupported"));
  EXPECT_THAT(message(object), HasSubstr("did you mean Running?"));
  object = job_json({{"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFail";
  EXPECT_THAT(errors_of(object),
              ElementsAre("spec.tfReplicaSpecs[Worker].restartPolicy: NotSupported"));
}

TEST(TfJobRules, OneTypeInTwoCasesIsRefused) {
  EXPECT_THAT(errors_of(job_json({{"Master", 1}, {"MASTER", 1}})),
              ElementsAre("spec.tfReplicaSpecs[Master]: Invalid"));
}

TEST(TfJobRules, NumbersStayInTheirBounds) {
  EXPECT_THAT(errors_of(job_json({{"Worker", -1}})),
              ElementsAre("spec.tfReplicaSpecs[Worker].replicas: Invalid"));
  EXPECT_THAT(errors_of(job_json({{"Worker", 1}}, {{"backoffLimit", -1}})),
              ElementsAre("spec.backoffLimit: Invalid"));
  EXPECT_THAT(errors_of(job_json({{"Worker", 0}})), ElementsAre());
}

TEST(TfJobRules, WrongTypesSayWhatToDo) {
  json object = job_json({{"Worker", 1}});
  container(object)["env"] = {{{"name", "A"}, {"value", true}}};
  EXPECT_THAT(errors_of(object),
              ElementsAre("spec.tfReplicaSpecs[Worker].template.spec.containers[0].env[0].value: "
                          "Invalid"));
  EXPECT_THAT(message(object), HasSubstr("put it in quotes: \"true\""));
  object = job_json({{"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = "2";
  EXPECT_THAT(message(object), HasSubstr("remove the quotes"));
  EXPECT_THAT(errors_of(json::array()), Contains(": Invalid"));
}

TEST(TfJobRules, UnknownFieldsAreNamedOnlyWhereTheServerHasNotPrunedThem) {
  json object = job_json({{"Worker", 1}}, {{"runPolcy", json::object()}});
  EXPECT_THAT(errors_of(object), ElementsAre("spec.runPolcy: Unknown"));
  EXPECT_THAT(message(object), HasSubstr("did you mean runPolicy?"));
  EXPECT_THAT(errors_of(object, /*strict=*/false), ElementsAre());
}

TEST(TfJobRules, OfPodsOnlySlipsAreNamed) {
  json object = job_json({{"Worker", 1}});
  container(object)["comand"] = {"x"};
  container(object)["somethingOfTomorrow"] = 1;
  EXPECT_THAT(errors_of(object),
              ElementsAre("spec.tfReplicaSpecs[Worker].template.spec.containers[0].comand: "
                          "Unknown"));
}

TEST(TfJobRules, OptionsFitTheReplicas) {
  auto errors = [](const json& spec) { return errors_of(job_json({{"Worker", 2}}, spec)); };
  EXPECT_THAT(errors({{"successPolicy", "AllWorkers"}}), ElementsAre());
  EXPECT_THAT(errors({{"successPolicy", "50%"}}), ElementsAre());
  EXPECT_THAT(errors({{"successPolicy", "0%"}}), ElementsAre("spec.successPolicy: NotSupported"));
  EXPECT_THAT(errors({{"successPolicy", "ChiefOnly"}}), ElementsAre("spec.successPolicy: Invalid"));
  EXPECT_THAT(errors({{"runPolicy", {{"minWorkers", 1}}}}),
              ElementsAre("spec.runPolicy.minWorkers: Invalid"));
  EXPECT_THAT(errors({{"enableDynamicWorker", true}, {"runPolicy", {{"minWorkers", 3}}}}),
              ElementsAre("spec.runPolicy.minWorkers: Invalid"));
  EXPECT_THAT(errors({{"runPolicy", {{"waitForEvaluator", true}}}}),
              ElementsAre("spec.runPolicy.waitForEvaluator: Invalid"));
  EXPECT_THAT(errors({{"tensorboard", json::object()}}),
              ElementsAre("spec.tensorboard.logDir: Required"));
}

TEST(TfJob, WithDefaultsReadsAsTheSameJob) {
  const TfJob job =
      read_job(job_json({{"MASTER", 1}, {"worker", 2}}, {{"tensorboard", {{"logDir", "/logs"}}},
                                                         {"tfConfig", {{"hostNames", "Bare"}}}}));
  const json shown = with_defaults(job);
  EXPECT_EQ(shown["spec"]["runPolicy"]["cleanPodPolicy"], "Running");
  EXPECT_EQ(with_defaults(read_job(shown)), shown);
}

TEST(TfJobRules, TheJobsRulesBecomeTheControllers) {
  JobSpec spec = job_spec(read_job(job_json({{"Chief", 1}, {"Worker", 2}})));
  EXPECT_EQ(spec.success, SuccessRule::kLead);
  EXPECT_EQ(spec.restarts, kNoLimit);
  spec = job_spec(read_job(job_json({{"Worker", 3}}, {{"successPolicy", "50%"}})));
  EXPECT_EQ(spec.success, SuccessRule::kShare);
  EXPECT_EQ(spec.share, 50);
  EXPECT_EQ(spec.least_workers, 2);
  spec = job_spec(read_job(job_json({{"Worker", 3}}, {{"successPolicy", "AllWorkers"}})));
  EXPECT_EQ(spec.success, SuccessRule::kWorkers);
  spec = job_spec(read_job(job_json({{"Chief", 1}}, {{"successPolicy", "AllWorkers"}})));
  EXPECT_EQ(spec.success, SuccessRule::kLead);
  const json limits = {{"backoffLimit", 4}, {"activeDeadlineSeconds", 9}};
  spec = job_spec(read_job(job_json({{"Worker", 1}}, {{"runPolicy", limits}})));
  EXPECT_EQ(spec.restarts, 4);
  EXPECT_EQ(spec.timeout_seconds, 9);
}

}  // namespace
}  // namespace capstan::jobs::k8s
