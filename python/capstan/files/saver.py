"""tf.train.Saver, and what folders of checkpoints hold."""

import os
import time

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.files import meta_graphs
from capstan.files.checkpoints import checkpoint_exists, get_checkpoint_mtimes
from capstan.files.meta_graphs import meta_graph_bytes
from capstan.ops import global_step as global_steps
from capstan.ops.variables import Variable
from capstan.platform import gfile, logs
from capstan.session.session import BaseSession

_V2 = 2  # protos.SaverDef.V2


@public("train.Saver", differs="always the V2 format")
class Saver:
    """Adds the nodes that save and restore variables, and keeps the newest few checkpoints."""

    def __init__(
        self,
        var_list=None,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        saver_def=None,
        builder=None,
        defer_build=False,
        allow_empty=False,
        write_version=_V2,
        pad_step_number=False,
        save_relative_paths=False,
        filename=None,
    ):
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list, self._sharded, self._name = var_list, sharded, name
        self._reshape = bool(reshape)
        if write_version != _V2:
            logs.warning(
                "Saver: checkpoints are written in the V2 format, whatever write_version says"
            )
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._allow_empty, self._is_empty, self._is_built = allow_empty, None, False
        self._pad_step_number, self._save_relative_paths = pad_step_number, save_relative_paths
        self.saver_def = saver_def
        self._retention, self._began = None, time.time()
        if not defer_build:
            self.build()

    # --- Nodes ------------------------------------------------------------------------------------

    def build(self):
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            self._build_nodes()
        else:
            self._take_def(self.saver_def)

    def _build_nodes(self):
        if self._var_list is None:
            self._var_list = _all_saveable()
        self._is_empty = not self._var_list
        if self._is_empty:
            if self._allow_empty:
                return
            raise ValueError("No variables to save")
        named = _by_name(self._var_list)
        graph = next(iter(named.values())).graph
        filename, save, restore = _capstan.make_saver(
            graph, named, bool(self._sharded), self._reshape, self._name or "save"
        )
        self.saver_def = protos.SaverDef(
            filename_tensor_name=filename.name,
            save_tensor_name=save.name,
            restore_op_name=restore.name,
            max_to_keep=self._max_to_keep or 0,
            sharded=bool(self._sharded),
            keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
            version=_V2,
        )

    def _take_def(self, given):
        made = protos.SaverDef.FromString(given.SerializeToString())
        if self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(made, field, graphs.prepend_name_scope(getattr(made, field), self._name))
        self.saver_def = made
        self._max_to_keep = made.max_to_keep
        self._is_empty = not made.save_tensor_name

    def as_saver_def(self):
        return self.saver_def

    def to_proto(self, export_scope=None):
        return self.saver_def

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        return Saver(saver_def=saver_def, name=import_scope)

    # --- Saving -----------------------------------------------------------------------------------

    def save(
        self,
        sess,
        save_path,
        global_step=None,
        latest_filename=None,
        meta_graph_suffix="meta",
        write_meta_graph=True,
        write_state=True,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """Writes a checkpoint; returns its prefix. The `checkpoint` file is written last."""
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if not isinstance(sess, BaseSession):
            raise TypeError("'sess' must be a Session; %s" % (sess,))
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if not os.fspath(save_path):
            raise ValueError("'save_path' is empty: it needs the name of the checkpoint to write")
        prefix = self._prefix(sess, os.fspath(save_path), global_step, latest_filename)
        written = None if self._is_empty else self._write_variables(sess, prefix)
        if write_meta_graph:
            gfile.MakeDirs(os.path.dirname(prefix))
            content = meta_graph_bytes(sess.graph, self.saver_def)
            _capstan.write_file("%s.%s" % (prefix, meta_graph_suffix), content)
        if write_state and written is not None:
            self._record(written, latest_filename)
        return written

    def _prefix(self, sess, save_path, global_step, latest_filename):
        if isinstance(save_path, bytes):
            save_path = save_path.decode()
        if global_step is None:
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                raise ValueError(
                    "'latest_filename' collides with 'save_path': '%s' and '%s'"
                    % (latest_filename, save_path)
                )
            return save_path
        if not hasattr(global_step, "__index__"):
            global_step = global_steps.global_step(sess, global_step)
        return ("%s-%08d" if self._pad_step_number else "%s-%d") % (save_path, global_step)

    def _write_variables(self, sess, prefix):
        done = sess.run(
            self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix}
        )
        return done.decode()

    def _record(self, prefix, latest_filename):
        wrong = self._kept().written(
            prefix, time.time(), self._save_relative_paths, latest_filename
        )
        if wrong:
            logs.warning("Ignoring: %s", wrong)

    def _kept(self):
        if self._retention is None:
            self._retention = _capstan.Retention(
                self._max_to_keep or 0, self._keep_checkpoint_every_n_hours, self._began
            )
        return self._retention

    def export_meta_graph(
        self,
        filename=None,
        collection_list=None,
        as_text=False,
        export_scope=None,
        clear_devices=False,
        clear_extraneous_savers=False,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        return meta_graphs.export_meta_graph(
            filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # --- Restoring --------------------------------------------------------------------------------

    def restore(self, sess, save_path):
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = save_path.decode() if isinstance(save_path, bytes) else os.fspath(save_path)
        if not checkpoint_exists(save_path):
            raise ValueError("The passed save_path is not a valid checkpoint: " + save_path)
        logs.info("Restoring parameters from %s", save_path)
        sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: save_path})

    @property
    def last_checkpoints(self):
        """Prefixes that are still there, oldest first."""
        return [prefix for prefix, _ in self._kept().kept()]

    def set_last_checkpoints(self, last_checkpoints):
        assert isinstance(last_checkpoints, list)
        self._kept().take_over([(prefix, float("inf")) for prefix in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        assert isinstance(last_checkpoints_with_time, list)
        self._kept().take_over([tuple(item) for item in last_checkpoints_with_time])

    def recover_last_checkpoints(self, checkpoint_paths):
        """After a restart: takes over the care for checkpoints of an earlier run."""
        there = [(path, get_checkpoint_mtimes([path])) for path in checkpoint_paths]
        self.set_last_checkpoints_with_time([(path, times[0]) for path, times in there if times])


def _all_saveable():
    return graphs.get_collection(GraphKeys.GLOBAL_VARIABLES) + graphs.get_collection(
        GraphKeys.SAVEABLE_OBJECTS
    )


def _flat(items):
    for item in items:
        if hasattr(item, "_get_variable_list"):
            yield from item._get_variable_list()
        elif isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def _by_name(var_list):
    """{name in the checkpoint: variable}, checked."""
    if isinstance(var_list, dict):
        named = dict(var_list)
    else:
        named = {}
        for variable in _flat(var_list if isinstance(var_list, (list, tuple, set)) else [var_list]):
            _check_variable(variable)
            if named.setdefault(variable.op.name, variable) is not variable:
                raise ValueError("At least two variables have the same name: %s" % variable.op.name)
    for name, variable in named.items():
        if not isinstance(name, str):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to variables. Name is "
                "not a string: %s" % (name,)
            )
        _check_variable(variable)
    return named


def _check_variable(variable):
    if not isinstance(variable, Variable):
        raise TypeError("Variable to save is not a Variable: %s" % (variable,))


def _get_saver_or_default():
    """The saver of the graph's collection, made when there is none."""
    savers = graphs.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            "More than one item in collection %s. Please indicate which one to use by "
            "passing it to the constructor." % GraphKeys.SAVERS
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    graphs.add_to_collection(GraphKeys.SAVERS, saver)
    return saver
