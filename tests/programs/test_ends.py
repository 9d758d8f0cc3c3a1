"""A program ends with its own code, whatever its daemon threads are waiting for."""

from pathlib import Path

import pytest
from by_hand import free_addresses

HERE = Path(__file__).resolve().parent
PROGRAMS = [HERE / "ends.py", HERE / "ends_in_sync.py"]
ENDS = ["0", "3", "raise", "0", "3"]  # five times, in each way that a script ends
CODES = {"0": 0, "3": 3, "raise": 1}
SECONDS = 60  # a busy machine; the program itself takes one or two

few = pytest.mark.parametrize("end", ENDS, ids=lambda end: "end-" + end)
many = [pytest.mark.long, pytest.mark.timeout(3600)]


def check(task, end):
    code = task.finish(SECONDS)
    assert code == CODES[end] and "trained" in task.text, f"code {code}:\n{task.text[-3000:]}"
    assert ("ValueError: its own" in task.text) == (end == "raise"), task.text[-3000:]
    assert "terminate called" not in task.text and "Fatal Python" not in task.text


def end_alone(by_hand, end):
    check(by_hand.python(PROGRAMS[0], end), end)


def end_by_hand(by_hand, program, end):
    addresses = free_addresses(2)
    ps = by_hand.python(program, end, "ps", *addresses)
    check(by_hand.python(program, end, "worker", *addresses), end)
    if end == "0":
        assert ps.finish(SECONDS) == 0, ps.text
    else:
        ps.kill()  # it waits for the worker that failed, or for one in its place


def end_in_a_job(by_hand, program, end):
    addresses = ["{ps_hosts}", "{worker_hosts}"]
    job = ["--ps", 1, "--workers", 1, program, end, "{job_name}", *addresses]
    check(by_hand.run("--timeout", SECONDS, *job), end)


@few
def test_a_program_ends_with_its_own_code_beside_daemon_threads_that_wait(by_hand, end):
    end_alone(by_hand, end)


@few
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_worker_ends_with_its_own_code_beside_daemon_threads_that_wait(by_hand, program, end):
    end_by_hand(by_hand, program, end)


@few
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_job_ends_with_the_code_of_its_program_beside_daemon_threads(by_hand, program, end):
    end_in_a_job(by_hand, program, end)


class TestFiftyTimesOfFifty:
    pytestmark = many

    def test_alone(self, by_hand):
        for end in ENDS * 10:
            end_alone(by_hand, end)

    @pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
    def test_by_hand(self, by_hand, program):
        for end in ENDS * 10:
            end_by_hand(by_hand, program, end)

    @pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
    def test_in_a_job(self, by_hand, program):
        for end in ENDS * 10:
            end_in_a_job(by_hand, program, end)
