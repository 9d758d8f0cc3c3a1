"""tf.train.SyncReplicasOptimizer: all replicas' gradients are averaged before they are applied. The
nodes are the engine's; the wrapped optimizer may be the program's own."""

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.ops import control_ops, variables
from capstan.ops.variables import Variable
from capstan.session import steps
from capstan.session.queue_runner import QueueRunner
from capstan.train import optimizers
from capstan.train.hooks import SessionRunHook
from capstan.train.session_manager import ready


class _TokenQueue:
    """The queue from which each replica takes leave to begin its next step."""

    def __init__(self, queue_ref):
        self.queue_ref = queue_ref
        self.name = queue_ref.op.name


@public("train.SyncReplicasOptimizer", "train.SyncReplicasOptimizerV2")
class SyncReplicasOptimizer(optimizers.Optimizer):
    """Takes the arguments of both eras; `replica_id` (0.x) is not needed any more."""

    def __init__(
        self,
        opt,
        replicas_to_aggregate,
        total_num_replicas=None,
        variable_averages=None,
        variables_to_average=None,
        use_locking=False,
        name="sync_replicas",
        replica_id=None,
    ):
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas_to_aggregate = int(replicas_to_aggregate)
        self._total_num_replicas = int(total_num_replicas or replicas_to_aggregate)
        self._tokens_per_step = max(self._total_num_replicas, self._replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = (
            variable_averages,
            variables_to_average,
        )
        self._gradients_applied = False
        self._global_step = self._sync_token_queue = self._chief_queue_runner = None

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The op that a replica runs: pushes its gradients, then waits for a token."""
        pairs = [(optimizers._checked_gradient(g, v), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step, self._graph = global_step, pairs[0][1].graph
        opt = self._opt
        opt._given_variables.update((v._variable, v) for _, v in pairs)
        opt._graph = self._graph
        with self._graph.as_default():
            global_refs = [v._ref() for v in variables.global_variables()]
            self._sync = _capstan.apply_gradients_in_sync(
                self._graph,
                opt._engine(),
                self._replicas_to_aggregate,
                self._total_num_replicas,
                self._name,
                [g for g, _ in pairs],
                [v for _, v in pairs],
                global_step,
                global_refs,
            )
            opt._adopt()
            train_op = self._adopt_nodes(self._sync.nodes(self._graph))
        self._gradients_applied = True
        for op in (train_op.op, self._sync_op):  # the chief's queue runner counts; all train
            steps.counted(op, global_step)
        return train_op

    def _adopt_nodes(self, nodes):
        self._local_step = Variable._from_parts(nodes["local_step"])
        self._graph.add_to_collection(GraphKeys.LOCAL_VARIABLES, self._local_step)
        self._graph.add_to_collection(GraphKeys.TRAIN_OP, nodes["update"])
        self.local_step_init_op = nodes["local_step_init_op"].outputs[0]
        self.ready_for_local_init_op = nodes["ready_for_local_init_op"]
        self.chief_init_op = nodes["chief_init_op"]
        self._sync_op = nodes["sync_op"]
        self._sync_token_queue = _TokenQueue(nodes["close_op"].inputs[0])
        self._chief_queue_runner = QueueRunner(
            self._sync_token_queue,
            [self._averaged(nodes["sync_op"])],
            close_op=nodes["close_op"],
            cancel_op=nodes["cancel_op"],
        )
        return nodes["train_op"].outputs[0]

    def _averaged(self, sync_op):
        if self._variable_averages is None:
            return sync_op
        with graphs.control_dependencies([sync_op]), graphs.name_scope(""):
            return self._variable_averages.apply(self._variables_to_average)

    def get_chief_queue_runner(self):
        """What the chief runs all the time: takes the means, applies them, hands out tokens."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens=-1):
        """Fills the token queue, so that few replicas can do several steps each."""
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(
                "Too few tokens to finish the first step: %d (given) vs %d (needed)"
                % (num_tokens, needed)
            )
        return self._sync.init_tokens(self._graph, num_tokens)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    # 0.x: nothing is left to clean.
    def get_clean_up_op(self):
        return control_ops.no_op(name="clean_up")

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Initialises, fills the token queue and starts the chief's queue runner."""

    _waits_for_others = True

    def __init__(self, sync_optimizer, is_chief, num_tokens):
        self._sync_optimizer, self._is_chief, self._num_tokens = (
            sync_optimizer,
            is_chief,
            num_tokens,
        )

    def begin(self):
        opt = self._sync_optimizer
        if not opt._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready_for_local_init_op = opt.ready_for_local_init_op
        self._local_init_op = opt.chief_init_op if self._is_chief else opt.local_step_init_op
        self._q_runner = opt.get_chief_queue_runner() if self._is_chief else None
        self._init_tokens_op = opt.get_init_tokens_op(self._num_tokens) if self._is_chief else None

    def after_create_session(self, session, coord):
        is_ready, why = ready(self._ready_for_local_init_op, session)
        if not is_ready:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer "
                "local_init. Init op: %s, error: %s" % (self._local_init_op.name, why)
            )
        session.run(self._local_init_op)
        if self._is_chief:
            session.run(self._init_tokens_op)
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)
