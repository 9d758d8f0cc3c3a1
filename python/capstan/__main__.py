"""The command `capstan` of a wheel: hands over to the program that lies in the package."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "capstan")
    if not os.path.exists(program):
        sys.exit("capstan: no program in this package; in the repository run ./capstan instead")
    os.execv(program, ["capstan", *sys.argv[1:]])


if __name__ == "__main__":
    main()
