"""tf.get_variable and tf.variable_scope: variables found again by name."""

import contextlib
import enum
import threading

from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
from capstan.core.public import public, public_values
from capstan.core.shapes import TensorShape
from capstan.ops import initializers
from capstan.ops.variables import Variable, VariableAggregation, VariableSynchronization

public_values(
    AUTO_REUSE="AUTO_REUSE",
)


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


@public("no_regularizer")
def no_regularizer(_):
    return None


class _Scopes(threading.local):
    """The scope of a graph that a thread is in, and how often it opened each."""

    def __init__(self):
        super().__init__()
        self.scope_counts = {}
        self.current = VariableScope(False)

    def open_scope(self, name):
        self.scope_counts[name] = self.scope_counts.get(name, 0) + 1

    def close_below(self, name):
        for key in self.scope_counts:
            if not name or key.startswith(name + "/"):
                self.scope_counts[key] = 0


def _scopes():
    return graphs.get_default_graph().kept("variable_scopes", _Scopes)


def _variables():
    """{name: variable} of those that get_variable made, by any thread."""
    return graphs.get_default_graph().kept("variables", dict)


@public("VariableScope")
class VariableScope:
    """What get_variable takes from its surroundings."""

    def __init__(
        self,
        reuse,
        name="",
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        name_scope="",
        dtype=dtypes.float32,
        use_resource=None,
        constraint=None,
    ):
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer = initializer, regularizer
        self._caching_device, self._partitioner = caching_device, partitioner
        self._custom_getter, self._dtype, self._constraint = custom_getter, dtype, constraint
        self._use_resource = use_resource

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    dtype = property(lambda self: self._dtype)
    constraint = property(lambda self: self._constraint)
    use_resource = property(lambda self: self._use_resource)

    def reuse_variables(self):
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_dtype(self, dtype):
        self._dtype = dtypes.as_dtype(dtype)

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def get_collection(self, name):
        return graphs.get_collection(name, self._name + "/" if self._name else None)

    def trainable_variables(self):
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def get_variable(
        self,
        name,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        partitioner=None,
        validate_shape=True,
        use_resource=None,
        custom_getter=None,
        constraint=None,
        synchronization=None,
        aggregation=None,
    ):
        full_name = self._name + "/" + name if self._name else name
        if dtype is not None and initializer is not None and not callable(initializer):
            _check_type(full_name, initializer, dtypes.as_dtype(dtype).base_dtype)
        request = dict(
            name=full_name,
            shape=shape,
            dtype=self._dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype,
            initializer=self._initializer if initializer is None else initializer,
            regularizer=self._regularizer if regularizer is None else regularizer,
            reuse=self._reuse if reuse is None else reuse,
            trainable=True if trainable is None else trainable,
            collections=collections,
            caching_device=self._caching_device if caching_device is None else caching_device,
            partitioner=self._partitioner if partitioner is None else partitioner,
            validate_shape=validate_shape,
            constraint=self._constraint if constraint is None else constraint,
        )
        getter = custom_getter or self._custom_getter
        # A name scope says nothing about variables: only variable scopes do.
        with graphs.name_scope(None):
            if getter is None:
                return _get(**request)
            request["use_resource"] = use_resource
            return getter(_plain_getter, **request)


# What a custom getter may pass on by position, as TensorFlow has it.
_GETTER_ORDER = (
    "name shape dtype initializer regularizer reuse trainable collections caching_device partitioner "
    "validate_shape use_resource constraint".split()
)


def _plain_getter(*args, **kwargs):
    request = dict.fromkeys(_GETTER_ORDER)
    request.update(dtype=dtypes.float32, trainable=True, validate_shape=True)
    request.update(zip(_GETTER_ORDER, args))
    request.update(kwargs)
    return _get(**request)


