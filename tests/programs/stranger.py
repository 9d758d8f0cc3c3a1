"""A peer that speaks just enough of docs/formats/wire.md to misbehave."""

import hashlib
import hmac
import os
import socket
import struct

HELLO, PROOF = 1, 2


class Stranger:
    """A raw connection to a server of ours."""

    def __init__(self, address, seconds=20):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=seconds)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._socket.close()

    def send(self, data):
        self._socket.sendall(data)

    def rest(self):
        """What still comes until the other side hangs up."""
        received = b""
        try:
            while data := self._socket.recv(65536):
                received += data
        except ConnectionResetError:
            pass
        return received

    def _take(self, size):
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the server hung up"
            data += part
        return data

    def _send_record(self, kind, body):
        self.send(struct.pack("<IB", len(body) + 1, kind) + body)

    def _take_record(self):
        (length,) = struct.unpack("<I", self._take(4))
        record = self._take(length)
        return record[0], record[1:]

    def shake_hands(self, secret, name=b"stranger"):
        """Proves the secret; true if the server took it and proved it too."""
        hello = b"CAPSTAN\n" + struct.pack("<IIQ", 1 << 16, 0, 7) + os.urandom(32)
        hello += struct.pack("<I", len(name)) + name + struct.pack("<I", 0)
        self._send_record(HELLO, hello)
        kind, theirs = self._take_record()
        assert kind == HELLO
        proof = hmac.new(secret, b"capstan client proof\n" + hello + theirs, hashlib.sha256).digest()
        self._send_record(PROOF, proof)
        return self._take_record()[0] == PROOF


def frame(payload=0, meta=0, descriptors=0, tensors=0, magic=b"CPSF"):
    """A header that announces so many bytes."""
    return struct.pack("<4sBBHIIIIQQQQQ", magic, 1, 16, 0, tensors, descriptors, meta, 0, payload, 1, 1, 7, 0)
