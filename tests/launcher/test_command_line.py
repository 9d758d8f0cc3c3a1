"""The command line: what is said when it is wrong, and the doctor."""

import json

import pytest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "unknown command rnu (see capstan --help); did you mean run?"),
        (["--verison"], "unknown option --verison"),
        (["run", "--wrokers", "2", "a.py"], "unknown option --wrokers; did you mean --workers?"),
        (["run", "--ps", "many", "a.py"], "--ps"),
        (["run", "--ps", "1"], "which program?"),
        (["run", "--ps", "1", "a.py"], "a.py: No such file"),
        (["run", "--workers", "-1", "/bin/true"], "job worker: -1 tasks"),
        (["run", "--ps", "1", "/bin/true"], "nobody trains"),
        (["run", "--workers", "1", "--env", "X", "/bin/true"], "expected NAME=VALUE"),
        (["run", "-x", "/bin/true"], "unknown option -x"),
        (["run", "--workers", "1", "--chief=foo", "/bin/true"], "expected chief or master"),
        (["run", "--workers", "1", "--resolve", "x", "/bin/true"], "expected name[:port]="),
        (["run", "--workers", "1", "--timeout", "0", "/bin/true"], "--timeout 0"),
        (["run", "--workers", "1", "./absent"], "./absent: no such program"),
        (["server", "--job", "ps"], "--cluster"),
        (["doctor", "me"], "unexpected me"),
        (["test"], "run ./capstan test there"),
    ],
)
def test_wrong_usage_is_named_and_ends_with_2(run_capstan, arguments, said):
    done = run_capstan(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_version_and_help(run_capstan):
    assert run_capstan("--version").stdout.startswith("capstan ")
    for arguments in (["--help"], ["run", "--help"], ["python", "--help"], ["server", "--help"]):
        done = run_capstan(*arguments)
        assert done.returncode == 0
        assert "capstan " in done.stdout


def test_doctor_checks_this_machine(run_capstan):
    lines = [json.loads(line) for line in run_capstan("doctor", "--json").stdout.splitlines()]
    health = {line["check"]: line["health"] for line in lines}
    expected = {"versions", "memory", "ports", "files", "clock", "disk here", "python"}
    assert expected <= set(health)
    assert health["ports"] == "ok"


def test_doctor_names_a_variable_that_means_nothing(run_capstan):
    done = run_capstan("doctor", env={"CAPSTAN_TRANSPROT": "tcp"})
    assert "CAPSTAN_TRANSPROT means nothing; did you mean CAPSTAN_TRANSPORT?" in done.stdout
