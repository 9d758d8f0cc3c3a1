"""Options and fixtures that every Python test may use."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption("--capstan", help="the built program (default: that of build/dev or release)")
    parser.addoption("--oracle", help="a Python interpreter that has TensorFlow")
    parser.addoption("--long", action="store_true", help="also what takes minutes")
    parser.addoption("--rigs", action="store_true", help="also what needs the Kubernetes of tools/k8s")
    parser.addoption("--pattern", help="only tests whose ids match, as with ctest -R")


def pytest_configure(config):
    config.addinivalue_line("markers", "oracle: compares live with TensorFlow (--oracle)")
    config.addinivalue_line("markers", "long: takes a minute or more (--long)")
    config.addinivalue_line("markers", "rig: needs the Kubernetes of tools/k8s (--rigs)")


def pytest_collection_modifyitems(config, items):
    for marker, option in (("long", "--long"), ("rig", "--rigs")):
        if not config.getoption(option):
            skip_marked(items, marker, f"needs {option}")
    if pattern := config.getoption("--pattern"):
        keep_matching(config, items, pattern)


def skip_marked(items, marker, reason):
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


def keep_matching(config, items, pattern):
    left_out = [item for item in items if not re.search(pattern, item.nodeid)]
    items[:] = [item for item in items if re.search(pattern, item.nodeid)]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session", autouse=True)
def state_of_the_tests(tmp_path_factory):
    """Jobs of the tests are not remembered among those of whoever runs them, nor sent to their clusters."""
    with pytest.MonkeyPatch.context() as patch:
        state = tmp_path_factory.mktemp("state")
        patch.delenv("CAPSTAN_STATE_DIR", raising=False)
        patch.setenv("XDG_STATE_HOME", str(state))
        patch.setenv("KUBECONFIG", str(state / "no-kubeconfig"))
        patch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        yield


def _built_program():
    for preset in ("dev", "release"):
        program = ROOT / "build" / preset / "src" / "main" / "capstan"
        if program.exists():
            return str(program)
    return None


@pytest.fixture(scope="session")
def capstan(request):
    """Path of the program under test."""
    program = request.config.getoption("--capstan") or _built_program()
    if not program:
        pytest.fail("no built capstan: run ./capstan test, or give --capstan <path>")
    return str(Path(program).resolve())


@pytest.fixture(scope="session")
def oracle_python(request):
    """Interpreter with TensorFlow; the test is skipped without --oracle."""
    python = request.config.getoption("--oracle")
    if not python:
        pytest.skip("needs --oracle")
    return python


@pytest.fixture
def run_capstan(capstan, tmp_path):
    """Runs the program to its end in an empty folder; returns the finished process."""

    def run(*args, timeout=60, env=None, cwd=None):
        state = {"XDG_STATE_HOME": str(tmp_path / "state")}
        return subprocess.run(
            [capstan, *map(str, args)],
            cwd=cwd or tmp_path,
            env={**os.environ, **state, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run
