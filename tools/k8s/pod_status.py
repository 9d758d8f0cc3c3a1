"""Pod status as the API shows it, from the containers' state."""

import time


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def phase_of(inits, mains):
    if any(container.done and container.exit_code for container in inits):
        return "Failed"
    if all(container.done for container in mains):
        return "Failed" if any(container.exit_code for container in mains) else "Succeeded"
    return "Running" if any(container.runs for container in mains) else "Pending"


def container_status(container):
    running = "running" in container.state
    status = {
        "name": container.name,
        "image": container.spec["image"],
        "imageID": "",
        "restartCount": container.restarts,
        "ready": running,
        "started": running,
        "state": container.state,
        "lastState": container.last or {},
    }
    if container.runs:
        status["containerID"] = f"rig://{id(container):x}-{container.runs}"
    return status


def condition(kind, holds, reason, since):
    """since: when each condition last changed, kept by the caller."""
    status = "True" if holds else "False"
    if since.get(kind, (None,))[0] != status:
        since[kind] = (status, now_text())
    # A reason that no longer holds has to be taken away: the patch merges conditions.
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": since[kind][1],
        "reason": None if holds else reason,
    }


def reason_not_ready(phase):
    return {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "ContainersNotReady")


def condition_list(phase, inits, mains, verdict, since):
    ready = phase == "Running" and all("running" in container.state for container in mains)
    begun = all(container.done and not container.exit_code for container in inits)
    reason = reason_not_ready(phase)
    conditions = [
        condition("Initialized", begun, "ContainersNotInitialized", since),
        condition("Ready", ready, reason, since),
        condition("ContainersReady", ready, reason, since),
    ]
    if verdict and verdict[1] == "Evicted":
        found = condition("DisruptionTarget", True, None, since)
        conditions.append({**found, "reason": "TerminationByKubelet", "message": verdict[2]})
    return conditions
