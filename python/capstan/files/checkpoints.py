"""What folders of checkpoints hold, and checkpoints read without a graph."""

import functools
import os
import time

from capstan import _capstan
from capstan.core import dtypes, protos
from capstan.core.public import public
from capstan.platform import logs


@public("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the folder's `checkpoint` file says, or None. Where that file, or the checkpoint that it
    names, is lost or damaged: the newest whole checkpoint of the folder, with a warning."""
    return look_into_folder(checkpoint_dir, latest_filename)[0]


def look_into_folder(checkpoint_dir, latest_filename=None):
    """(what get_checkpoint_state gives, whether a state file names those checkpoints)"""
    found, recorded, warning = _capstan.checkpoint_folder(
        os.fspath(checkpoint_dir), latest_filename or "checkpoint"
    )
    if warning:
        _warn_once(warning)
    if found is None:
        return None, recorded
    newest, all_paths, times, preserved = found
    state = protos.CheckpointState(
        model_checkpoint_path=newest,
        all_model_checkpoint_paths=all_paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=preserved,
    )
    return state, recorded


@functools.lru_cache(maxsize=64)
def _warn_once(text):
    """Those who wait for a new checkpoint look again and again."""
    logs.warning("%s", text)


@public("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    _capstan.set_checkpoint_state(
        os.fspath(save_dir),
        model_checkpoint_path,
        list(all_model_checkpoint_paths or ()),
        list(all_model_checkpoint_timestamps or ()),
        last_preserved_timestamp or 0.0,
        False,
        latest_filename or "checkpoint",
    )


@public("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint in a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


@public("train.checkpoints_iterator")
def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """The newest checkpoint, whenever there is a new one. After `timeout` seconds without one it
    ends, unless timeout_fn() is false: then it goes on."""
    seen = None
    while True:
        newest = _wait_for_new_checkpoint(checkpoint_dir, seen, timeout)
        if newest is None:
            if timeout_fn is None or timeout_fn():
                logs.info("no new checkpoint in %s within %s s", checkpoint_dir, timeout)
                return
            continue
        seen, told = newest, time.monotonic()
        yield seen
        time.sleep(max(0, told + min_interval_secs - time.monotonic()))


def _wait_for_new_checkpoint(checkpoint_dir, seen, timeout):
    pause = 1 if timeout is None else min(1, timeout / 10)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        newest = latest_checkpoint(checkpoint_dir)
        if newest not in (None, seen):
            return newest
        if end is not None and time.monotonic() >= end:
            return None
        time.sleep(pause)


@public("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix):
    return _capstan.bundle_exists(os.fspath(checkpoint_prefix))


@public("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes):
    return [
        os.path.getmtime(prefix + ".index")
        for prefix in checkpoint_prefixes
        if os.path.exists(prefix + ".index")
    ]


@public("train.remove_checkpoint")
def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    _capstan.remove_bundle(os.fspath(checkpoint_prefix))


# --- Reading without a graph ----------------------------------------------------------------------


@public("train.NewCheckpointReader")
class NewCheckpointReader:
    """The tensors of a checkpoint, by name."""

    def __init__(self, filepattern):
        self._bundle = _capstan.BundleReader(os.fspath(filepattern))

    def has_tensor(self, tensor_str):
        return self._bundle.has(tensor_str)

    def get_tensor(self, tensor_str):
        return self._bundle.read(tensor_str)

    def get_variable_to_shape_map(self):
        return {key: list(self._bundle.describe(key)[1]) for key in self._bundle.keys()}

    def get_variable_to_dtype_map(self):
        return {
            key: dtypes.from_number(self._bundle.describe(key)[0]) for key in self._bundle.keys()
        }

    def debug_string(self):
        shapes, types = self.get_variable_to_shape_map(), self.get_variable_to_dtype_map()
        return "\n".join(
            "%s (%s) %s" % (key, types[key].name, shapes[key]) for key in shapes
        ).encode()


@public("train.load_checkpoint", "contrib.framework.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file):
    path = os.fspath(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if not found:
        raise ValueError(
            "Couldn't find 'checkpoint' file or checkpoints in given directory %s" % path
        )
    return NewCheckpointReader(found)


@public("train.load_variable", "contrib.framework.load_variable")
def load_variable(ckpt_dir_or_file, name):
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.partition(":")[0])


@public("train.list_variables", "contrib.framework.list_variables")
def list_variables(ckpt_dir_or_file):
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
