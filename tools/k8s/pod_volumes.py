"""The volumes of a pod as folders, and where its containers see them."""

import os
from pathlib import Path

from container_spec import NotYet, field


def write_files(folder, data, items, mode):
    """The keys of a secret or config map; with `items` only those, at their paths."""
    paths = {item["key"]: item["path"] for item in items} if items else {key: key for key in data}
    for key, path in paths.items():
        if key not in data:
            raise NotYet("ContainerCreating", f"references non-existent key: {key}")
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data[key])
        file.chmod(mode)


def write_source(folder, volume, pod, objects, mode):
    """One secret, config map or downward API source, alone or in a projected volume."""
    if secret := volume.get("secret"):
        name = secret.get("secretName") or secret["name"]
        data = objects.data("secrets", name, secret.get("optional", False))
        write_files(folder, data, secret.get("items"), secret.get("defaultMode", mode))
    elif config := volume.get("configMap"):
        data = objects.data("configmaps", config["name"], config.get("optional", False))
        write_files(folder, data, config.get("items"), config.get("defaultMode", mode))
    elif downward := volume.get("downwardAPI"):
        for item in downward.get("items") or []:
            (folder / item["path"]).write_text(field(pod, item["fieldRef"]["fieldPath"], ""))
    else:
        raise NotYet("ContainerCreating", f"the rig does not know the volume {sorted(volume)}")


def make_volume(volume, base, pod, objects):
    """The folder that holds it."""
    if host := volume.get("hostPath"):
        if host.get("type") == "DirectoryOrCreate":
            os.makedirs(host["path"], exist_ok=True)
        return Path(host["path"])
    folder = base / volume["name"]
    folder.mkdir(parents=True, exist_ok=True)
    if "emptyDir" in volume:
        folder.chmod(0o777)
    elif projected := volume.get("projected"):
        for source in projected.get("sources") or []:
            write_source(folder, source, pod, objects, projected.get("defaultMode", 0o644))
    else:
        write_source(folder, volume, pod, objects, 0o644)
    return folder


def make_volumes(pod, base, objects):
    return {volume["name"]: make_volume(volume, base, pod, objects) for volume in pod["spec"].get("volumes") or []}


def mounts_of(container, image, volumes):
    """[(folder or file on the node, path in the container)], the outer paths first."""
    mounts = [(Path(source), path) for path, source in (image.get("mounts") or {}).items()]
    for item in container.get("volumeMounts") or []:
        source = volumes[item["name"]]
        if item.get("subPath"):
            source = source / item["subPath"]
            if not source.exists():
                source.mkdir(parents=True)
        mounts.append((source, item["mountPath"]))
    return sorted(mounts, key=lambda mount: mount[1])


def make_mount_point(source, path):
    """In the node's own root, where it harms nobody."""
    if source.is_dir():
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