def _get(
    name,
    shape,
    dtype,
    initializer,
    regularizer,
    reuse,
    trainable,
    collections,
    caching_device,
    partitioner,
    validate_shape,
    constraint,
    use_resource=None,
    synchronization=None,
    aggregation=None,
):
    """The variable of this name, made when it is new; as `reuse` allows."""
    variables = _variables()
    if name in variables:
        return _found(variables[name], name, shape, dtype, reuse)
    if reuse is True:
        raise ValueError(
            "Variable %s does not exist, or was not created with tf.get_variable(). Did "
            "you mean to set reuse=tf.AUTO_REUSE in VarScope?" % name
        )
    if partitioner is not None:
        raise NotImplementedError(
            "variable %s asks for a partitioner, and variables in parts do not exist here yet: leave "
            "the partitioner out" % name
        )
    variable = _make(
        name,
        shape,
        dtype,
        initializer,
        trainable,
        collections,
        caching_device,
        validate_shape,
        constraint,
    )
    variables[name] = variable
    if regularizer is not None and regularizer is not no_regularizer:
        _regularize(variable, regularizer, name)
    return variable


def _found(variable, name, shape, dtype, reuse):
    if reuse is False:
        where = variable.op._location
        raise ValueError(
            "Variable %s already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope?%s"
            % (name, " Originally defined at %s" % where if where else "")
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(variable.get_shape()):
        raise ValueError(
            "Trying to share variable %s, but specified shape %s and found shape %s."
            % (name, TensorShape(shape), variable.get_shape())
        )
    if not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            "Trying to share variable %s, but specified dtype %s and found dtype %s."
            % (name, dtype.name, variable.dtype.name)
        )
    return variable


def _default_initializer(dtype):
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype is dtypes.bool or dtype is dtypes.string:
        return initializers.Zeros()
    raise ValueError("An initializer is needed for a variable of type %s" % dtype.name)


def initial_value_of(initializer, shape, dtype, name, partition_info=None):
    """What tf.Variable takes: a function for initializers, the tensor itself for values."""
    if initializer is None:
        initializer = _default_initializer(dtype)
    if not callable(initializer):
        return initializer, None
    shape = TensorShape(shape)
    if not shape.is_fully_defined():
        raise ValueError(
            "Shape of a new variable (%s) must be fully defined, but instead was %s."
            % (name, shape)
        )
    if isinstance(initializer, type):
        initializer = initializer(dtype=dtype)
    if partition_info is not None:
        return (
            lambda: initializer(shape.as_list(), dtype=dtype, partition_info=partition_info)
        ), dtype
    return (lambda: _call_initializer(initializer, shape.as_list(), dtype)), dtype


def _call_initializer(initializer, shape, dtype):
    """Functions that programs write may take only the shape."""
    import inspect

    try:
        takes = inspect.signature(initializer).parameters
    except (TypeError, ValueError):
        takes = {"dtype": None}
    named = "dtype" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    if not takes:
        return initializer()
    return initializer(shape, dtype=dtype) if named else initializer(shape)


def _make(
    name,
    shape,
    dtype,
    initializer,
    trainable,
    collections,
    caching_device,
    validate_shape,
    constraint,
):
    if initializer is not None and not callable(initializer) and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if callable(initializer) and shape is None and not _takes_arguments(initializer):
        initializer = initializer()  # a value that is made where it is needed
    if shape is None and (initializer is None or callable(initializer)):
        raise ValueError(
            "Shape of a new variable (%s) must be fully defined, but instead was %s."
            % (name, TensorShape(shape))
        )
    with graphs.init_scope():
        value, dtype = initial_value_of(initializer, shape, dtype, name)
    return Variable(
        value,
        name=name,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        dtype=dtype,
        validate_shape=validate_shape,
        constraint=constraint,
    )


def _takes_arguments(function):
    import inspect

    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True


def _check_type(name, value, dtype):
    held = value if convert.is_tensor(value) else convert.to_array(value)
    own = dtypes.as_dtype(held.dtype).base_dtype
    if own is not dtype:
        raise ValueError(
            "Initializer type '%s' and explicit dtype '%s' don't match (variable %s)."
            % (own.name, dtype.name, name)
        )


def _regularize(variable, regularizer, name):
    with graphs.colocate_with(variable.op):
        with graphs.name_scope(name + "/Regularizer/"):
            loss = regularizer(variable)
    if loss is not None:
        graphs.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


@public("get_variable_scope")
def get_variable_scope():
    return _scopes().current


