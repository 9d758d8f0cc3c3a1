#include "jobs/k8s/fields.h"

namespace capstan::jobs::k8s {
namespace {

using enum FieldKind;

constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();

constexpr std::string_view kCleanPolicies[] = {"Running", "All", "None", "PS"};
constexpr std::string_view kRestartPolicies[] = {"Never", "OnFailure", "Always", "ExitCode"};
constexpr std::string_view kManagers[] = {"kubeflow.org/training-operator",
                                          "kueue.x-k8s.io/multikueue"};
constexpr std::string_view kScopes[] = {"Replica", "Job"};
constexpr std::string_view kHostNames[] = {"Qualified", "Bare"};
constexpr std::string_view kServiceTypes[] = {"ClusterIP", "NodePort", "LoadBalancer"};

// Said at two places: under runPolicy, and above it as versions before 1.0.1 have it.
constexpr Field kCleanPodPolicy = {
    .name = "cleanPodPolicy",
    .kind = kText,
    .doc =
        "Which pods are removed once the job has ended: Running (those that still run or wait, "
        "the default), All, PS (parameter servers only), None.",
    .words = kCleanPolicies};
constexpr Field kTtl = {
    .name = "ttlSecondsAfterFinished",
    .kind = kWhole,
    .doc =
        "The job, with all that belongs to it, is removed so many seconds after its end. Unset: "
        "it stays.",
    .least = 0};
constexpr Field kDeadline = {
    .name = "activeDeadlineSeconds",
    .kind = kWhole,
    .doc =
        "Seconds from its start after which a job that has not ended fails, and its pods are "
        "removed. Unset: no limit.",
    .least = 1,
    .most = kMost64};
constexpr Field kBackoffLimit = {
    .name = "backoffLimit",
    .kind = kWhole,
    .doc =
        "How often replicas of the job may fail and be started again, counted over all of them; "
        "after that the job fails. Unset: no limit.",
    .least = 0};

constexpr Field kSchedulingPolicy[] = {
    {.name = "minAvailable",
     .kind = kWhole,
     .doc = "How many pods must fit at once before any is placed. Unset: all.",
     .least = 0},
    {.name = "queue",
     .kind = kText,
     .doc = "The queue of the gang scheduler; unset: default.",
     .rule = "self == oldSelf",
     .rule_text = "cannot be changed"},
    {.name = "minResources",
     .kind = kQuantities,
     .doc = "What must be free before any pod is placed. Unset: what minAvailable pods ask for."},
    {.name = "priorityClass", .kind = kText, .doc = "The priority class of the group."},
    {.name = "scheduleTimeoutSeconds",
     .kind = kWhole,
     .doc = "How long the group waits for room (scheduler-plugins only).",
     .least = 0},
};

constexpr Field kRunPolicy[] = {
    kCleanPodPolicy,
    kTtl,
    kDeadline,
    kBackoffLimit,
    {.name = "suspend",
     .kind = kFlag,
     .doc = "While true the job has no pods; set to false it starts, and goes on from its last "
            "checkpoint if the program does."},
    {.name = "managedBy",
     .kind = kText,
     .doc = "Which controller looks after the job: kubeflow.org/training-operator (this one too), "
            "or kueue.x-k8s.io/multikueue, and then nothing is done here. Cannot be changed.",
     .words = kManagers,
     .rule = "self == oldSelf",
     .rule_text = "cannot be changed"},
    {.name = "schedulingPolicy",
     .kind = kObject,
     .doc = "How a gang scheduler places the pods, if the operator was told of one.",
     .fields = kSchedulingPolicy},
    {.name = "pendingTimeoutSeconds",
     .kind = kWhole,
     .doc = "A pod that has not begun to run after so many seconds fails the job. Unset: no limit.",
     .least = 1,
     .most = kMost64},
    {.name = "restartScope",
     .kind = kText,
     .doc = "What is started again when a replica fails and may be: Replica (it alone, the "
            "default) or Job (all of them, which then go on from the last checkpoint).",
     .words = kScopes},
    {.name = "minWorkers",
     .kind = kWhole,
     .doc = "With enableDynamicWorker: a worker that fails for good fails the job only if fewer "
            "than this are left. Default 0.",
     .least = 0},
    {.name = "waitForEvaluator",
     .kind = kFlag,
     .doc = "The job succeeds only when its evaluator has ended too. Default false."},
    {.name = "networkPolicy",
     .kind = kFlag,
     .doc = "Only pods of this job may reach its pods. Default false."},
};

constexpr Field kTfConfig[] = {
    {.name = "hostNames",
     .kind = kText,
     .doc = "How TF_CONFIG names hosts: Qualified (job-worker-0.namespace.svc, the default) or "
            "Bare (job-worker-0).",
     .words = kHostNames},
    {.name = "evaluatorInCluster",
     .kind = kFlag,
     .doc = "Whether evaluators are listed in the cluster of TF_CONFIG. Default true."},
};

constexpr Field kTensorBoard[] = {
    {.name = "logDir",
     .kind = kText,
     .doc = "The folder with event files, as its pod sees it.",
     .required = true},
    {.name = "image",
     .kind = kText,
     .doc = "An image with the program tensorboard. Unset: that of the chief, or of the first "
            "replica."},
    {.name = "serviceType",
     .kind = kText,
     .doc = "The kind of its service, which listens on port 80. Default ClusterIP.",
     .words = kServiceTypes},
    {.name = "volumes", .kind = kAny, .doc = "Volumes of its pod, as in a pod."},
    {.name = "volumeMounts", .kind = kAny, .doc = "Where its container has them."},
};

Field template_field() {
  return {.name = "template",
          .kind = kObject,
          .doc =
              "The pod of each replica, as in a Deployment. The container named tensorflow runs "
              "the program and is given TF_CONFIG.",
          .fields = pod_template_fields(),
          .open = true};
}

std::span<const Field> replica_fields() {
  static const Field kFields[] = {
      {.name = "replicas",
       .kind = kWhole,
       .doc = "How many; default 1. May be changed while the job runs.",
       .least = 0,
       .most = 100'000},
      template_field(),
      {.name = "restartPolicy",
       .kind = kText,
       .doc = "When a replica is started again: Never (the default), OnFailure, Always, or "
              "ExitCode (exit codes of 128 and above are tried again, 1 to 127 fail the job). The "
              "restartPolicy within the template does not count.",
       .words = kRestartPolicies},
  };
  return kFields;
}

constexpr Field kCondition[] = {
    {.name = "type",
     .kind = kText,
     .doc = "Created, Running, Restarting, Suspended, Succeeded or Failed."},
    {.name = "status", .kind = kText, .doc = "True, False or Unknown."},
    {.name = "reason", .kind = kText, .doc = "Why, in one word."},
    {.name = "message", .kind = kText, .doc = "Why, for people."},
    {.name = "lastUpdateTime", .kind = kTime, .doc = "When it was last written."},
    {.name = "lastTransitionTime", .kind = kTime, .doc = "When its status last changed."},
};

constexpr Field kReplicaStatus[] = {
    {.name = "active", .kind = kWhole, .doc = "How many run."},
    {.name = "succeeded", .kind = kWhole, .doc = "How many have ended well."},
    {.name = "failed", .kind = kWhole, .doc = "How many have failed."},
    {.name = "pending", .kind = kWhole, .doc = "How many are yet to run."},
    {.name = "restartCount", .kind = kWhole, .doc = "How often one was started again."},
    {.name = "finished", .kind = kWholes, .doc = "Which have ended well, by index."},
    {.name = "selector", .kind = kText, .doc = "Finds their pods, by labels."},
    {.name = "labelSelector", .kind = kAny, .doc = "Not written any more; see selector."},
};

constexpr Field kStatus[] = {
    {.name = "conditions",
     .kind = kListOf,
     .doc = "How the job stands; the last one is shown as its state.",
     .fields = kCondition},
    {.name = "replicaStatuses",
     .kind = kMapOf,
     .doc = "How the replicas of each type stand.",
     .fields = kReplicaStatus},
    {.name = "startTime", .kind = kTime, .doc = "When the job was begun, or resumed."},
    {.name = "completionTime", .kind = kTime, .doc = "When it succeeded or failed."},
    {.name = "lastReconcileTime", .kind = kTime, .doc = "When its controller last looked at it."},
    {.name = "controller",
     .kind = kObject,
     .doc = "What the operator remembers of the job, for whoever takes over from it.",
     .open = true},
};

constexpr Field kMetadata[] = {
    {.name = "name", .kind = kText, .doc = ""},
    {.name = "generateName", .kind = kText, .doc = ""},
    {.name = "namespace", .kind = kText, .doc = ""},
    {.name = "labels", .kind = kTextMap, .doc = ""},
    {.name = "annotations", .kind = kTextMap, .doc = ""},
    {.name = "finalizers", .kind = kTexts, .doc = ""},
    {.name = "ownerReferences", .kind = kAny, .doc = ""},
    {.name = "uid", .kind = kText, .doc = ""},
    {.name = "resourceVersion", .kind = kText, .doc = ""},
    {.name = "generation", .kind = kWhole, .doc = "", .least = 0, .most = kMost64},
    {.name = "creationTimestamp", .kind = kText, .doc = ""},
    {.name = "deletionTimestamp", .kind = kText, .doc = ""},
    {.name = "deletionGracePeriodSeconds", .kind = kWhole, .doc = "", .most = kMost64},
    {.name = "selfLink", .kind = kText, .doc = ""},
    {.name = "managedFields", .kind = kAny, .doc = ""},
};

}  // namespace

std::span<const Field> spec_fields() {
  static const Field kFields[] = {
      {.name = "tfReplicaSpecs",
       .kind = kMapOf,
       .doc =
           "The replicas of the job by type: Chief or Master, Worker, PS, Evaluator, in upper or "
           "lower case.",
       .fields = replica_fields(),
       .required = true},
      {.name = "runPolicy",
       .kind = kObject,
       .doc = "When the job ends, and what becomes of its pods.",
       .fields = kRunPolicy},
      {.name = "successPolicy",
       .kind = kText,
       .doc = "When the job has succeeded. Unset: when all chiefs or masters have, and without "
              "one, when the first worker or all workers have. AllWorkers: when all workers have. "
              "ChiefOnly: the chief alone decides, also if workers fail. 50%: when so many of the "
              "workers have."},
      {.name = "enableDynamicWorker",
       .kind = kFlag,
       .doc = "Workers may come and go: TF_CONFIG tells a worker only of itself and the parameter "
              "servers, and a failed worker does not fail the job."},
      {.name = "tfConfig",
       .kind = kObject,
       .doc = "How TF_CONFIG is written.",
       .fields = kTfConfig},
      {.name = "tensorboard",
       .kind = kObject,
       .doc = "TensorBoard beside the job: a pod and a service, which stay until the job is "
              "removed and never count for its state.",
       .fields = kTensorBoard},
      kCleanPodPolicy,
      kTtl,
      kDeadline,
      kBackoffLimit,
  };
  return kFields;
}

std::span<const Field> status_fields() { return kStatus; }

std::span<const Field> object_fields() {
  static const Field kFields[] = {
      {.name = "apiVersion", .kind = kText, .doc = ""},
      {.name = "kind", .kind = kText, .doc = ""},
      {.name = "metadata", .kind = kObject, .doc = "", .fields = kMetadata, .open = true},
      {.name = "spec", .kind = kObject, .doc = "What is to be run.", .fields = spec_fields()},
      {.name = "status",
       .kind = kObject,
       .doc = "How it stands.",
       .fields = status_fields(),
       .open = true},
  };
  return kFields;
}

}  // namespace capstan::jobs::k8s
