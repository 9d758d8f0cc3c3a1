"""tensorflow.python.client.device_lib: the devices of this machine."""

from capstan.core import protos
from capstan.core.public import public


@public(
    "python.client.device_lib.list_local_devices", differs="the one device that there is: the CPU"
)
def list_local_devices(session_config=None):
    return [protos.DeviceAttributes(name="/device:CPU:0", device_type="CPU")]
