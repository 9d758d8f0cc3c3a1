"""tf.compat: text and bytes, and the switches between the ways of TensorFlow 1 and 2."""

from capstan.core.public import public


@public("compat.as_bytes")
def as_bytes(bytes_or_text, encoding="utf-8"):
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


@public("compat.as_text", "compat.as_str")
def as_text(bytes_or_text, encoding="utf-8"):
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


@public("compat.as_str_any")
def as_str_any(value, encoding="utf-8"):
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@public("compat.path_to_str")
def path_to_str(path):
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def _off(name):
    def switch():
        """What this switches off does not exist here."""

    switch.__name__ = name
    return switch


def _refuse(name, what):
    raise NotImplementedError(
        "tf.%s: Capstan runs programs that build graphs; %s does not exist here" % (name, what)
    )


def _on(name, what):
    def switch():
        _refuse(name, what)

    switch.__name__ = name
    return switch


disable_v2_behavior = public("disable_v2_behavior")(_off("disable_v2_behavior"))
disable_eager_execution = public("disable_eager_execution")(_off("disable_eager_execution"))
disable_resource_variables = public("disable_resource_variables")(
    _off("disable_resource_variables")
)
disable_v2_tensorshape = public("disable_v2_tensorshape")(_off("disable_v2_tensorshape"))
disable_control_flow_v2 = public("disable_control_flow_v2")(_off("disable_control_flow_v2"))
disable_tensor_equality = public("disable_tensor_equality")(_off("disable_tensor_equality"))
enable_v2_behavior = public("enable_v2_behavior")(
    _on("enable_v2_behavior", "TensorFlow 2's behaviour")
)
enable_resource_variables = public("enable_resource_variables")(
    _on("enable_resource_variables", "a resource variable")
)
enable_v2_tensorshape = public("enable_v2_tensorshape")(
    _on("enable_v2_tensorshape", "TensorFlow 2's TensorShape")
)
enable_control_flow_v2 = public("enable_control_flow_v2")(
    _on("enable_control_flow_v2", "TensorFlow 2's control flow")
)


@public("enable_eager_execution")
def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    _refuse("enable_eager_execution", "eager execution")
