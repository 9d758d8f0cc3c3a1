"""Graphs, the stack of default graphs, and the blocks that name, place and order new nodes."""

import contextlib

import capstan
from capstan import _capstan
from capstan.core import protos
from capstan.core.defaults import Stack
from capstan.core.elements import Operation, Tensor
from capstan.core.public import public


@public("GraphKeys")
class GraphKeys:
    """Names of the collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


@public("Graph")
class Graph(_capstan.GraphBase):
    """A graph under construction. Names, scopes and placement are the engine's; collections and the
    Python objects in them are kept here."""

    building_function = False

    def _nothing():
        pass

    # Called before a graph is made: who stands above gives tensors their operators there.
    before_first = staticmethod(_nothing)

    def __init__(self):
        Graph.before_first()
        super().__init__(Operation, Tensor)
        self._locate(capstan.OUR_FOLDERS)
        self._collections = {}
        self._unfeedable = set()
        self._unfetchable = set()
        # What belongs to a graph but is kept by other modules: variable scopes, caches of layers.
        self._kept = {}

    def kept(self, key, make):
        """The value under `key`, made when it is first asked for."""
        if key not in self._kept:
            self._kept.setdefault(key, make())  # another thread may have been first
        return self._kept[key]

    # --- Nodes ----------------------------------------------------------------------------------

    def create_op(
        self,
        op_type,
        inputs,
        dtypes=None,
        input_types=None,
        name=None,
        attrs=None,
        op_def=None,
        compute_shapes=True,
        compute_device=True,
    ):
        plain = {key: _plain_attr(value) for key, value in (attrs or {}).items()}
        return self._create_op(op_type, list(inputs), plain, name or op_type)

    def get_operations(self):
        return self._operations_from(0)

    def get_operation_by_name(self, name):
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError("Tensor names are strings (or similar), not %s." % type(name).__name__)
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        if hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if not isinstance(obj, (Tensor, Operation)):
            raise TypeError(
                "Can not convert a %s into a %s."
                % (type(obj).__name__, _wanted(allow_tensor, allow_operation))
            )
        if obj.graph is not self:
            raise ValueError("%s is not an element of this graph." % obj)
        if not (allow_tensor if isinstance(obj, Tensor) else allow_operation):
            raise TypeError("%r is not a %s." % (obj, _wanted(allow_tensor, allow_operation)))
        return obj

    def _element_by_name(self, name, allow_tensor, allow_operation):
        if ":" in name and allow_tensor:
            return self._output(name)
        if ":" in name:
            raise ValueError("Name '%s' appears to refer to a Tensor, not a Operation." % name)
        if not allow_operation:
            raise ValueError(
                "The name '%s' refers to an Operation, not a Tensor. Tensor names must be of the "
                "form '<op_name>:<output_index>'." % name
            )
        op = self._find(name)
        if op is None:
            raise KeyError("The name '%s' refers to an Operation not in the graph." % name)
        return op

    _as_graph_element_locked = as_graph_element

    def as_graph_def(self, from_version=None, add_shapes=False):
        return protos.GraphDef.FromString(self._graph_def(0, add_shapes))

    def prevent_feeding(self, tensor):
        self._unfeedable.add(tensor)

    def prevent_fetching(self, op):
        self._unfetchable.add(op)

    def is_feedable(self, tensor):
        return tensor not in self._unfeedable

    def is_fetchable(self, tensor_or_op):
        return getattr(tensor_or_op, "op", tensor_or_op) not in self._unfetchable

    def _check_not_finalized(self):
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _last_id(self):
        return self._size()

    # --- Collections ----------------------------------------------------------------------------

    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        names = (names,) if isinstance(names, str) else set(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        import re

        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self):
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self):
        return list(self._collections)

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    # --- Blocks ---------------------------------------------------------------------------------

    def as_default(self):
        return _default_graphs.block(self)

    @contextlib.contextmanager
    def name_scope(self, name):
        with _closing(self._name_scope(name or "")):
            yield self._scope + "/" if self._scope else ""

    def get_name_scope(self):
        return self._scope

    def device(self, device_name_or_function):
        return _closing(self._device(_device_argument(device_name_or_function)))

    def colocate_with(self, op, ignore_existing=False):
        op = getattr(op, "op", op)
        return _closing(self._colocate_with(op, ignore_existing))

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return _closing(self._control_dependencies(None))
        return _closing(self._control_dependencies([_control_op(c, self) for c in control_inputs]))

    def container(self, container_name):
        return _closing(self._container(container_name))

    @contextlib.contextmanager
    def _attr_scope(self, attrs):
        with contextlib.ExitStack() as stack:
            for name, value in attrs.items():
                stack.enter_context(_closing(self._attr_scope_one(name, _plain_attr(value))))
            yield

    @contextlib.contextmanager
    def _nodes_made(self):
        """Yields a list that holds, at the end of the block, the nodes made within."""
        first, made = self._size(), []
        yield made
        made.extend(self._operations_from(first))

    @property
    def graph_def_versions(self):
        return protos.VersionDef(producer=24)


class _closing:
    """A block of the engine's state, left on exit."""

    __slots__ = ("_guard",)

    def __init__(self, guard):
        self._guard = guard

    def __enter__(self):
        return None

    def __exit__(self, *unused):
        self._guard.close()


