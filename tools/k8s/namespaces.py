"""Linux namespaces and mounts, by system call and per thread: what is started from a thread that has
entered a namespace lives in it, and no helper program is needed."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import threading

NEW_MOUNTS, NEW_HOST_NAME, NEW_NETWORK = 0x00020000, 0x04000000, 0x40000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
SET_FLAGS, SET_ADDRESS, SET_MASK = 0x8914, 0x8916, 0x891C
UP_AND_RUNNING = 0x41

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags):
    check(libc.unshare(flags), "unshare")


def enter(descriptor):
    check(libc.setns(descriptor, 0), "setns")


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [os.fsencode(x) if x is not None else None for x in (source, target, kind)]
    check(libc.mount(*encoded, flags, data.encode() if data else None), f"mount {source} on {target}")


def bind(source, target, recursive=False):
    mount(source, target, None, BIND | (RECURSIVE if recursive else 0))


def set_host_name(name):
    data = name.encode()
    check(libc.sethostname(data, len(data)), "sethostname")


def in_thread(action):
    """action() in a thread of its own, whose namespaces may change; its result or exception."""
    outcome = {}

    def run():
        try:
            outcome["result"] = action()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def open_network():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def new_network():
    """The descriptor of a new network, which lives as long as it is open or something runs in it."""

    def make():
        unshare(NEW_NETWORK)
        return open_network()

    return in_thread(make)


@contextlib.contextmanager
def inside(network):
    """The calling thread is in that network meanwhile; a socket made here stays there."""
    home = open_network()
    try:
        enter(network)
        yield
    finally:
        enter(home)
        os.close(home)


def interface_request(name, *address):
    if not address:
        return struct.pack("16sH14x", name.encode(), UP_AND_RUNNING)
    return struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(*address))


def bring_up(name, address=None, mask=None):
    """An interface of the network that the thread is in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if address:
            fcntl.ioctl(control, SET_ADDRESS, interface_request(name, address))
            fcntl.ioctl(control, SET_MASK, interface_request(name, mask))
        fcntl.ioctl(control, SET_FLAGS, interface_request(name))


def missing():
    """Why pods cannot be run here, or None."""
    if os.geteuid() != 0:
        return "the process kubelet makes namespaces and mounts, which only root may"
    try:
        os.close(new_network())
    except OSError as error:
        return f"the process kubelet needs network namespaces: {error}"
    return None
