"""tf.Variable: a VariableV2 node with its initial value, its initializer and its reading."""

import enum

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.apply import apply_op
from capstan.core.defaults import session_for
from capstan.core.elements import Tensor
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.ops import array_ops, control_ops, math_ops


@public("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    AUTO, NONE, ON_WRITE, ON_READ = 0, 1, 2, 3


@public("VariableAggregation")
class VariableAggregation(enum.Enum):
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = 0, 1, 2, 3


@public(
    "Variable",
    differs="no `constraint`, `variable_def` or `shape`: a variable is made from its initial value",
)
class Variable:
    """Read, it is the tensor "name/read:0"; written or fetched, the reference "name:0"."""

    # Numpy must leave `array * variable` to us.
    __array_priority__ = 100

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        use_resource=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
    ):
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if variable_def is not None or shape is not None:
            raise NotImplementedError(
                "Variable(%s=...): a variable is made from its initial value, and has its shape"
                % ("shape" if variable_def is None else "variable_def")
            )
        if constraint is not None:
            raise NotImplementedError(
                "Variable(constraint=...): optimizers here apply no constraint; assign what the "
                "function returns after each step, or clip in the model"
            )
        trainable = True if trainable is None else bool(trainable)
        self._trainable = trainable
        self._constraint = constraint
        self._save_slice_info = None
        self._make_nodes(initial_value, name, dtype, validate_shape)
        graphs.add_to_collections(_collections(collections, trainable), self)

    # --- Construction ---------------------------------------------------------------------------

    def _make_nodes(self, initial_value, name, dtype, validate_shape):
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        function = callable(initial_value)

        def start():
            value = initial_value() if function else initial_value
            value = convert.convert_to_tensor(value, dtype, name="initial_value")
            if validate_shape and not value.shape.is_fully_defined():
                raise ValueError("initial_value must have a shape specified: %r" % value)
            return value

        graph = graphs._graph_of([] if function else [initial_value])
        with graph.as_default():
            parts = _capstan.make_variable(
                graph, start, name or "Variable", validate_shape, function
            )
        self._take_parts(parts)

    def _take_parts(self, parts):
        self._variable, self._snapshot, self._initial_value, self._initializer_op = parts

    @classmethod
    def _from_parts(cls, parts, trainable=False):
        """A variable that the engine made: an optimizer's slot, the global step."""
        made = cls.__new__(cls)
        made._trainable, made._constraint, made._save_slice_info = trainable, None, None
        made._take_parts(parts)
        return made

    # --- What it is -----------------------------------------------------------------------------

    name = property(lambda self: self._variable.name)
    op = property(lambda self: self._variable.op)
    graph = property(lambda self: self._variable.graph)
    device = property(lambda self: self._variable.device)
    dtype = property(lambda self: self._variable.dtype)
    shape = property(lambda self: self._variable.shape)
    initializer = property(lambda self: self._initializer_op)
    initial_value = property(lambda self: self._initial_value)
    trainable = property(lambda self: self._trainable)
    constraint = property(lambda self: self._constraint)
    _shared_name = property(lambda self: self.name[: self.name.index(":")])

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self._variable.set_shape(shape)
        self.value().set_shape(shape)

    def _as_tensor(self, as_ref=False):
        return self._variable if as_ref else self._snapshot

    def _as_graph_element(self):
        return self._variable

    def _ref(self):
        return self._variable

    def _get_save_slice_info(self):
        return self._save_slice_info

    def _set_save_slice_info(self, info):
        self._save_slice_info = info

    def __repr__(self):
        return "<tf.Variable '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __bool__(self):
        return bool(self._snapshot)

    # --- Reading --------------------------------------------------------------------------------

    def value(self):
        return self._snapshot

    def read_value(self):
        return array_ops.identity(self._variable, name="read")

    def initialized_value(self):
        """The value, or what the variable will start from: others can start from it, too."""
        with graphs.control_dependencies(None):
            return apply_op("InitializedValue", ref=self._variable, otherwise=self._initial_value)

    def eval(self, session=None):
        return self._variable.eval(session=session)

    # --- Writing --------------------------------------------------------------------------------

    def assign(self, value, use_locking=False, name=None, read_value=True):
        return _op_or_value(
            apply_assign(self._variable, value, True, use_locking, name), read_value
        )

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return _op_or_value(assign_add(self._variable, delta, use_locking, name), read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return _op_or_value(assign_sub(self._variable, delta, use_locking, name), read_value)

    def count_up_to(self, limit):
        return apply_op("CountUpTo", ref=self._variable, limit=limit)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return apply_op(
            "ScatterSub",
            ref=self._variable,
            indices=sparse_delta.indices,
            updates=sparse_delta.values,
            use_locking=use_locking,
            name=name,
        )

    def load(self, value, session=None):
        session_for(session, "load a value").run(
            self.initializer, {self.initializer.inputs[1]: value}
        )

    class SaveSliceInfo:
        """Where a part lies in the whole of a partitioned variable."""

        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None):
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape

        @property
        def spec(self):
            whole = " ".join(str(dim) for dim in self.full_shape)
            parts = ":".join("%d,%d" % pair for pair in zip(self.var_offset, self.var_shape))
            return whole + " " + parts


