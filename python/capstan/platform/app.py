"""tf.app: runs a program's main with the command line parsed."""

import sys

from capstan.core.public import public_module
from capstan.platform import flags  # noqa: F401
from capstan.platform.flags import FLAGS

public_module("app", "python.platform.app")


def run(main=None, argv=None):
    """Calls main(argv without the flags) and ends the process with what it returns."""
    rest = (
        FLAGS._parse_flags(None if argv is None else argv[1:])
        if argv is not None
        else FLAGS.remaining()
    )
    program = (argv or sys.argv)[:1]
    main = main or sys.modules["__main__"].main
    sys.exit(main(list(program) + list(rest)))
