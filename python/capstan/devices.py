"""tensorflow.python.client.device_lib: the devices of this machine."""

from capstan import protos


class DeviceAttributes(protos.Message):
    FIELDS = """
        1 string name
        2 string device_type
        4 int64 memory_limit
    """


def list_local_devices(session_config=None):
    return [DeviceAttributes(name="/device:CPU:0", device_type="CPU")]