def _wanted(allow_tensor, allow_operation):
    names = [
        name
        for name, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation))
        if allowed
    ]
    return " or ".join(names)


def _plain_attr(value):
    """An AttrValue message as the plain value that the extension takes."""
    if not hasattr(value, "WhichOneof"):
        return value
    field = value.WhichOneof("value")
    content = getattr(value, field)
    if field != "list":
        return content
    for name in ("s", "i", "f", "b", "type", "shape"):
        if getattr(content, name):
            return list(getattr(content, name))
    return []


def _device_argument(device):
    if device is None or isinstance(device, (str, _capstan.DeviceSetter)):
        return device
    if hasattr(device, "to_string"):
        return device.to_string()
    if callable(device):
        return lambda op: _device_text(device(op))
    raise TypeError("a device is a string, a function or None, not %r" % (device,))


def _device_text(device):
    return device.to_string() if hasattr(device, "to_string") else device or ""


def _control_op(element, graph):
    """What a block of control dependencies waits for: an operation, a tensor, a variable."""
    if hasattr(element, "values") and hasattr(element, "indices"):
        return element.op
    if callable(element) and not hasattr(element, "_as_graph_element"):
        raise TypeError("control_dependencies takes operations and tensors, not functions")
    found = graph.as_graph_element(element)
    return found.op if isinstance(found, Tensor) else found


class _DefaultGraphs(Stack):
    """Below the stack of every thread lies a graph of that thread's own: one that other threads are to
    build on is handed to them, and entered there."""

    def __init__(self):
        super().__init__()
        self.lowest = None

    def get(self):
        top = self.top()
        if top is not None:
            return top
        if self.lowest is None:
            self.lowest = Graph()
        return self.lowest

    def reset(self):
        if self.items:
            raise AssertionError(
                "Do not use tf.reset_default_graph() to clear nested graphs. If you "
                "need a cleared graph, exit the nesting and create a new graph."
            )
        self.lowest = None


_default_graphs = _DefaultGraphs()


@public("get_default_graph")
def get_default_graph():
    return _default_graphs.get()


@public("reset_default_graph")
def reset_default_graph():
    _default_graphs.reset()


def _graph_of(values):
    """The graph that given inputs belong to, else the default one."""
    for value in values or ():
        if isinstance(value, (Tensor, Operation)):
            return value.graph
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return graph
    return get_default_graph()


@public("name_scope")
class name_scope:
    """tf.name_scope(name, default_name, values): a block whose nodes share a prefix."""

    def __init__(self, name=None, default_name=None, values=None):
        if not (name is None or isinstance(name, str)):
            raise TypeError("name for name_scope must be a string, not %r" % (name,))
        self._name = default_name if name is None else name
        self._values = values
        self._stack = None

    @property
    def name(self):
        return self._name

    def __enter__(self):
        graph = _graph_of(self._values)
        stack = contextlib.ExitStack()
        if graph is not get_default_graph():
            stack.enter_context(graph.as_default())
        scope = stack.enter_context(graph.name_scope(self._name))
        self._stack = stack
        return scope

    def __exit__(self, *exception):
        stack, self._stack = self._stack, None
        return stack.__exit__(*exception)


@public("op_scope")
def op_scope(values, name, default_name=None):
    return name_scope(name, default_name, values)


@public("device")
def device(device_name_or_function):
    return get_default_graph().device(device_name_or_function)


@public("colocate_with")
def colocate_with(op, ignore_existing=False):
    return get_default_graph().colocate_with(op, ignore_existing)


@public("control_dependencies")
def control_dependencies(control_inputs):
    return get_default_graph().control_dependencies(control_inputs)


@public("container")
def container(container_name):
    return get_default_graph().container(container_name)


@public("init_scope")
def init_scope():
    """Nodes of initialisation wait for nothing that the program happens to be waiting for."""
    return get_default_graph().control_dependencies(None)


@public("add_to_collection")
def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


@public("add_to_collections")
def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


@public("get_collection")
def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


@public("get_collection_ref")
def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


@public("set_random_seed", "random.set_random_seed")
def set_random_seed(seed):
    get_default_graph().seed = seed


@public("get_seed")
def get_seed(op_seed):
    return get_default_graph()._random_seeds(op_seed)


def prepend_name_scope(name, scope):
    return scope.rstrip("/") + "/" + name if scope else name


def strip_name_scope(name, scope):
    prefix = scope.rstrip("/") + "/"
    return name[len(prefix) :] if scope and name.startswith(prefix) else name


@public("executing_eagerly", differs="always False")
def executing_eagerly():
    return False


def executing_eagerly_outside_functions():
    return False
