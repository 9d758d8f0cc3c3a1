"""Gets DuckDB's shared library: leaves libduckdb.so where every build of this clone looks for it.

It comes out of the wheel of the Python package `duckdb`, whose extension module exports DuckDB's C
interface. The module also needs symbols of a Python interpreter; they are made weak, so that it loads
in a program that has none (docs/decisions/0019). The wheel is pinned in requirements-duckdb.txt; a
library that is already there and of the right bytes is kept, and one in the user's cache is used.
"""

import argparse
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements-duckdb.txt")
FOLDER = Path(__file__).parent.parent / ".cache" / "capstan" / "duckdb"
# Of the library after weaken(): what a cache holds is checked by it.
LIBRARY_SHA256 = "a829b9b3f8df7ae58a1b2ad6dab97940edc3d24c322d1d8f00c8cde3be007518"
WHEEL = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
WHEEL += ["--platform", "manylinux_2_28_x86_64", "--only-binary", ":all:", "--no-deps"]

DYNSYM, UNDEFINED, GLOBAL, WEAK = 11, 0, 1, 2


def sections(elf):
    """The (type, offset, size, link) of each section of a 64-bit ELF file."""
    offset = struct.unpack_from("<Q", elf, 40)[0]
    size, count = struct.unpack_from("<HH", elf, 58)
    for i in range(count):
        header = struct.unpack_from("<IIQQQQI", elf, offset + i * size)
        yield header[1], header[4], header[5], header[6]


def weaken(elf):
    """Makes undefined symbols of Python weak: nobody calls them, and without it nothing loads."""
    table = list(sections(elf))
    for kind, offset, size, link in table:
        if kind != DYNSYM:
            continue
        names = table[link][1]
        for symbol in range(offset, offset + size, 24):
            name, info, _, section = struct.unpack_from("<IBBH", elf, symbol)
            is_python = elf[names + name : names + name + 3].lstrip(b"_").startswith(b"Py")
            if section == UNDEFINED and info >> 4 == GLOBAL and is_python:
                elf[symbol + 4] = WEAK << 4 | info & 15


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def extract(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.startswith("_duckdb.") and n.endswith(".so"))
        elf = bytearray(archive.read(name))
    weaken(elf)
    return elf


def download(target):
    """Through pip, which compares the wheel with its pinned hash."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        command += [*WHEEL, "--require-hashes", "-r", str(REQUIREMENTS), "-d", folder]
        subprocess.run(command, check=True)
        library = extract(next(Path(folder).glob("duckdb-*.whl")))
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.write_bytes(library)
    beside.rename(target)
    if sha256(target) != LIBRARY_SHA256:
        target.unlink()
        raise SystemExit("fetch_duckdb: the wheel holds another library than the one pinned here")


def cached():
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "capstan" / f"libduckdb-{LIBRARY_SHA256[:16]}.so"


def place(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        os.link(source, beside)
    except OSError:
        shutil.copyfile(source, beside)
    beside.rename(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="another place for it")
    target = parser.parse_args().folder / "libduckdb.so"
    if target.exists() and sha256(target) == LIBRARY_SHA256:
        return
    cache = cached()
    if not cache.exists() or sha256(cache) != LIBRARY_SHA256:
        download(cache)
    place(cache, target)


if __name__ == "__main__":
    main()
