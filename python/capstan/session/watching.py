"""Plain sessions where a launcher listens or gave a limit: they tell of their training, too.

A run is a step of training when it leads to an op that counts the global step. Runs that do not
(initializers, evaluation) pass untouched, also after the limit.
"""

import functools

from capstan.core.elements import Operation
from capstan.core.graph import GraphKeys
from capstan.ops import global_step as global_steps
from capstan.session import steps, task
from capstan.session.limit_guard import LimitGuard


def _operations(graph, fetch):
    """The operations of all leaves; what is none of ours is for the run itself to refuse."""
    if isinstance(fetch, (list, tuple)):
        for item in fetch:
            yield from _operations(graph, item)
    elif isinstance(fetch, dict):
        yield from _operations(graph, list(fetch.values()))
    else:
        if isinstance(fetch, (str, bytes)):
            fetch = graph.as_graph_element(fetch)
        op = getattr(fetch, "op", fetch)
        if isinstance(op, Operation) and op.graph is graph:
            yield op


UNKNOWN = object()  # the step of training that nobody counts


def _step_counted_by(op):
    """The global step that running this op counts; UNKNOWN for training that counts none; None for
    what is no training."""
    counted = op.graph.kept("counted", dict)
    found = op.graph.get_collection(GraphKeys.GLOBAL_STEP) or [global_steps._by_name(op.graph)]
    own = getattr(found[0], "op", None)
    seen, todo, none = set(), [op], None
    while todo:
        op = todo.pop()
        if op in counted:
            return counted[op]
        if op.type == "AssignAdd" and op.inputs[0].op is own:
            return found[0]  # a program that counts by itself
        if op.type.startswith(("Apply", "SparseApply", "ResourceApply")):
            none = UNKNOWN
        if op not in seen:
            seen.add(op)
            todo += [tensor.op for tensor in op.inputs]
            todo += op.control_inputs
    return none


def step_counted_in(graph, fetches):
    """The global step that a run of these fetches counts, or None."""
    known = graph.kept("steps of fetches", dict)
    for op in _operations(graph, fetches):
        if op not in known:
            known[op] = _step_counted_by(op)
        if known[op] is UNKNOWN:
            steps.say_limit_is_unkept(graph)
        elif known[op] is not None:
            return known[op]
    return None


class FollowedSession:
    """How a session follows the step of its training; mixed into a kind of session."""

    _reporter = _guard = None

    def _follow(self):
        if self._reporter is None:
            self._reporter = steps.StepReporter(self.graph)
            if self._reporter.limit:
                self._guard = LimitGuard(self, self._reporter.limit)

    def _run_counted(self, step, fetches, *args):
        """(values, step after or before this run)"""
        if self._guard is None:
            values, counted = super().run((fetches, step), *args)
        else:
            values, counted = self._guard.run((fetches, step), *args, step=step)
        return values, int(counted)  # programs count in floats, too


class _Watched(FollowedSession):
    _last_step = 0

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        step = step_counted_in(self.graph, fetches)
        if step is None:
            return super().run(fetches, feed_dict, options, run_metadata)
        self._follow()
        if self._reporter.reached(self._last_step):
            raise task.limit_reached(self._last_step)
        if not (self._reporter.limit or self._reporter.due):
            return super().run(fetches, feed_dict, options, run_metadata)
        values, self._last_step = self._run_counted(step, fetches, feed_dict, options, run_metadata)
        self._reporter.report_if_due(self._last_step, fetches, values)
        return values


@functools.lru_cache(maxsize=None)
def watched_kind(kind):
    """The watched kind of a kind of session."""
    return type("Watched" + kind.__name__, (_Watched, kind), {})
