"""Records TensorFlow's graphs of the programs: `python record_programs.py > golden/programs.json`.

Run with an interpreter that has TensorFlow 2.21 and tf-keras.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402


def main():
    json.dump({name: programs.graph_lines(sys.executable, name) for name in programs.PROGRAMS},
              sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
