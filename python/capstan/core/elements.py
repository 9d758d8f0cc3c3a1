"""Tensor and Operation: Python's faces of a graph's elements. The extension makes the objects."""

from capstan import _capstan
from capstan.core import dtypes, graph_defs
from capstan.core.defaults import session_for
from capstan.core.public import public
from capstan.core.shapes import TensorShape


@public("Operation")
class Operation(_capstan.OperationBase):
    """A node of a graph. One object per node, so identity is equality."""

    @property
    def inputs(self):
        return _Inputs(self._inputs)

    @property
    def node_def(self):
        return graph_defs.node_def(self)

    @property
    def traceback(self):
        return [self._location] if self._location else []

    def get_attr(self, name):
        return graph_defs.attr_value(self._attr(name))

    def values(self):
        return tuple(self.outputs)

    def colocation_groups(self):
        groups = dict(self._attrs()).get("_class", ("list(string)", []))[1]
        own = [group for group in groups if group.startswith(b"loc:@")]
        return own or [b"loc:@" + self.name.encode()]

    def run(self, feed_dict=None, session=None):
        session_for(session, "run the operation").run(self, feed_dict)

    def _set_attr(self, name, value):
        self.graph._set_attr(self, name, value)

    def _set_device(self, device):
        self.graph._set_device(self, device or "")

    def _add_control_input(self, op):
        self.graph._add_control_input(self, op)

    def _add_control_inputs(self, ops):
        for op in ops:
            self.graph._add_control_input(self, op)

    def __repr__(self):
        return "<tf.Operation '%s' type=%s>" % (self.name, self.type)

    def __str__(self):
        return str(self.node_def)


class _Inputs(tuple):
    """The inputs of an operation, with the types that old programs ask of the list itself."""

    @property
    def types(self):
        return [tensor.dtype for tensor in self]


@public("Tensor")
class Tensor(_capstan.TensorBase):
    """An output of an operation. Operators are attached by math_ops."""

    # Numpy must leave `array * tensor` to us.
    __array_priority__ = 100

    @property
    def dtype(self):
        return dtypes.from_number(self._dtype_number)

    @property
    def shape(self):
        return TensorShape(self._dims)

    def get_shape(self):
        return TensorShape(self._dims)

    def set_shape(self, shape):
        self._merge_shape(TensorShape(shape)._dims)

    @property
    def _shape(self):
        return TensorShape(self._dims)

    def eval(self, feed_dict=None, session=None):
        return session_for(session, "evaluate the tensor").run(self, feed_dict)

    def _as_graph_element(self):
        return self

    def __len__(self):
        raise TypeError(
            "len is not well defined for a symbolic Tensor (%s). Please call `x.shape` rather than "
            "`len(x)` for shape information." % self.name
        )

    def __iter__(self):
        raise TypeError(
            "Tensor %s cannot be iterated over while the graph is built; use tf.unstack" % self.name
        )

    def __bool__(self):
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed (%s). Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and tf.cond to choose by the value "
            "of a tensor." % self.name
        )

    def __array__(self, *unused):
        raise NotImplementedError(
            "Cannot convert a symbolic Tensor (%s) to a numpy array: run it in a session"
            % self.name
        )

    def __copy__(self):
        return self

    def __repr__(self):
        return "<tf.Tensor '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)

    def __str__(self):
        shape = ", shape=%s" % self.shape if self.shape.ndims is not None else ""
        return 'Tensor("%s"%s, dtype=%s)' % (self.name, shape, self.dtype.name)
