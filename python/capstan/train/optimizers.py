"""tf.train.Optimizer and its kin. The steps of ours are the engine's, which has a row for each; a
subclass that overrides one of them, or an optimizer that a program writes, is called by the engine
through the same interface.
"""

import ast

from capstan import _capstan
from capstan.core import convert, row_text
from capstan.core import graph as graphs
from capstan.core.elements import Tensor
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.ops import array_ops, control_ops
from capstan.ops.variable_scope import get_variable_scope
from capstan.ops.variables import Variable, trainable_variables
from capstan.session import steps


@public("train.Optimizer", differs="dense gradients only")
class Optimizer:
    """Subclasses override _apply_dense, and if need be _create_slots, _prepare, _finish."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots = {}  # {kind: {reference tensor: Variable}}
        self._made = []
        self._given_variables = {}
        self._graph = None
        self._engine_object = None

    def get_name(self):
        return self._name

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if not any(gradient is not None for gradient, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                "gradients, between variables %s and loss %s."
                % ([str(v) for _, v in grads_and_vars], loss)
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        if callable(loss):
            loss = loss()
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                "Optimizer.GATE_GRAPH. Not %s" % (gate_gradients,)
            )
        variables = _flat(trainable_variables() if var_list is None else var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        steps.minimized(loss)
        gradients = _capstan.compute_gradients(
            loss.graph,
            convert.convert_to_tensor(loss),
            variables,
            grad_loss,
            gate_gradients,
            aggregation_method or 0,
            bool(colocate_gradients_with_ops),
        )
        return list(zip(gradients, variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = [(_checked_gradient(g, v), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        if not any(g is not None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable: %s." % ([str(v) for _, v in pairs],)
            )
        self._given_variables.update((v._variable, v) for _, v in pairs)
        self._graph = pairs[0][1].graph
        with self._graph.as_default():
            self._engine().set_slot_scope(get_variable_scope().name)
            op = _capstan.apply_gradients(
                self._graph,
                self._engine(),
                [g for g, _ in pairs],
                [v for _, v in pairs],
                global_step,
                name or "",
            )
            self._adopt()
        train_ops = self._graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if op not in train_ops:
            train_ops.append(op)
        if global_step is not None:
            steps.counted(op, global_step)
        return op

    # --- The engine's side ------------------------------------------------------------------------

    def _engine(self):
        if self._engine_object is None:
            self._engine_object = _capstan.PythonOptimizer(
                self, self._name, bool(self._use_locking)
            )
        return self._engine_object

    def _adopt(self):
        """Slots that the engine made join the collection of variables."""
        for parts in self._engine().variables_from(self._graph, len(self._made)):
            variable = Variable._from_parts(parts)
            self._made.append(variable)
            graphs.add_to_collection(GraphKeys.GLOBAL_VARIABLES, variable)

    def _variable_of(self, reference):
        """The program's own object for a variable, found by its reference."""
        return self._given_variables[reference]

    def _apply_dense_node(self, gradient, variable):
        made = self._apply_dense(gradient, variable)
        return made.op if isinstance(made, Tensor) else made

    # --- Steps of a subclass ----------------------------------------------------------------------

    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _apply_dense(self, grad, var):
        raise NotImplementedError("%s does not say how a gradient is applied" % type(self).__name__)

    def _apply_sparse(self, grad, var):
        raise NotImplementedError(
            "%s does not say how a sparse gradient is applied" % type(self).__name__
        )

    def _finish(self, update_ops, name_scope):
        return control_ops.group(*update_ops, name=name_scope)

    def _call_if_callable(self, param):
        return param() if callable(param) else param

    # --- Slots ------------------------------------------------------------------------------------

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _make_slot(self, var, value, slot_name, op_name):
        named = self._slot_dict(slot_name)
        if var._variable not in named:
            parts = _capstan.make_slot(var.graph, var, op_name, value, get_variable_scope().name)
            named[var._variable] = Variable._from_parts(parts)
            graphs.add_to_collection(GraphKeys.GLOBAL_VARIABLES, named[var._variable])
        return named[var._variable]

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        return self._make_slot(
            var, lambda: convert.convert_to_tensor(val, name="initial_value"), slot_name, op_name
        )

    def _get_or_make_slot_with_initializer(
        self, var, initializer, shape, dtype, slot_name, op_name
    ):
        return self._make_slot(var, lambda: initializer(shape, dtype=dtype), slot_name, op_name)

    def _zeros_slot(self, var, slot_name, op_name):
        return self._make_slot(
            var, lambda: array_ops.zeros(var.shape, var.dtype.base_dtype), slot_name, op_name
        )

    def get_slot(self, var, name):
        found = self._slots.get(name, {}).get(var._variable)
        if found is not None:
            return found
        if self._graph is None:
            return None
        reference = self._engine().slot_reference(self._graph, name, var)
        return next((v for v in self._made if v._variable is reference), None)

    def get_slot_names(self):
        return sorted(set(self._slots) | set(self._engine().slot_names()))

    def variables(self):
        own = [v for named in self._slots.values() for v in named.values()]
        return sorted(own + self._made, key=lambda v: v.name)


