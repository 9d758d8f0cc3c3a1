"""What an operator made, as paths and plain values that can be compared: without names that are drawn,
times, wording, and what the API server fills in by itself."""

import json

# What the server adds to a pod, a container, a port, a service where nothing is said.
POD_DEFAULTS = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
CONTAINER_DEFAULTS = {
    "imagePullPolicy": None,
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
SERVICE_DEFAULTS = {
    "clusterIPs": ["None"],
    "internalTrafficPolicy": "Cluster",
    "ipFamilies": None,
    "ipFamilyPolicy": None,
    "sessionAffinity": "None",
    "type": "ClusterIP",
}
SERVER_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# Events whose text names an object; of the others only the reason is compared.
WITH_TEXT = ("SuccessfulCreate", "SuccessfulDelete")


def owner_of(item):
    return next((one for one in item["metadata"].get("ownerReferences") or [] if one.get("controller")), None)


def controller_of(item):
    owner = owner_of(item)
    return owner and owner["name"]


def said(values, defaults):
    """Without what the server adds; None stands for any value."""
    skip = object()
    found = {name: value for name, value in values.items() if defaults.get(name, skip) not in (None, value)}
    return {name: value for name, value in found.items() if value not in ({}, [], None)}


def flat(value, path=""):
    """Leaves by their path. Of a list with names the names are the path."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "name" in one for one in value):
        value = {one["name"]: {key: part for key, part in one.items() if key != "name"} for one in value}
    if not isinstance(value, dict) or not value:
        return {path: value if isinstance(value, (str, int, bool)) else json.dumps(value, sort_keys=True)}
    leaves = {}
    for key, part in value.items():
        leaves |= flat(part, f"{path}.{key}" if path else str(key))
    return leaves


def of_metadata(item):
    owner = owner_of(item)
    found = {key: item["metadata"].get(key) for key in ("labels", "annotations", "finalizers")}
    found["owner"] = {key: value for key, value in owner.items() if key != "uid"}
    return {key: value for key, value in found.items() if value}


def of_port(port):
    return {key: value for key, value in port.items() if (key, value) != ("protocol", "TCP")}


def of_resources(resources):
    """Amounts as text; where only a limit is said the server asks for as much."""
    amounts = {kind: {name: str(one) for name, one in all_of.items()} for kind, all_of in resources.items()}
    if amounts.get("requests") == amounts.get("limits"):
        amounts.pop("requests", None)
    return amounts


def of_container(container):
    found = said(container, CONTAINER_DEFAULTS)
    # Twice the same name: the last one counts.
    found["env"] = [{"name": one["name"], "value": one.get("value", "")} for one in container.get("env") or []]
    found["ports"] = [of_port(port) for port in container.get("ports") or []]
    found["resources"] = of_resources(container.get("resources") or {})
    return {key: value for key, value in found.items() if value}


def of_pod(pod):
    spec = said(pod["spec"], POD_DEFAULTS)
    kept = [one for one in spec.pop("tolerations", []) if one.get("key") not in SERVER_TOLERATIONS]
    spec["containers"] = [of_container(one) for one in spec["containers"]]
    return {**of_metadata(pod), "spec": {**spec, **({"tolerations": kept} if kept else {})}}


def of_pods(pods):
    found = {}
    for name, pod in named(pods):
        drawn = owner_of(pod)["uid"][:8]  # part of the name of the job's secret
        values = {path: without(value, drawn) for path, value in flat(of_pod(pod)).items()}
        found |= {f"pod.{name}.{path}": value for path, value in values.items()}
    return found


def without(value, drawn):
    return value.replace(drawn, "UID") if isinstance(value, str) else value


def of_service(service):
    spec = said(service["spec"], SERVICE_DEFAULTS)
    spec["ports"] = [of_port(port) for port in spec.get("ports", [])]
    return {**of_metadata(service), "spec": spec}


def of_services(services):
    all_values = [(name, flat(of_service(service))) for name, service in named(services)]
    return {f"service.{name}.{path}": value for name, values in all_values for path, value in values.items()}


def named(items):
    return [(item["metadata"]["name"], item) for item in items]


def of_status(job):
    if job is None:
        return {"job": "gone"}
    status = job.get("status") or {}
    conditions = [f"{one['type']}{mark(one)} {one['reason']}" for one in status.get("conditions") or []]
    found = {"conditions": ", ".join(conditions)} if conditions else {}
    found |= {time: "set" for time in ("startTime", "completionTime") if status.get(time)}
    for kind, replica in (status.get("replicaStatuses") or {}).items():
        counts = {name: value for name, value in replica.items() if value and name != "labelSelector"}
        found |= {f"replicas.{kind}.{path}": value for path, value in flat(counts).items() if counts}
    return found


def mark(condition):
    return "" if condition["status"] == "True" else "=" + condition["status"]


def event_key(event):
    text = f"{event['type']} {event['reason']}"
    return f"{text}: {event['message']}" if event["reason"].startswith(WITH_TEXT) else text


def pod_status(pod, phase, state, restarts):
    """As a kubelet writes it, with all containers in one state."""
    ready = phase == "Running"
    containers = [
        {**container_names(one), "ready": ready, "restartCount": restarts, "state": state}
        for one in pod["spec"]["containers"]
    ]
    conditions = [{"type": kind, "status": "True" if ready else "False"} for kind in ("Ready", "ContainersReady")]
    return {"phase": phase, "containerStatuses": containers, "conditions": conditions}


def container_names(container):
    return {"name": container["name"], "image": container["image"], "imageID": ""}