math_ops.attach_operators(Variable)
Variable.__getitem__ = lambda self, keys: array_ops.getitem(self._snapshot, keys)


def _op_or_value(result, read_value):
    return result if read_value else result.op


def _collections(collections, trainable):
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. "
            "Got %s" % (collections,)
        )
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections = list(collections) + [GraphKeys.TRAINABLE_VARIABLES]
    return collections


# --- Assignments --------------------------------------------------------------------------------


def _reference(ref):
    if isinstance(ref, Tensor):
        return ref
    if hasattr(ref, "_ref"):
        return ref._ref()
    raise TypeError("%r cannot be assigned to: it is no variable" % (ref,))


def apply_assign(ref, value, validate_shape=None, use_locking=None, name=None):
    return apply_op(
        "Assign",
        ref=_reference(ref),
        value=value,
        name=name,
        validate_shape=True if validate_shape is None else bool(validate_shape),
        use_locking=True if use_locking is None else bool(use_locking),
    )


@public("assign")
def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    return apply_assign(ref, value, validate_shape, use_locking, name)


@public("assign_add")
def assign_add(ref, value, use_locking=None, name=None):
    return apply_op(
        "AssignAdd", ref=_reference(ref), value=value, use_locking=bool(use_locking), name=name
    )


@public("assign_sub")
def assign_sub(ref, value, use_locking=None, name=None):
    return apply_op(
        "AssignSub", ref=_reference(ref), value=value, use_locking=bool(use_locking), name=name
    )


# --- All of them --------------------------------------------------------------------------------


def _lister(key):
    def variables(scope=None):
        return graphs.get_collection(key, scope)

    return variables


global_variables = public("global_variables", "all_variables", "contrib.framework.get_variables")(
    _lister(GraphKeys.GLOBAL_VARIABLES)
)
local_variables = public("local_variables")(_lister(GraphKeys.LOCAL_VARIABLES))
trainable_variables = public("trainable_variables", "contrib.framework.get_trainable_variables")(
    _lister(GraphKeys.TRAINABLE_VARIABLES)
)
model_variables = public("model_variables")(_lister(GraphKeys.MODEL_VARIABLES))
moving_average_variables = public("moving_average_variables")(
    _lister(GraphKeys.MOVING_AVERAGE_VARIABLES)
)


@public("variables_initializer", "initialize_variables", "initializers.variables")
def variables_initializer(var_list, name="init"):
    if var_list:
        return control_ops.group(*[v.initializer for v in var_list], name=name)
    return control_ops.group(name=name)


@public("global_variables_initializer", "initialize_all_variables", "initializers.global_variables")
def global_variables_initializer():
    return variables_initializer(global_variables())


@public("local_variables_initializer", "initialize_local_variables", "initializers.local_variables")
def local_variables_initializer():
    return variables_initializer(local_variables())


@public("tables_initializer", "initialize_all_tables")
def tables_initializer(name="init_all_tables"):
    tables = graphs.get_collection(GraphKeys.TABLE_INITIALIZERS)
    return control_ops.group(*tables, name=name) if tables else control_ops.no_op(name=name)


@public("is_variable_initialized")
def is_variable_initialized(variable):
    return apply_op("IsVariableInitialized", ref=_reference(variable))


@public("report_uninitialized_variables")
def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of the variables that have no value yet."""
    graph = graphs.get_default_graph()
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        var_list = [
            op.outputs[0]
            for op in graph.get_operations()
            if op.type in ("Variable", "VariableV2", "AutoReloadVariable")
        ]
    return _capstan.report_uninitialized(graph, [_reference(v) for v in var_list], name)


@public("assert_variables_initialized")
def assert_variables_initialized(var_list=None):
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    return array_ops.stack([v._as_tensor() for v in var_list])
