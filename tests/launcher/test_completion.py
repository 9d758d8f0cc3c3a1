"""What a shell completes, and the manual pages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


# Each prints what its shell offers for the last of the words; as a user's start-up files would have it.
SHELLS = {
    "bash": """
source <(capstan completion bash)
COMP_WORDS=(capstan "$@") COMP_CWORD=$#
_capstan
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "zsh": """
mkdir -p functions && capstan completion zsh > functions/_capstan
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -D
compadd() { print -l -- "${(P@)2}" }
_files() { }
words=(capstan "$@") CURRENT=$(($# + 1))
_capstan
""",
    "fish": """
capstan completion fish | source
function __fish_complete_path; end
complete -C "capstan $argv"
""",
}
START = {"bash": ["bash", "-c"], "zsh": ["zsh", "-f", "-c"], "fish": ["fish", "-N", "-c"]}


@pytest.fixture(params=SHELLS)
def completed(request, capstan, tmp_path):
    """What a shell offers for the last of the words after `capstan`, where it is installed."""
    shell = request.param
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "capstan").symlink_to(capstan)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    env["XDG_STATE_HOME"] = str(tmp_path / "state")

    def run(*words):
        command = [*START[shell], SHELLS[shell], *([] if shell == "fish" else [shell]), *words]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.split()

    return run


def test_commands_and_options_complete(completed):
    assert completed("st") == ["status", "stop"]
    assert "--workers" in completed("run", "--w") and "--follow" in completed("logs", "--f")
    assert sorted(completed("completion", "")) == ["bash", "fish", "zsh"]
    assert completed("nonsense", "-") == completed("run", "train") == []


def test_jobs_and_tasks_complete(completed, run_capstan, detach, program):
    run_capstan("run", "--ps", 1, "--workers", 1, "--name", "ended", program("", "short"))
    job = detach("--ps", 1, "--workers", 1, "--name", "lasting", program("import time; time.sleep(60)"))
    assert set(completed("status", "")) > {"ended", "lasting", job}
    assert sorted(completed("stop", "")) == sorted(["lasting", job])
    assert "ended" in completed("rm", "") and job not in completed("rm", "")
    assert completed("logs", "lasting", "") == ["ps/0", "worker/0"]
    assert completed("logs", "-f", "lasting", "w") == ["worker/0"]
    assert completed("logs", "absent", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(run_capstan, shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(run_capstan("completion", shell).stdout)
    assert "capstan complete" in script.read_text()
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", script]).returncode == 0


def test_another_shell_is_refused(run_capstan):
    done = run_capstan("completion", "tcsh")
    assert done.returncode == 2 and "expected bash, zsh or fish" in done.stderr


def test_every_command_has_a_manual_page_with_its_options(capstan, run_capstan, tmp_path):
    subprocess.run([sys.executable, ROOT / "tools" / "make_man.py", capstan, tmp_path / "man"], check=True)
    commands = run_capstan("complete", "--", "").stdout.split()
    assert {path.stem for path in (tmp_path / "man").iterdir()} == {"capstan", *(f"capstan-{c}" for c in commands)}
    for command in commands:
        text = (tmp_path / "man" / f"capstan-{command}.1").read_text()
        options = run_capstan(command, "--help").stdout.split("Options:")[1]
        for option in re.findall(r"^  .*?(--[a-z-]+)", options, re.M):
            assert option.replace("-", "\\-") in text, command
        if shutil.which("groff"):
            page = ["groff", "-man", "-Tutf8", "-ww", "-z"]
            done = subprocess.run(page, input=text, capture_output=True, text=True)
            assert not done.stderr, done.stderr