@public("get_variable", differs="no `partitioner`: variables are not cut into parts yet")
def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    return get_variable_scope().get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        None,
        trainable,
        collections,
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
    )


@public("get_local_variable")
def get_local_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=False,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    """Neither trained nor saved, whatever `trainable` says."""
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [GraphKeys.LOCAL_VARIABLES] + [key for key in collections or ()],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
    )


def _unique_scope_name(prefix):
    scopes = _scopes()
    name = scopes.current.name + "/" + prefix if scopes.current.name else prefix
    if not scopes.scope_counts.get(name):
        return prefix
    number = 1
    while scopes.scope_counts.get("%s_%d" % (name, number)):
        number += 1
    return "%s_%d" % (prefix, number)


@public("variable_scope", differs="no `partitioner`: variables are not cut into parts yet")
class variable_scope:
    """A block whose variables share a prefix, an initializer, a partitioner."""

    def __init__(
        self,
        name_or_scope,
        default_name=None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ):
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            reuse = None
        if reuse not in (None, True, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._name_or_scope, self._default_name, self._values = name_or_scope, default_name, values
        self._reuse, self._auxiliary = reuse, auxiliary_name_scope
        self._given = dict(
            initializer=initializer,
            regularizer=regularizer,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            constraint=constraint,
            use_resource=use_resource,
            dtype=None if dtype is None else dtypes.as_dtype(dtype),
        )
        self._stack = None

    def __enter__(self):
        graph = graphs._graph_of(self._values)
        with contextlib.ExitStack() as stack:
            if graph is not graphs.get_default_graph():
                stack.enter_context(graph.as_default())
            scope = self._open(stack)
            self._stack = stack.pop_all()
        return scope

    def __exit__(self, *exception):
        stack, self._stack = self._stack, None
        return stack.__exit__(*exception)

    def _open(self, stack):
        scopes = _scopes()
        outer = scopes.current
        if isinstance(self._name_or_scope, VariableScope):
            scope = self._reopened(stack, outer)
        else:
            scope = self._named(stack, outer)
        stack.callback(self._leave, scopes, outer)
        scopes.current = scope
        return scope

    def _named(self, stack, outer):
        short = self._name_or_scope
        if short is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            short = _unique_scope_name(self._default_name)
        name = outer.name + "/" + short if outer.name else short
        names = self._enter_names(
            stack, self._default_name if self._name_or_scope is None else self._name_or_scope
        )
        _scopes().open_scope(name)
        self._prefix, self._counts = name, None
        return self._scope(outer, name, names, self._reuse or outer.reuse)

    def _reopened(self, stack, outer):
        scopes = _scopes()
        given = self._name_or_scope
        self._enter_names(stack, given.name.split("/")[-1] if given.name else "")
        scopes.open_scope(given.name)
        self._counts = dict(scopes.scope_counts)
        reuse = given.reuse if self._reuse is None else self._reuse
        return self._scope(given, given.name, given.original_name_scope, reuse or False)

    def _enter_names(self, stack, label):
        if not self._auxiliary or not label:
            current = graphs.get_default_graph()._scope
            return current + "/" if current else ""
        return stack.enter_context(graphs.name_scope(label))

    def _scope(self, base, name, names, reuse):
        chosen = {
            key: getattr(base, key) if value is None else value
            for key, value in self._given.items()
        }
        if self._given["custom_getter"] is not None and base.custom_getter is not None:
            chosen["custom_getter"] = _composed(self._given["custom_getter"], base.custom_getter)
        if reuse is None:
            reuse = False
        return VariableScope(reuse, name, name_scope=names, **chosen)

    def _leave(self, scopes, outer):
        if self._counts is None:
            scopes.close_below(self._prefix)
        else:
            scopes.scope_counts = self._counts
        scopes.current = outer


def _composed(inner, outer):
    def getter(base, *args, **kwargs):
        return inner(lambda *a, **k: outer(base, *a, **k), *args, **kwargs)

    return getter


@public("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values,
    name_or_scope,
    default_name=None,
    initializer=None,
    regularizer=None,
    caching_device=None,
    partitioner=None,
    custom_getter=None,
    reuse=None,
    dtype=None,
    use_resource=None,
    constraint=None,
):
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope
