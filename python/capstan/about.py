"""What programs ask of TensorFlow's version: the last of the 1.x line, whose API this is."""

__version__ = VERSION = "1.15.5"
__git_version__ = GIT_VERSION = "capstan"
__compiler_version__ = COMPILER_VERSION = "g++"
GRAPH_DEF_VERSION = 134
