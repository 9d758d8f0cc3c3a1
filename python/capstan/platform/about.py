"""What programs ask of TensorFlow's version: the last of the 1.x line, whose API this is."""

from capstan.core.public import public_values

public_values(
    __version__="__version__",
    __git_version__="__git_version__",
    VERSION="VERSION",
    GIT_VERSION="GIT_VERSION",
    COMPILER_VERSION="COMPILER_VERSION",
    __compiler_version__="__compiler_version__",
    GRAPH_DEF_VERSION="GRAPH_DEF_VERSION",
)

__version__ = VERSION = "1.15.5"
__git_version__ = GIT_VERSION = "capstan"
__compiler_version__ = COMPILER_VERSION = "g++"
GRAPH_DEF_VERSION = 134
