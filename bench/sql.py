"""What job scripts cost: rows per second of the engine, beside DuckDB itself in the same run.

    ./capstan bench sql [--json] [--quick] [--check] [--only shards]
"""

import sys

from support import native, options


def body(given, report):
    native.add_lines(given, report, "sql_bench")


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
