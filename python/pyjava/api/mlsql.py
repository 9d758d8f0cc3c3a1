"""What a training script of MLSQL learns from its engine: parameters, given on standard input.

An int32 count (big-endian), then for each parameter its key and its value, each as an int32 length
and UTF-8 bytes. A length of -5 stands for None.
"""

import struct
import sys

_NONE = -5


def _take(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the engine's parameters end after %d of %d bytes" % (len(data), size))
    return data


def _read_int(stream):
    return struct.unpack("!i", _take(stream, 4))[0]


def _read_text(stream):
    size = _read_int(stream)
    if size == _NONE:
        return None
    if size < 0:
        raise EOFError("the engine's parameters hold the length %d" % size)
    return _take(stream, size).decode("utf-8")


class LogClient:
    """What a script wants its engine to log: a line of its output is one."""

    def log_to_driver(self, msg):
        print(msg, flush=True)

    def close(self):
        pass


class PythonProjectContext:
    """What the engine gave: conf holds the parameters; each is a text.

    Scripts of older engines call read_params_once(); for those of newer ones, which do not, they are
    read when they are first needed.
    """

    def __init__(self):
        self._conf = {}
        self._read = False
        self.log_client = LogClient()

    def read_params_once(self):
        """Reads standard input; a second call does nothing."""
        if self._read:
            return
        self._read = True
        stream = sys.stdin.buffer
        for _ in range(_read_int(stream)):
            key = _read_text(stream)
            self._conf[key] = _read_text(stream)

    @property
    def conf(self):
        self.read_params_once()
        return self._conf

    def input_data_dir(self):
        """The file with the rows of this worker. A parameter server has none: KeyError."""
        return self.conf["tempDataLocalPath"]

    def output_model_dir(self):
        """Where this worker's model goes; whoever writes makes it. KeyError on a parameter server."""
        return self.conf["tempModelLocalPath"]
