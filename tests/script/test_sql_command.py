"""`capstan sql`: what goes where, and how it ends."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from job_scripts import rows_of

ROWS = "select i as n, 'a,' || i as t from range(2) r(i) as x;"
ENDLESS = "select count(*) as n from range(1000000000) a, range(1000000000) b as x;"


@pytest.mark.parametrize(
    "output, text",
    [
        ("table", "n  t\n0  a,0\n1  a,1\n"),
        ("json", '{"n":0,"t":"a,0"}\n{"n":1,"t":"a,1"}\n'),
        ("csv", 'n,t\n0,"a,0"\n1,"a,1"\n'),
    ],
)
def test_the_last_table_is_all_that_is_printed(scripts, output, text):
    assert scripts.run("--output", output, "-e", ROWS) == (0, text, "")


def test_json_and_csv_have_all_rows_and_a_table_the_first(scripts):
    many = "select i as n from range(6000) r(i) as x;"
    code, out, err = scripts.run("-e", many)
    assert (code, len(out.splitlines())) == (0, 5001) and "the first 5000 of 6000 rows" in err
    assert len(rows_of(scripts.run("--output", "json", "-e", many)[1])) == 6000


def test_variables_of_the_command_line_go_before_defaults(scripts):
    script = 'set day="never" where type="defaultParam"; select "${day}" as d as x;'.replace('"${day}"', "'${day}'")
    code, out, err = scripts.run("--set", "day=2026-11-16", "--output", "json", "-e", script)
    assert (code, rows_of(out)) == (0, [{"d": "2026-11-16"}]), err


def test_a_script_comes_from_a_file_or_from_standard_input(scripts):
    path = scripts.folder / "a.mlsql"
    path.write_text(ROWS)
    assert scripts.run("--output", "csv", path)[0] == 0
    process = scripts.start("--output", "json", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(ROWS, timeout=60)
    assert len(rows_of(out)) == 2, err


def test_it_stops_at_the_first_failure_and_says_where(scripts):
    code, out, err = scripts.run("-e", "select 1 as a as x;\nselect nothing from x as y;\n!println 'no';")
    assert (code, out) == (1, "") and err.startswith("-e:2:8: "), err
    assert err.splitlines()[-1].strip() == "^"


@pytest.mark.parametrize(
    "args, message",
    [
        ([], "which script?"),
        (["a.mlsql", "-e", "b"], "a file or -e, not both"),
        (["--output", "xml", "-e", "x"], "xml"),
        (["--set", "day", "-e", "x"], "expected NAME=VALUE"),
        (["--outptu", "csv", "-e", "x"], "did you mean --output?"),
        (["nowhere.mlsql"], "nowhere.mlsql"),
    ],
)
def test_wrong_usage_is_told_apart_from_a_script_that_fails(scripts, args, message):
    code, out, err = scripts.run(*args)
    assert (code, out) == (2, "") and message in err


def test_a_root_that_is_not_there_is_wrong_usage(run_capstan):
    done = run_capstan("sql", "--root", "/nowhere/at/all", "-e", ROWS)
    assert done.returncode == 2 and "/nowhere/at/all: no such folder" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query(scripts, number):
    job = scripts.start("-e", "!println 'begun';" + ENDLESS)
    assert "begun" in job.stderr.readline()
    job.send_signal(number)
    _, err = job.communicate(timeout=20)
    assert job.returncode == 128 + number and "-e:1:" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_of_the_shell_and_what_it_started(scripts, number):
    job = scripts.start("--allow-shell", "-e", 'set x=`echo begun >&2; sleep 600 | cat` where type="shell";')
    assert "begun" in job.stderr.readline()
    begun = time.monotonic()
    job.send_signal(number)
    _, err = job.communicate(timeout=20)
    assert job.returncode == 128 + number and "-e:1:8: " in err and time.monotonic() - begun < 5
    assert scripts.processes() == {}


def test_a_command_of_the_shell_may_use_signals(scripts):
    script = "set x=`timeout 0.1 sleep 600; echo $?` where type=\"shell\"; select '${x}' as x as t;"
    code, out, err = scripts.run("--allow-shell", "--output", "json", "-e", script, timeout=20)
    assert (code, rows_of(out)) == (0, [{"x": "124"}]), err


def test_a_reader_that_leaves_ends_it_quietly(scripts):
    process = scripts.start("--output", "csv", "-e", "select i as n from range(300000) r(i) as x;")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(30) == 128 + signal.SIGPIPE
    assert process.stderr.read() == ""


@pytest.mark.parametrize("output", ["json", "csv"])
def test_a_large_result_is_written_while_it_is_read(scripts, output):
    rows = "select i as n, i * 0.5 as x, 'row ' || i as s from range(3000000) r(i) as t;"
    process = scripts.start("--output", output, "-e", rows)
    assert process.stdout.readline()
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.stdout.close()
    assert process.wait(30) == 128 + signal.SIGPIPE and process.stderr.read() == ""
    # Kilobytes: the table itself, and not its text besides.
    assert int(re.search(r"VmHWM:\s+(\d+)", status)[1]) < 500_000


def test_every_row_of_a_large_result_is_there_once(scripts):
    process = scripts.start("--output", "csv", "-e", "select i as n from range(200000) r(i) as t;")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == ""
    assert out.split() == ["n", *map(str, range(200000))]


def test_an_empty_result_has_its_header(scripts):
    empty = "select 1 as a, 'x' as b as t; select * from t where a > 1 as u;"
    assert scripts.run("--output", "csv", "-e", empty) == (0, "a,b\n", "")
    assert scripts.run("--output", "json", "-e", empty) == (0, "", "")


EXACT = (
    "select 0.1::float as f, 1.10 as d, 170141183460469231731687303715884105727 as h,"
    " 18446744073709551615::ubigint as u, 0.1::double + 0.2::double as x, [0.1::float, null] as l,"
    " {'k': [1.50]} as s, map {'a': 0.3::float} as m, null as n, '' as e, true as b,"
    " date '2026-11-16' as day, timestamp '2026-11-16 01:02:03.5' as at as t;"
)


@pytest.mark.parametrize(
    "output, text",
    [
        (
            "json",
            '{"f":0.1,"d":1.10,"h":170141183460469231731687303715884105727,"u":18446744073709551615,'
            '"x":0.30000000000000004,"l":[0.1,null],"s":{"k":[1.50]},"m":{"a":0.3},"n":null,"e":"","b":true,'
            '"day":"2026-11-16","at":"2026-11-16 01:02:03.5"}\n',
        ),
        (
            "csv",
            "f,d,h,u,x,l,s,m,n,e,b,day,at\n0.1,1.10,170141183460469231731687303715884105727,18446744073709551615,"
            '0.30000000000000004,"[0.1,null]","{""k"":[1.50]}","{""a"":0.3}",,"",true,'
            "2026-11-16,2026-11-16 01:02:03.5\n",
        ),
    ],
)
def test_results_keep_every_digit(scripts, output, text):
    assert scripts.run("--output", output, "-e", EXACT) == (0, text, "")


def test_a_table_keeps_every_digit(scripts):
    _, out, _ = scripts.run("-e", EXACT)
    assert out.splitlines()[1].split()[:5] == [
        "0.1",
        "1.10",
        "170141183460469231731687303715884105727",
        "18446744073709551615",
        "0.30000000000000004",
    ]


@pytest.mark.parametrize("where", ["file", "standard input", "a device"])
def test_a_script_that_is_too_long_is_refused_without_being_read_to_its_end(scripts, where):
    path = scripts.folder / "long.mlsql"
    with open(path, "wb") as file:
        file.truncate(100 << 20)
    words = {"file": path, "standard input": "-", "a device": "/dev/zero"}[where]
    with open("/dev/zero", "rb") as zeros:
        process = scripts.start(words, stdin=zeros)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "and the longest that is read has 16777216" in err


def test_two_scripts_at_once_do_not_see_each_others_tables(scripts):
    own = "select '%s' as who as t; load jsonStr.`j` as j; select who from t as r;"
    jobs = [
        scripts.start("--output", "json", "-e", "set j='{\"a\":1}';" + own % name) for name in ("a", "b")
    ]
    answers = [json.loads(job.communicate(timeout=60)[0])["who"] for job in jobs]
    assert answers == ["a", "b"]


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_result_that_finds_no_room_is_an_error(scripts, output):
    with open("/dev/full", "w") as full:
        process = scripts.start("--output", output, "-e", ROWS, stdout=full)
        _, err = process.communicate(timeout=60)
    lost = "the result is not whole: cannot write standard output: No space left on device"
    assert (process.returncode, err) == (1, "capstan sql: %s\n" % lost)


def test_a_save_to_a_full_disk_says_so_and_leaves_nothing(scripts, capstan):
    script = "select repeat('x', 1000) as s from range(3000) as t; save t as csv.`small/out`;"
    (scripts.folder / "job.mlsql").write_text(script)
    (scripts.folder / "small").mkdir()
    mount = "mount -t tmpfs -o size=1m tmpfs small || exit 77; "
    command = mount + "%s sql job.mlsql; echo code $?; ls -A small" % capstan
    own_mounts = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", command]
    done = subprocess.run(own_mounts, cwd=scripts.folder, capture_output=True, text=True, timeout=60)
    if done.returncode:
        pytest.skip("no file system of our own can be mounted")
    assert done.stdout == "code 1\n" and "small/out: No space left on device" in done.stderr


@pytest.mark.parametrize("words", [["-e", "select 1"], ["--no-such-option"], ["nothing.mlsql"]])
def test_an_error_that_nobody_can_be_told_ends_with_a_code_too(capstan, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([capstan, "sql", *words], stderr=full, timeout=60)
    assert done.returncode in (1, 2, 128 + signal.SIGPIPE)
