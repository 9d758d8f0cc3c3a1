"""tf.layers: layers made of variables and a few nodes; programs give them callables."""

from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.public import public
from capstan.core.shapes import TensorShape, dimension_value
from capstan.ops import array_ops, math_ops, nn_ops
from capstan.ops import variable_scope as vs
from capstan.ops.initializers import Zeros


class Layer:
    """A layer builds its variables at its first call, under a variable scope of its own."""

    def __init__(
        self,
        trainable=True,
        name=None,
        dtype=None,
        activity_regularizer=None,
        _scope=None,
        _reuse=None,
        input_shape=None,
        batch_input_shape=None,
        batch_size=None,
    ):
        self.trainable, self._given_name = trainable, name
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._scope_given, self._reuse = _scope, _reuse
        self._activity_regularizer = activity_regularizer
        self._scope = None
        self.built = False
        self.variables = []

    @property
    def name(self):
        return self._scope.name if self._scope is not None else self._given_name

    @property
    def trainable_variables(self):
        return self.variables if self.trainable else []

    trainable_weights = trainable_variables
    weights = property(lambda self: self.variables)

    def _base_name(self):
        name = type(self).__name__
        return "".join(
            "_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name)
        )

    def _open_scope(self):
        if self._scope is not None:
            return
        given = self._scope_given or self._given_name
        if given is not None and self._reuse:
            with vs.variable_scope(given) as scope:
                self._scope = scope
        else:
            with vs.variable_scope(given, default_name=self._base_name()) as scope:
                self._scope = scope

    def add_weight(
        self,
        name,
        shape,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=None,
        constraint=None,
        use_resource=None,
        synchronization=None,
        aggregation=None,
        partitioner=None,
    ):
        trainable = self.trainable if trainable is None else trainable and self.trainable
        variable = vs.get_variable(
            name,
            shape=shape,
            dtype=dtype or self._dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            constraint=constraint,
            partitioner=partitioner,
        )
        self.variables.append(variable)
        return variable

    add_variable = add_weight

    def build(self, input_shape):
        self.built = True

    def call(self, inputs):
        return inputs

    def __call__(self, inputs, *args, **kwargs):
        self._open_scope()
        inputs = convert.convert_to_tensor(inputs)
        self._dtype = self._dtype or inputs.dtype.base_dtype
        reuse = True if self.built or self._reuse is True else self._reuse
        with vs.variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False):
            with graphs.name_scope(self._scope.original_name_scope):
                if not self.built:
                    self.build(inputs.shape)
                    self.built = True
                outputs = self.call(inputs, *args, **kwargs)
        if self._activity_regularizer is not None:
            loss = self._activity_regularizer(outputs)
            graphs.add_to_collection(graphs.GraphKeys.REGULARIZATION_LOSSES, loss)
        return outputs

    apply = __call__


@public("layers.Dense")
class Dense(Layer):
    """activation(inputs * kernel + bias)."""

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=None,
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self._kernel = dict(
            initializer=kernel_initializer,
            regularizer=kernel_regularizer,
            constraint=kernel_constraint,
        )
        self._bias = dict(
            initializer=Zeros() if bias_initializer is None else bias_initializer,
            regularizer=bias_regularizer,
            constraint=bias_constraint,
        )
        self.kernel = self.bias = None

    def build(self, input_shape):
        last = dimension_value(TensorShape(input_shape)[-1])
        if last is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.kernel = self.add_weight("kernel", [last, self.units], **self._kernel)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], **self._bias)
        super().build(input_shape)

    def call(self, inputs):
        if inputs.shape.ndims is not None and inputs.shape.ndims > 2:
            outputs = self._along_last_axis(inputs)
        else:
            outputs = math_ops.matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = nn_ops.bias_add(outputs, self.bias)
        return self.activation(outputs) if self.activation is not None else outputs

    def _along_last_axis(self, inputs):
        dims = inputs.shape.as_list()
        flat = math_ops.matmul(array_ops.reshape(inputs, [-1, dims[-1]]), self.kernel)
        unknown = [dim is None for dim in dims[:-1]]
        if sum(unknown) <= 1:
            shape = [-1 if dim is None else dim for dim in dims[:-1]] + [self.units]
        else:
            shape = array_ops.concat([array_ops.shape(inputs)[:-1], [self.units]], 0)
        outputs = array_ops.reshape(flat, shape)
        outputs.set_shape(dims[:-1] + [self.units])
        return outputs


@public("layers.dense")
def dense(
    inputs,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=None,
    kernel_regularizer=None,
    bias_regularizer=None,
    activity_regularizer=None,
    kernel_constraint=None,
    bias_constraint=None,
    trainable=True,
    name=None,
    reuse=None,
):
    layer = Dense(
        units,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


class Flatten(Layer):
    def call(self, inputs):
        dims = inputs.shape.as_list()
        if None not in dims[1:]:
            size = 1
            for dim in dims[1:]:
                size *= dim
            return array_ops.reshape(inputs, [-1, size])
        return array_ops.reshape(inputs, [array_ops.shape(inputs)[0], -1])


@public("layers.flatten", "contrib.layers.flatten", differs="`channels_last` only")
def flatten(inputs, name=None, data_format="channels_last"):
    if data_format != "channels_last":
        raise NotImplementedError("flatten(data_format=%r): only channels_last" % data_format)
    return Flatten(name=name)(inputs)


class Dropout(Layer):
    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=False):
        if convert.is_tensor(training):
            keep = 1.0 - math_ops.cast(training, inputs.dtype) * self.rate
            return nn_ops.dropout(
                inputs, keep_prob=keep, noise_shape=self.noise_shape, seed=self.seed
            )
        if not training:
            return array_ops.identity(inputs)
        return nn_ops.dropout(inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed)


@public("layers.dropout")
def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)
