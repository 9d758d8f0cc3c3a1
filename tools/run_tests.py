"""Runs every test of one build: layers, formats, ruff, ctest, pytest. `./capstan test` calls it.

The last line is the sum, as in "812 passed, 0 failed, 3 skipped".
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PASSED_OR_STARTED = re.compile(r"\s*(Start +\d+:|\d+/\d+ Test +#.* Passed )|^$")
ENDED = re.compile(r"\s*(\d+)/(\d+) Test +#")
PYTHON_FOLDERS = ["python", "tests", "tools", "bench", "examples", "conftest.py"]
CPP_FOLDERS = ("src", "include", "jobs", "python/binding", "tests", "bench", "examples")


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_junit(path):
    """The cases of a JUnit file; a file that is missing or broken is one failure."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return Count(failed=1)
    count = Count()
    for case in cases:
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            count.failed += 1
        elif "skipped" in tags or case.get("status") in ("notrun", "disabled"):
            count.skipped += 1
        else:
            count.passed += 1
    return count


def cpp_files():
    folders = [ROOT / name for name in CPP_FOLDERS]
    return sorted(str(p) for folder in folders for p in folder.rglob("*") if p.suffix in (".cc", ".h"))


def run_check(name, command):
    """One tool that only says yes or no."""
    print(f"== {name}", flush=True)
    code = subprocess.run(command, cwd=ROOT).returncode
    return Count(passed=1) if code == 0 else Count(failed=1)


def show_progress(output):
    """Says how far ctest is, every tenth of the way; returns the lines that are worth showing.

    A line for each of a thousand cases that pass helps nobody.
    """
    lines, tenth = [], 0
    for line in map(str.rstrip, output):
        if not PASSED_OR_STARTED.match(line):
            lines.append(line)
        ended = ENDED.match(line)
        if ended and 10 * int(ended[1]) // int(ended[2]) > tenth:
            tenth = 10 * int(ended[1]) // int(ended[2])
            print(f"{ended[1]}/{ended[2]}", flush=True)
    return lines


def run_ctest(options, folder):
    print("== ctest", flush=True)
    report = folder / "ctest.xml"
    command = ["ctest", "--test-dir", str(options.build), "-j", str(options.jobs)]
    command += ["--output-on-failure", "--output-junit", str(report)]
    command += ["--timeout", "300"]
    command += ["--no-tests=ignore", "-R", options.pattern] if options.pattern else []
    env = dict(os.environ)
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    env.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        lines = show_progress(process.stdout)
    print("\n".join(lines if process.returncode else lines[-3:]), flush=True)
    count = count_junit(report) if report.exists() else Count()
    missing = process.returncode != 0 and not count.failed
    return count + Count(failed=1) if missing else count


def has_extension(options):
    return any((options.build / "python" / "capstan").glob("_capstan*.so"))


def pytest_folders(options):
    """A build without the extension (the sanitizers) tests what needs only the program."""
    return ["python/tests", "tests"] if has_extension(options) else ["tests/launcher", "tests/tools"]


def run_pytest(options, folder):
    print("== pytest", flush=True)
    report = folder / "pytest.xml"
    program = options.build / "src" / "main" / "capstan"
    folders = [name for name in pytest_folders(options) if (ROOT / name).is_dir()]
    command = [str(program), "python", "--python", sys.executable, "-m", "pytest", "-q"]
    command += ["-n", str(options.jobs), "--capstan", str(program), "--junitxml", str(report)]
    if options.pattern:
        command += [f"--pattern={options.pattern}"]
    if options.oracle:
        command += ["--oracle", options.oracle]
    if options.long:
        command += ["--long"]
    if options.rigs:
        command += ["--rigs"]
    code = subprocess.run(command + folders, cwd=ROOT).returncode
    if code == 5:  # nothing matches the pattern
        return Count()
    count = count_junit(report)
    return count if code == 0 or count.failed else count + Count(failed=1)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    parser.add_argument("--pattern", default="", help="only tests whose names match")
    parser.add_argument("--oracle", default="", help="a Python that has TensorFlow")
    parser.add_argument("--long", action="store_true", help="also what takes minutes")
    parser.add_argument("--rigs", action="store_true", help="also what needs the Kubernetes of tools/k8s")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    return parser.parse_args()


def main():
    options = parse_arguments()
    # A shell ignores Ctrl-C for what it starts in the background, and so would the programs under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.monotonic()
    total = Count()
    if not options.pattern:
        total += run_check("layers", [sys.executable, "tools/check_layers.py"])
        if formatter := shutil.which("clang-format-16"):
            total += run_check("clang-format", [formatter, "--dry-run", "-Werror", *cpp_files()])
        folders = [name for name in PYTHON_FOLDERS if (ROOT / name).exists()]
        total += run_check("ruff", [sys.executable, "-m", "ruff", "check", "-q", *folders])
    with tempfile.TemporaryDirectory() as folder:
        total += run_ctest(options, Path(folder))
        # A pattern over a sanitizer's build names C++ tests.
        if has_extension(options) or not options.pattern:
            total += run_pytest(options, Path(folder))
    print(f"done in {time.monotonic() - start:.0f} s")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
