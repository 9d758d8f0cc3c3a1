"""tf.gfile over the local file system."""

import glob as _glob
import os as _os
import shutil as _shutil

from capstan.core import errors as _errors
from capstan.core.public import public_module

public_module("gfile", "python.platform.gfile", "python.lib.io.file_io")


def _path(name):
    name = name.decode() if isinstance(name, bytes) else _os.fspath(name)
    return name[len("file://") :] if name.startswith("file://") else name


class _translated:
    """OSError as the matching tf.errors class."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not isinstance(error, OSError):
            return False
        text = "%s; %s" % (self._name, error.strerror or error)
        for python, ours in (
            (FileNotFoundError, _errors.NotFoundError),
            (FileExistsError, _errors.AlreadyExistsError),
            (PermissionError, _errors.PermissionDeniedError),
            (NotADirectoryError, _errors.FailedPreconditionError),
            (IsADirectoryError, _errors.FailedPreconditionError),
        ):
            if isinstance(error, python):
                raise ours(None, None, text) from error
        raise _errors.UnknownError(None, None, text) from error


class GFile:
    """A file, opened when it is first read or written."""

    def __init__(self, name, mode="r"):
        self._name, self._mode, self._file = name, mode, None

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

    def _open(self):
        if self._file is None:
            with _translated(self._name):
                self._file = open(_path(self._name), self._mode)
        return self._file

    def read(self, n=-1):
        return self._open().read(n)

    def write(self, file_content):
        if isinstance(file_content, bytes) and "b" not in self._mode:
            file_content = file_content.decode()
        elif isinstance(file_content, str) and "b" in self._mode:
            file_content = file_content.encode()
        return self._open().write(file_content)

    def readline(self):
        return self._open().readline()

    def readlines(self):
        return self._open().readlines()

    def seek(self, offset=None, whence=0, position=None):
        return self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._open().tell()

    def size(self):
        with _translated(self._name):
            return _os.stat(_path(self._name)).st_size

    Size = size

    def flush(self):
        if self._file is not None:
            self._file.flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self):
        return iter(self._open())

    def __next__(self):
        return next(self._open())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


Open = GFile
FastGFile = GFile


def Exists(filename):
    return _os.path.exists(_path(filename))


def IsDirectory(dirname):
    return _os.path.isdir(_path(dirname))


def MakeDirs(dirname):
    """Nothing for "", the current folder: what os.path.dirname() makes of a name without one."""
    if not dirname:
        return
    with _translated(dirname):
        _os.makedirs(_path(dirname), exist_ok=True)


def MkDir(dirname):
    with _translated(dirname):
        _os.mkdir(_path(dirname))


def ListDirectory(dirname):
    with _translated(dirname):
        return _os.listdir(_path(dirname))


def Glob(filename):
    names = filename if isinstance(filename, (list, tuple)) else [filename]
    return [found for name in names for found in sorted(_glob.glob(_path(name)))]


def Remove(filename):
    with _translated(filename):
        _os.remove(_path(filename))


def DeleteRecursively(dirname):
    with _translated(dirname):
        _shutil.rmtree(_path(dirname))


def Copy(oldpath, newpath, overwrite=False):
    _check_absent(newpath, overwrite)
    with _translated(oldpath):
        _shutil.copyfile(_path(oldpath), _path(newpath))


def Rename(oldname, newname, overwrite=False):
    _check_absent(newname, overwrite)
    with _translated(oldname):
        _os.replace(_path(oldname), _path(newname))


def _check_absent(name, overwrite):
    if not overwrite and Exists(name):
        raise _errors.AlreadyExistsError(None, None, "%s; file already exists" % name)


def Stat(filename):
    with _translated(filename):
        return _os.stat(_path(filename))


def Walk(top, in_order=True):
    return _os.walk(_path(top), topdown=in_order)
