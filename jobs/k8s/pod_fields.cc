// The fields of a pod template that people write most. Kubernetes checks the rest when the pod is
// made; here they are for names that are misspelt, and for `kubectl explain`.

#include "jobs/k8s/fields.h"

namespace capstan::jobs::k8s {
namespace {

using enum FieldKind;

constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();

constexpr Field kEnv[] = {
    {.name = "name", .kind = kText, .doc = "The name of the variable."},
    {.name = "value", .kind = kText, .doc = "Its value; quote numbers and words such as yes."},
    {.name = "valueFrom", .kind = kAny, .doc = "Where its value is to be taken from."},
};

constexpr Field kPort[] = {
    {.name = "name", .kind = kText, .doc = "tfjob-port is the one that TF_CONFIG tells of."},
    {.name = "containerPort", .kind = kWhole, .doc = "The port.", .least = 1, .most = 65535},
    {.name = "hostPort", .kind = kWhole, .doc = "The same on the node.", .least = 0, .most = 65535},
    {.name = "hostIP", .kind = kText, .doc = "The address on the node."},
    {.name = "protocol", .kind = kText, .doc = "TCP (the default), UDP or SCTP."},
};

constexpr Field kResources[] = {
    {.name = "limits", .kind = kQuantities, .doc = "The most that it may have."},
    {.name = "requests", .kind = kQuantities, .doc = "What must be free where it is placed."},
    {.name = "claims", .kind = kAny, .doc = "Resource claims that it uses."},
};

constexpr Field kMount[] = {
    {.name = "name", .kind = kText, .doc = "The volume."},
    {.name = "mountPath", .kind = kText, .doc = "Where the container has it."},
    {.name = "subPath", .kind = kText, .doc = "A folder within the volume."},
    {.name = "subPathExpr", .kind = kText, .doc = "The same, with variables."},
    {.name = "readOnly", .kind = kFlag, .doc = "It may not be written."},
    {.name = "mountPropagation", .kind = kText, .doc = "How mounts within it are seen."},
    {.name = "recursiveReadOnly", .kind = kText, .doc = "Whether mounts within it may be written."},
};

constexpr Field kContainer[] = {
    {.name = "name", .kind = kText, .doc = "tensorflow for the one that runs the program."},
    {.name = "image", .kind = kText, .doc = "What is run."},
    {.name = "command", .kind = kTexts, .doc = "Instead of the image's entry point."},
    {.name = "args", .kind = kTexts, .doc = "The arguments of the command."},
    {.name = "env",
     .kind = kListOf,
     .doc = "The environment; TF_CONFIG is added to it.",
     .fields = kEnv},
    {.name = "envFrom", .kind = kAny, .doc = "More of the environment, from elsewhere."},
    {.name = "ports",
     .kind = kListOf,
     .doc = "Its ports; 2222 named tfjob-port is added unless one of that name is there.",
     .fields = kPort,
     .open = true},
    {.name = "resources",
     .kind = kObject,
     .doc = "What it needs and may have.",
     .fields = kResources,
     .open = true},
    {.name = "volumeMounts",
     .kind = kListOf,
     .doc = "Which volumes it has where.",
     .fields = kMount,
     .open = true},
    {.name = "workingDir", .kind = kText, .doc = "The folder in which the command runs."},
    {.name = "imagePullPolicy", .kind = kText, .doc = "When the image is fetched."},
    {.name = "securityContext", .kind = kAny, .doc = "As whom it runs, and what it may."},
    {.name = "livenessProbe", .kind = kAny, .doc = "How it is seen that it lives."},
    {.name = "readinessProbe", .kind = kAny, .doc = "How it is seen that it is ready."},
    {.name = "startupProbe", .kind = kAny, .doc = "How it is seen that it has started."},
    {.name = "lifecycle", .kind = kAny, .doc = "What is run at its start and end."},
    {.name = "resizePolicy", .kind = kAny, .doc = "How its resources may be changed."},
    {.name = "restartPolicy", .kind = kText, .doc = "Of an init container: Always makes it stay."},
    {.name = "stdin", .kind = kFlag, .doc = "It has a standard input."},
    {.name = "stdinOnce", .kind = kFlag, .doc = "Which ends with the first who attaches."},
    {.name = "tty", .kind = kFlag, .doc = "It has a terminal."},
    {.name = "terminationMessagePath", .kind = kText, .doc = "Where it says why it ended."},
    {.name = "terminationMessagePolicy", .kind = kText, .doc = "What is shown of that."},
    {.name = "volumeDevices", .kind = kAny, .doc = "Block devices that it has."},
};

constexpr Field kPodSpec[] = {
    {.name = "containers",
     .kind = kListOf,
     .doc = "One of them is named tensorflow; the job ends by its exit code.",
     .fields = kContainer,
     .open = true},
    {.name = "initContainers",
     .kind = kListOf,
     .doc = "What runs before them.",
     .fields = kContainer,
     .open = true},
    {.name = "restartPolicy",
     .kind = kText,
     .doc = "Does not count: the restartPolicy beside the template does."},
    {.name = "volumes", .kind = kAny, .doc = "The volumes of the pod."},
    {.name = "nodeSelector", .kind = kTextMap, .doc = "Labels of the nodes that it may be on."},
    {.name = "serviceAccountName", .kind = kText, .doc = "As whom it speaks with Kubernetes."},
    {.name = "serviceAccount", .kind = kText, .doc = "The older name of serviceAccountName."},
    {.name = "automountServiceAccountToken", .kind = kFlag, .doc = "Whether it is given a token."},
    {.name = "schedulerName", .kind = kText, .doc = "Who places it."},
    {.name = "priorityClassName", .kind = kText, .doc = "How important it is."},
    {.name = "priority", .kind = kWhole, .doc = "The same as a number."},
    {.name = "preemptionPolicy", .kind = kText, .doc = "Whether it drives others out."},
    {.name = "affinity", .kind = kAny, .doc = "Which nodes and neighbours it wants."},
    {.name = "tolerations", .kind = kAny, .doc = "Which taints of nodes it bears."},
    {.name = "topologySpreadConstraints", .kind = kAny, .doc = "How pods are spread."},
    {.name = "nodeName", .kind = kText, .doc = "The node that it is bound to."},
    {.name = "hostNetwork", .kind = kFlag, .doc = "It has the node's network."},
    {.name = "hostPID", .kind = kFlag, .doc = "It sees the node's processes."},
    {.name = "hostIPC", .kind = kFlag, .doc = "It shares the node's memory."},
    {.name = "hostUsers", .kind = kFlag, .doc = "It has the node's users."},
    {.name = "hostAliases", .kind = kAny, .doc = "Names that it knows besides."},
    {.name = "hostname", .kind = kText, .doc = "Its own name."},
    {.name = "hostnameOverride", .kind = kText, .doc = "Its own name, whatever else says it."},
    {.name = "subdomain", .kind = kText, .doc = "The name above that."},
    {.name = "setHostnameAsFQDN", .kind = kFlag, .doc = "Whether its own name is the full one."},
    {.name = "dnsPolicy", .kind = kText, .doc = "How it finds names."},
    {.name = "dnsConfig", .kind = kAny, .doc = "The same in detail."},
    {.name = "enableServiceLinks",
     .kind = kFlag,
     .doc = "Whether services are in its environment."},
    {.name = "imagePullSecrets", .kind = kAny, .doc = "What opens its registry."},
    {.name = "securityContext", .kind = kAny, .doc = "As whom it runs."},
    {.name = "shareProcessNamespace", .kind = kFlag, .doc = "Its containers see each other."},
    {.name = "terminationGracePeriodSeconds",
     .kind = kWhole,
     .doc = "From asking to killing.",
     .least = 0,
     .most = kMost64},
    {.name = "activeDeadlineSeconds",
     .kind = kWhole,
     .doc = "Of this pod; that of the job stands under runPolicy.",
     .least = 1,
     .most = kMost64},
    {.name = "runtimeClassName", .kind = kText, .doc = "What runs its containers."},
    {.name = "ephemeralContainers", .kind = kAny, .doc = "Containers for looking into it."},
    {.name = "overhead", .kind = kQuantities, .doc = "What the pod itself costs."},
    {.name = "readinessGates", .kind = kAny, .doc = "What else makes it ready."},
    {.name = "resourceClaims", .kind = kAny, .doc = "Devices that it claims."},
    {.name = "resources", .kind = kAny, .doc = "What all of its containers may have."},
    {.name = "schedulingGates", .kind = kAny, .doc = "What must be gone before it is placed."},
    {.name = "os", .kind = kAny, .doc = "The operating system that it needs."},
};

constexpr Field kTemplateMetadata[] = {
    {.name = "labels", .kind = kTextMap, .doc = "Copied to each pod; ours win."},
    {.name = "annotations", .kind = kTextMap, .doc = "Copied to each pod."},
    {.name = "finalizers", .kind = kTexts, .doc = "Copied to each pod."},
    {.name = "name", .kind = kText, .doc = "Does not count: pods are named by the job."},
    {.name = "namespace", .kind = kText, .doc = "Does not count: pods are where the job is."},
    {.name = "creationTimestamp", .kind = kAny, .doc = "Does not count."},
};

constexpr Field kTemplate[] = {
    {.name = "metadata",
     .kind = kObject,
     .doc = "Labels, annotations and finalizers of each pod.",
     .fields = kTemplateMetadata,
     .open = true},
    {.name = "spec", .kind = kObject, .doc = "The pod.", .fields = kPodSpec, .open = true},
};

}  // namespace

std::span<const Field> pod_template_fields() { return kTemplate; }

}  // namespace capstan::jobs::k8s
