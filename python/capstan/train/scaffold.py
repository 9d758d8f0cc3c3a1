"""tf.train.Scaffold, and what makes sessions for a chief and for other workers."""

from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.files import saver as savers
from capstan.files import summary as summaries
from capstan.ops import array_ops, control_ops, variables
from capstan.platform import logs
from capstan.train.session_manager import SessionManager


@public("train.Scaffold")
class Scaffold:
    """The pieces that training needs: given, else taken from the graph's collections, else made."""

    def __init__(
        self,
        init_op=None,
        init_feed_dict=None,
        init_fn=None,
        ready_op=None,
        ready_for_local_init_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        copy_from_scaffold=None,
        local_init_feed_dict=None,
    ):
        given = dict(
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            user_init_fn=init_fn,
            ready_op=ready_op,
            ready_for_local_init_op=ready_for_local_init_op,
            local_init_op=local_init_op,
            summary_op=summary_op,
            saver=saver,
            local_init_feed_dict=local_init_feed_dict,
        )
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        for name, value in given.items():
            if value is None and copy_from_scaffold is not None:
                value = getattr(copy_from_scaffold, "_" + name)
            setattr(self, "_" + name, value)
        function = self._user_init_fn
        self._init_fn = (lambda sess: function(self, sess)) if function else None

    init_op = property(lambda self: self._init_op)
    init_fn = property(lambda self: self._init_fn)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)

    def finalize(self):
        """Makes what is missing; the graph is final from then on."""
        self._complete("init_op", GraphKeys.INIT_OP, _default_init_op)
        self._complete("ready_op", GraphKeys.READY_OP, _default_ready_op)
        self._complete(
            "ready_for_local_init_op",
            GraphKeys.READY_FOR_LOCAL_INIT_OP,
            _default_ready_for_local_init_op,
        )
        self._complete("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
        self._complete("summary_op", GraphKeys.SUMMARY_OP, summaries.merge_all)
        if self._saver is None:
            self._saver = savers._get_saver_or_default()
        self._saver.build()
        graphs.get_default_graph().finalize()
        logs.info("Graph was finalized.")
        return self

    def _complete(self, name, key, make):
        if getattr(self, "_" + name) is None:
            setattr(self, "_" + name, Scaffold.get_or_default(name, key, make))

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        found = graphs.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                'More than one item in the collection "%s". Please indicate which one to use '
                "by passing it to the tf.Scaffold constructor as:  tf.Scaffold(%s=item to use)"
                % (collection_key, arg_name)
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graphs.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        return control_ops.group(
            variables.local_variables_initializer(),
            variables.tables_initializer(),
            _no_resources_initializer(),
        )


# TensorFlow's graphs hold these nodes also when there are no resources.
def _no_resources_initializer():
    return control_ops.no_op(name="init")


def _no_uninitialized_resources():
    with graphs.name_scope("report_uninitialized_resources"), graphs.device("/cpu:0"):
        return convert.constant([], dtype=dtypes.string)


def _default_init_op():
    return control_ops.group(variables.global_variables_initializer(), _no_resources_initializer())


def _default_ready_op():
    report = variables.report_uninitialized_variables()
    return array_ops.concat([report, _no_uninitialized_resources()], 0)


def _default_ready_for_local_init_op():
    report = variables.report_uninitialized_variables(variables.global_variables())
    return array_ops.concat([report, _no_uninitialized_resources()], 0)


@public("train.SessionCreator")
class SessionCreator:
    """Makes sessions; programs may write their own."""

    def create_session(self):
        raise NotImplementedError("create_session is not implemented for %s." % self)


class _ScaffoldSessionCreator(SessionCreator):
    def __init__(self, scaffold, master, config):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._session_manager = master, config, None

    def _get_session_manager(self):
        if self._session_manager is None:
            scaffold = self._scaffold
            self._session_manager = SessionManager(
                local_init_op=scaffold.local_init_op,
                local_init_feed_dict=scaffold.local_init_feed_dict,
                ready_op=scaffold.ready_op,
                ready_for_local_init_op=scaffold.ready_for_local_init_op,
                graph=graphs.get_default_graph(),
            )
        return self._session_manager


@public("train.ChiefSessionCreator")
class ChiefSessionCreator(_ScaffoldSessionCreator):
    """Restores the model from the newest checkpoint, else initialises it."""

    def __init__(
        self,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
    ):
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self):
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@public("train.WorkerSessionCreator")
class WorkerSessionCreator(_ScaffoldSessionCreator):
    """Waits until the chief has made the model ready."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self):
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