def _flat(var_list):
    out = []
    for item in var_list if isinstance(var_list, (list, tuple)) else [var_list]:
        if hasattr(item, "_get_variable_list"):
            out.extend(item._get_variable_list())
        elif isinstance(item, (list, tuple)):
            out.extend(_flat(item))
        elif isinstance(item, Variable):
            out.append(item)
        else:
            raise TypeError("Argument is not a tf.Variable: %s" % (item,))
    return out


def _checked_gradient(gradient, variable):
    if gradient is None or isinstance(gradient, Tensor):
        return gradient
    if hasattr(gradient, "indices"):
        raise NotImplementedError(
            "the gradient of %s holds single rows (IndexedSlices): the engine applies "
            "dense gradients only" % variable.name
        )
    return convert.convert_to_tensor(gradient)


_STEPS = ("_create_slots", "_prepare", "_apply_dense", "_finish")


class _Ours(Optimizer):
    """An optimizer of the engine: a row of src/build, from which its class is made. Its steps can be
    overridden one by one."""

    _row, _settings = None, ()

    def _start(self, use_locking, name, **settings):
        super().__init__(use_locking, name)
        for setting in self._settings:
            if setting.name in settings:
                setting.check(settings[setting.name])
                setattr(self, setting.attribute, settings[setting.name])

    def _builtin(self):
        if not hasattr(self, "_builtin_object"):
            given = [setting.taken(self) for setting in self._settings]
            self._builtin_object = _capstan.make_optimizer(self._row, given)
        return self._builtin_object

    def _engine(self):
        if self._engine_object is None:
            overridden = any(
                getattr(type(self), step) is not getattr(_Ours, step) for step in _STEPS
            )
            self._engine_object = super()._engine() if overridden else self._builtin()
        return self._engine_object

    def _create_slots(self, var_list):
        self._builtin().create_slots(self._graph, var_list)

    def _prepare(self):
        self._builtin().prepare(self._graph)

    def _apply_dense(self, grad, var):
        return self._builtin().apply_dense(self._graph, grad, var)

    def _finish(self, update_ops, name_scope):
        return self._builtin().finish(self._graph, update_ops, name_scope)


class _Setting:
    """A parameter of an optimizer's constructor, as its row declares it."""

    def __init__(self, name, how, default):
        self.name, self.how, self.has_default = name, how, bool(default)
        self.default = ast.literal_eval(default) if default else None
        self.attribute = "_" + (how[len("kept as ") :] if how.startswith("kept as ") else name)

    def check(self, value):
        if self.how == "positive" and value <= 0.0:
            raise ValueError("%s must be positive: %s" % (self.name, value))

    def taken(self, optimizer):
        """What the engine gets."""
        value = optimizer._call_if_callable(getattr(optimizer, self.attribute))
        if isinstance(self.default, (bool, str)):
            return type(self.default)(value)
        return convert.convert_to_tensor(value) if convert.is_tensor(value) else float(value)


def _class_of(row, name, parameters, doc):
    """The class of a row, whose constructor has TensorFlow's parameters and defaults."""
    settings = [_Setting(*declared) for declared in parameters]
    declared = ", ".join(
        "%s=_defaults[%r]" % (s.name, s.name) if s.has_default else s.name for s in settings
    )
    passed = ", ".join("%s=%s" % (s.name, s.name) for s in settings)
    code = "def __init__(self, %s):\n    self._start(%s)\n" % (declared, passed)
    scope = {"_defaults": {s.name: s.default for s in settings}, "__name__": __name__}
    exec(compile(code, "<row of %s>" % name, "exec"), scope)  # noqa: S102
    scope["__init__"].__qualname__ = name + ".__init__"
    body = {"__init__": scope["__init__"], "__doc__": doc, "__module__": __name__}
    return type(name, (_Ours,), {**body, "_row": row, "_settings": settings})


def __getattr__(name):
    """The class of an optimizer that is a row, made when it is first asked for."""
    for row, (python, doc) in _capstan.optimizer_classes().items():
        names = [full.rpartition(".")[2] for full in row_text.names_of(python)]
        if name in names:
            made = _class_of(row, names[0], row_text.parameters_of(python), doc)
            # One class under all its names; another thread may have made it meanwhile.
            return globals().setdefault(names[0], made)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
