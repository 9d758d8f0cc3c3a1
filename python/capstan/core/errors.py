"""The errors of the engine as tf.errors.*: one class per canonical code."""

from capstan.core.public import public, public_module

public_module("errors", "python.framework.errors", "python.framework.errors_impl")


@public("OpError")
class OpError(Exception):
    """An error with a code, and the operation and task that it came from where known."""

    code = 2

    def __init__(self, node_def, op, message, error_code=None, task=""):
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._task = task
        if error_code is not None:
            self.code = error_code

    message = property(lambda self: self._message)
    op = property(lambda self: self._op)
    node_def = property(lambda self: self._node_def)
    error_code = property(lambda self: self.code)
    task = property(lambda self: self._task)

    def __str__(self):
        return str(self._message)

    def __reduce__(self):
        return type(self), (None, None, self._message)


OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class CancelledError(OpError):
    code = CANCELLED


class UnknownError(OpError):
    code = UNKNOWN


class InvalidArgumentError(OpError):
    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    code = NOT_FOUND


class AlreadyExistsError(OpError):
    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    code = FAILED_PRECONDITION


class AbortedError(OpError):
    code = ABORTED


class OutOfRangeError(OpError):
    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    code = UNIMPLEMENTED


class InternalError(OpError):
    code = INTERNAL


class UnavailableError(OpError):
    code = UNAVAILABLE


class DataLossError(OpError):
    code = DATA_LOSS


class UnauthenticatedError(OpError):
    code = UNAUTHENTICATED


# TensorFlow raises plain Python errors while a graph is built; these are both.
class GraphValueError(InvalidArgumentError, ValueError):
    """Inputs that do not fit together, found while the graph is built."""


class GraphKeyError(NotFoundError, KeyError):
    """A name that the graph does not have."""

    __str__ = OpError.__str__


class GraphRuntimeError(FailedPreconditionError, RuntimeError):
    """The graph may not be changed any more."""


class GraphLookupError(UnimplementedError, LookupError):
    """An op without what was asked for, such as a gradient."""


_BY_CODE = {kind.code: kind for kind in OpError.__subclasses__()}
_WHILE_BUILDING = {
    INVALID_ARGUMENT: GraphValueError,
    NOT_FOUND: GraphKeyError,
    FAILED_PRECONDITION: GraphRuntimeError,
    UNIMPLEMENTED: GraphLookupError,
}


def from_engine(code, message, op, task):
    """The Python error for one that the engine raised while a graph is built; see errors.cc."""
    kind = _WHILE_BUILDING.get(code) or _BY_CODE.get(code, UnknownError)
    return kind(None, None, _with_place(message, op, task), task=task)


def from_run(code, message, op_name, task, op):
    """The Python error for one of a run; `op` is the failing operation, or None."""
    text = _with_place(message, op_name, task)
    if op is not None and op._location and op._location not in text:
        text += ", made at " + op._location
    error = _BY_CODE.get(code, UnknownError)(None, op, text, task=task)
    if op is not None:
        error._node_def = op.node_def
    return error


def _with_place(message, op, task):
    parts = [
        text
        for text, shown in (
            ("op '%s'" % op, bool(op) and "'%s'" % op not in message),
            ("task %s" % task, bool(task) and task not in message),
        )
        if shown
    ]
    return "%s [%s]" % (message, ", ".join(parts)) if parts else message


def exception_type_from_error_code(error_code):
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls):
    return cls.code


class raise_exception_on_not_ok_status:
    """Kept for programs that enter it around their own code; nothing here sets a status."""

    def __enter__(self):
        return None

    def __exit__(self, *unused):
        return False
