"""Initial values of variables: objects that programs call, configure and subclass."""

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.public import public
from capstan.ops import array_ops, composites, random_ops


class Initializer:
    """Called with a shape, returns the tensor that a variable starts from."""

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class _Typed(Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype).base_dtype

    def get_config(self):
        config = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        return dict(config, dtype=self.dtype.name)

    def _type(self, dtype):
        return self.dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype


@public("zeros_initializer", "initializers.zeros")
class Zeros(_Typed):
    def __call__(self, shape, dtype=None, partition_info=None):
        return array_ops.zeros(shape, self._type(dtype))


@public("ones_initializer", "initializers.ones")
class Ones(_Typed):
    def __call__(self, shape, dtype=None, partition_info=None):
        return array_ops.ones(shape, self._type(dtype))


@public("constant_initializer", "initializers.constant")
class Constant(_Typed):
    def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
        super().__init__(dtype)
        self.value, self._verify_shape = value, verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        verify = self._verify_shape if verify_shape is None else verify_shape
        return convert.constant(
            self.value, dtype=self._type(dtype), shape=shape, verify_shape=verify
        )


@public("random_normal_initializer", "initializers.random_normal")
class RandomNormal(_Typed):
    _draws = "random_normal"

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        super().__init__(dtype)
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape, dtype=None, partition_info=None):
        draw = composites.function_called(self._draws)
        return draw(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


@public("truncated_normal_initializer", "initializers.truncated_normal")
class TruncatedNormal(RandomNormal):
    _draws = "truncated_normal"


@public("random_uniform_initializer", "initializers.random_uniform")
class RandomUniform(_Typed):
    def __init__(self, minval=0.0, maxval=None, seed=None, dtype=dtypes.float32):
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._type(dtype)
        return random_ops.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


@public("variance_scaling_initializer", "initializers.variance_scaling")
class VarianceScaling(_Typed):
    """Numbers whose variance is scale / n, n being a count of inputs, outputs, or their mean."""

    def __init__(
        self,
        scale=1.0,
        mode="fan_in",
        distribution="truncated_normal",
        seed=None,
        dtype=dtypes.float32,
    ):
        super().__init__(dtype)
        if scale <= 0.0:
            raise ValueError("Argument `scale` must be a positive float. Received: %s" % scale)
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                "Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: %s"
                % mode
            )
        known = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if distribution.lower() not in known:
            raise ValueError(
                "Argument `distribution` should be one of %s. Received: %s" % (known, distribution)
            )
        self.scale, self.mode, self.seed = scale, mode, seed
        self.distribution = distribution.lower()

    def __call__(self, shape, dtype=None, partition_info=None):
        whole = shape if partition_info is None else partition_info.full_shape
        if not self._type(dtype).is_floating:
            raise ValueError("random initial values are fractions, not %s" % self._type(dtype).name)
        return _capstan.build(
            "variance_scaling",
            graphs.get_default_graph(),
            shape,
            self._type(dtype),
            self.scale,
            self.mode,
            self.distribution,
            self.seed,
            whole,
        )


class _Glorot(VarianceScaling):
    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


@public("glorot_uniform_initializer", "initializers.glorot_uniform")
class GlorotUniform(_Glorot):
    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@public("glorot_normal_initializer", "initializers.glorot_normal")
class GlorotNormal(_Glorot):
    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@public("contrib.layers.xavier_initializer")
def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    return (GlorotUniform if uniform else GlorotNormal)(seed=seed, dtype=dtype)


@public("contrib.layers.variance_scaling_initializer")
def contrib_variance_scaling_initializer(
    factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32
):
    distribution = "uniform" if uniform else "truncated_normal"
    return VarianceScaling(factor, mode.lower(), distribution, seed, dtype)
