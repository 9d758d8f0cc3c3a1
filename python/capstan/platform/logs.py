"""tf.logging: lines "LEVEL:tensorflow:message" on standard error, from WARN upwards by default."""

import logging as _logging
import sys as _sys

from capstan.core.public import public_module

public_module("logging", "python.platform.tf_logging")

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)


def _make_logger():
    logger = _logging.getLogger("tensorflow")
    logger.setLevel(WARN)
    if not logger.handlers and not _logging.getLogger().handlers:
        handler = _logging.StreamHandler(_sys.stderr)
        handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT, None))
        logger.addHandler(handler)
    return logger


_logger = _make_logger()
_counts = {}


def get_logger():
    return _logger


def log(level, msg, *args, **kwargs):
    _logger.log(level, msg, *args, **kwargs)


debug = _logger.debug
info = _logger.info
warn = _logger.warning
warning = _logger.warning
error = _logger.error
fatal = _logger.critical
exception = _logger.exception


def vlog(level, msg, *args, **kwargs):
    _logger.log(level, msg, *args, **kwargs)


def log_first_n(level, msg, n, *args):
    _counts[msg] = _counts.get(msg, 0) + 1
    if _counts[msg] <= n:
        log(level, msg, *args)


def log_every_n(level, msg, n, *args):
    _counts[msg] = _counts.get(msg, 0) + 1
    if (_counts[msg] - 1) % n == 0:
        log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def set_verbosity(v):
    """A number, or a name such as "INFO"."""
    _logger.setLevel(getattr(_logging, v.upper()) if isinstance(v, str) else v)


def get_verbosity():
    return _logger.getEffectiveLevel()


def flush():
    for handler in _logger.handlers:
        handler.flush()


class TaskLevelStatusMessage:
    def __init__(self, msg):
        error(msg)
