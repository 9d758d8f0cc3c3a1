"""tf.train.ExponentialMovingAverage: shadows of variables that follow them slowly."""

from capstan import _capstan
from capstan.core import convert
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys, name_scope
from capstan.core.public import public
from capstan.ops import array_ops, control_ops, math_ops, variables
from capstan.ops.variable_scope import get_variable_scope
from capstan.ops.variables import Variable


@public("train.ExponentialMovingAverage", differs="no `zero_debias`")
class ExponentialMovingAverage:
    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        if zero_debias:
            raise NotImplementedError("ExponentialMovingAverage(zero_debias=True)")
        self._decay, self._num_updates, self._name = decay, num_updates, name
        self._averages = {}  # {reference or tensor: Variable}

    name = property(lambda self: self._name)

    @staticmethod
    def _key(var):
        return var._variable if isinstance(var, Variable) else var

    def apply(self, var_list=None):
        """An operation that moves each average towards its variable; the averages are made here."""
        var_list = variables.trainable_variables() if var_list is None else var_list
        for var in var_list:
            if not var.dtype.is_floating:
                raise TypeError("The variables must be half, float, or double: %s" % var.name)
            if self._key(var) in self._averages:
                raise ValueError("Moving average already computed for: %s" % var.name)
            self._averages[self._key(var)] = self._make(var)
            if isinstance(var, Variable):
                graphs.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
        with name_scope(self._name) as scope:
            decay = self._current_decay()
            updates = [self._update(self._averages[self._key(var)], var, decay) for var in var_list]
            return control_ops.group(*updates, name=scope)

    def _make(self, var):
        with graphs.init_scope():
            if isinstance(var, Variable):
                parts = _capstan.make_slot(
                    var.graph, var, self._name, var.initialized_value, get_variable_scope().name
                )
                made = Variable._from_parts(parts)
                graphs.add_to_collection(GraphKeys.GLOBAL_VARIABLES, made)
                return made
            with graphs.colocate_with(var.op), name_scope(None):
                return Variable(
                    lambda: array_ops.zeros(var.shape, var.dtype.base_dtype),
                    trainable=False,
                    name=var.op.name + "/" + self._name,
                )

    def _current_decay(self):
        decay = convert.convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        updates = math_ops.cast(self._num_updates, decay.dtype, name="num_updates")
        return _capstan.build("early_decay", decay, updates)

    @staticmethod
    def _update(average, var, decay):
        with name_scope(None, "AssignMovingAvg") as scope:
            value = convert.convert_to_tensor(var)
            return _capstan.build("update_moving_average", average, value, decay, scope)

    def average(self, var):
        return self._averages.get(self._key(var))

    def average_name(self, var):
        found = self.average(var)
        return found.op.name if found is not None else "%s/%s" % (var.op.name, self._name)

    def variables_to_restore(self, moving_avg_variables=None):
        """{name in a checkpoint: variable}, averages standing for what they follow."""
        moved = moving_avg_variables
        if moved is None:
            moved = variables.trainable_variables() + variables.moving_average_variables()
        named = {self.average_name(v): v for v in moved}
        known = {v.op.name for v in moved}
        for var in variables.global_variables():
            if var.op.name not in known and var.op.name not in named:
                named[var.op.name] = var
        return named
