"""The root filesystem of a node: the machine's own, with all writes kept aside in memory.

So a container's mount paths can be made anywhere, and what its program leaves behind goes with the
node. Folders that are shared (the repository, the temporary folder) are the machine's own.
"""

import os
from pathlib import Path

import namespaces

KERNEL_FOLDERS = ("/proc", "/dev", "/sys")


def other_mounts():
    """What is mounted below /, the outermost of each branch; an overlay of / does not show it."""
    with open("/proc/self/mountinfo") as file:
        points = sorted({line.split()[4].encode().decode("unicode_escape") for line in file} - {"/"})
    outermost = []
    for point in points:
        if not any(Path(point).is_relative_to(other) for other in (*outermost, *KERNEL_FOLDERS)):
            outermost.append(point)
    return [point for point in outermost if os.path.exists(point)]


def enter(folder, shared):
    """Makes the root below `folder` and changes into it. The process must have mounts of its own."""
    folder = Path(folder)
    mounted = other_mounts()
    namespaces.mount("tmpfs", folder, "tmpfs")
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    root = folder / "root"
    layers = f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}"
    namespaces.mount("overlay", root, "overlay", 0, layers)
    for name in (*KERNEL_FOLDERS, *mounted):
        namespaces.bind(name, root / name.lstrip("/"), recursive=True)
    for name in map(str, shared):
        namespaces.bind(name, root / name.lstrip("/"))
    os.chroot(root)
    os.chdir("/")
