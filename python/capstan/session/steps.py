"""The steps of training as the launcher sees them: which runs count, their loss, the report."""

import sys

from capstan import _capstan
from capstan.core import errors
from capstan.session import task


def minimized(loss):
    """Remembers what optimizers minimize: that is what a program's loss is."""
    loss.graph.kept("minimized", set).add(loss)


def counted(train_op, global_step):
    """Remembers that running this op is a step of training, which counts so."""
    train_op.graph.kept("counted", dict)[train_op] = global_step


def step_counted(graph):
    """What the optimizers of a graph count, whatever its name; None where they count nothing, or not
    the same."""
    steps = list(graph.kept("counted", dict).values())
    return steps[0] if steps and all(step is steps[0] for step in steps) else None


def say_limit_is_unkept(graph):
    """Once per graph, where there is a limit."""
    limit, said = task.process().max_steps, graph.kept("said", set)
    if limit and "limit" not in said:
        said.add("limit")
        print("capstan: --max-steps %d cannot be kept, and no step is shown: nothing counts the steps "
              "of this training; give minimize() or apply_gradients() a global_step" % limit,
              file=sys.stderr, flush=True)  # fmt: skip


def _pairs(fetches, values):
    """(fetch, value) of every leaf."""
    if isinstance(fetches, (list, tuple)):
        for fetch, value in zip(fetches, values):
            yield from _pairs(fetch, value)
    elif isinstance(fetches, dict):
        for key, fetch in fetches.items():
            yield from _pairs(fetch, values[key])
    else:
        yield fetches, values


def _is_loss(fetch, losses):
    name = fetch if isinstance(fetch, str) else getattr(fetch, "name", "")
    return fetch in losses or _capstan.is_called_loss(name)


def loss_among(graph, fetches, values):
    """The loss among fetched values, or None: a number that an optimizer minimizes, else one that
    is called so."""
    losses = graph.kept("minimized", set)
    for fetch, value in _pairs(fetches, values):
        number = getattr(value, "size", 0) == 1 and getattr(value.dtype, "kind", "") == "f"
        if number and _is_loss(fetch, losses):
            return float(value if value.ndim == 0 else value.ravel()[0])
    return None


class StepReporter(_capstan.StepReporter):
    """Tells the launcher the step, at most ten times a second; knows when the limit is reached."""

    def __init__(self, graph):
        process = task.process()
        super().__init__(process.channel, process.max_steps)
        self._graph, self._listens = graph, process.channel.connected

    def report_if_due(self, step, fetches, values):
        if self.due or self.reached(step):
            listens = self._listens
            self.report(step, loss_among(self._graph, fetches, values) if listens else None)

    def end(self, sess, step_tensor):
        """The step at which training has ended."""
        if not self._listens:
            return
        try:
            step = sess.run(step_tensor)
        except errors.OpError:
            return  # the parameter server has left already: the last report stands
        self.finish(int(step))
