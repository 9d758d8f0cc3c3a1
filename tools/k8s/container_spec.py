"""What a container runs: its command and environment, from the pod's spec and the map of images."""

import base64
import fnmatch
import json
import os
import re

VARIABLE = re.compile(r"\$(\$)?\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")
SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]$")


class NotYet(Exception):
    """The container cannot be made now; `reason` is its waiting reason. It is tried again."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def image_of(name, path):
    """The entry of an image in the map at `path`, by name or pattern; see README.md."""
    with open(path) as file:
        images = json.load(file)
    for pattern, entry in images.items():
        if name == pattern or fnmatch.fnmatchcase(name, pattern):
            return entry
    raise NotYet("ErrImagePull", f"image {name} is not in the rig's map of images")


def field(pod, path, address):
    if match := SUBSCRIPT.match(path):
        return pod["metadata"].get(match[1], {}).get(match[2], "")
    if path == "status.podIP":
        return address
    if path == "status.hostIP":
        return "127.0.0.1"
    value = pod
    for name in path.split("."):
        value = value.get(name, {})
    return value if isinstance(value, str) else ""


class Objects:
    """Secrets and config maps of one namespace as {key: bytes}."""

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace

    def data(self, kind, name, optional=False):
        found = self.api.find(f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")
        if found is None:
            if optional:
                return {}
            raise NotYet("CreateContainerConfigError", f"{kind[:-1]} {name} not found")
        decode = base64.b64decode if kind == "secrets" else str.encode
        data = {key: decode(value) for key, value in (found.get("data") or {}).items()}
        data.update({key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()})
        return data

    def value(self, kind, reference):
        data = self.data(kind, reference["name"], reference.get("optional", False))
        if reference["key"] not in data and not reference.get("optional"):
            raise NotYet("CreateContainerConfigError", f"no key {reference['key']} in {kind[:-1]} {reference['name']}")
        return data.get(reference["key"], b"").decode()


def expand(text, environment):
    """$(NAME) as Kubernetes replaces it: unknown names stay, $$(NAME) is the text $(NAME)."""

    def value(match):
        if match[1]:
            return f"$({match[2]})"
        return environment.get(match[2], match[0])

    return VARIABLE.sub(value, text)


def value_from(source, pod, address, objects):
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"], address)
    if "secretKeyRef" in source:
        return objects.value("secrets", source["secretKeyRef"])
    if "configMapKeyRef" in source:
        return objects.value("configmaps", source["configMapKeyRef"])
    raise NotYet("CreateContainerConfigError", f"the rig does not know valueFrom {sorted(source)}")


def environment_from(container, objects):
    environment = {}
    for source in container.get("envFrom") or []:
        for reference, kind in (("secretRef", "secrets"), ("configMapRef", "configmaps")):
            if reference in source:
                data = objects.data(kind, source[reference]["name"], source[reference].get("optional", False))
                prefix = source.get("prefix", "")
                environment.update({prefix + key: value.decode() for key, value in data.items()})
    return environment


def environment_of(container, image, pod, address, objects):
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment["HOSTNAME"] = pod["metadata"]["name"]
    environment.update(image.get("env") or {})
    environment.update(environment_from(container, objects))
    for item in container.get("env") or []:
        if source := item.get("valueFrom"):
            environment[item["name"]] = value_from(source, pod, address, objects)
        else:
            environment[item["name"]] = expand(item.get("value", ""), environment)
    return environment


def command_of(container, image, environment):
    """The image's prefix, then the container's command and args, or where it has none the image's."""
    command, args = container.get("command"), container.get("args")
    if args is None:
        args = [] if command else image.get("args", [])
    whole = [*(command or image.get("command", [])), *args]
    words = image.get("prefix", []) + [expand(word, environment) for word in whole]
    if not words:
        raise NotYet("CreateContainerError", "no command specified")
    return words
