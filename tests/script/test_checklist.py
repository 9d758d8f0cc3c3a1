"""What users of MLSQL expect of a training from a script, and where it is shown.

Each row is shown by tests that are named here, or by a line of the guide that says why not; that those are
there is a test itself, so that no name here outlives what it names.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DTF, FAILURES, JOBS = (
    "tests/script/test_dtf.py::",
    "tests/script/test_dtf_failures.py::",
    "tests/script/test_dtf_jobs.py::",
)
COMMAND, PREDICT, UPDATES = (
    "tests/script/test_sql_command.py::",
    "tests/script/test_predict.py::",
    "tests/script/test_dtf_updates.py::",
)
ACCEPTANCE = "tests/programs/test_acceptance.py::"
CASES, GUIDE = "tests/script/cases/", "docs/guide/sql.md: "

# number: (what is expected, where it is shown: a test of pytest, one of GoogleTest, a case, a line)
ROWS = {
    1: (
        "the seed's text runs as it stands",
        ACCEPTANCE + "test_the_job_script_trains_to_its_own_end_and_publishes_one_model_after_the_other",
        CASES + "seed.txt: the script of the seed up to its training",
        CASES + "seed.txt: the training of the seed reads as it stands",
        CASES + "lexical.txt: a comment inside a where",
        CASES + "grammar.txt: keys in backquotes are the same keys",
    ),
    2: (
        "workers are partitions, servers psNum or ps.num",
        "DtfTest.HonoursBothNamesOfTheNumberOfServersAndRefusesTwoNumbers",
        "DuckTest.ATableHasOnePartitionUntilItIsRepartitioned",
        DTF + "test_every_task_learns_its_role_the_cluster_and_its_parameters",
    ),
    3: (
        "role and cluster to every node, by task index",
        DTF + "test_every_task_learns_its_role_the_cluster_and_its_parameters",
        "DtfTasks.GivesServersNoDataAndListsTheClusterByTask",
    ),
    4: (
        "one whole, closed shard per worker, of two formats",
        "DuckTest.ShardsHoldAllRowsInOrderEvenlyCut",
        "DuckTest.ShardsMayBeParquet",
        DTF + "test_shards_may_be_parquet_at_either_level",
    ),
    5: (
        "the chief's model is published on success only, or the statement fails",
        DTF + "test_models_are_published_one_after_the_other_with_what_made_them",
        DTF + "test_another_worker_may_be_the_chief",
        FAILURES + "test_a_model_that_cannot_be_published_fails_the_statement_after_a_good_run",
        "ModelDraftTest.IsHiddenUntilItIsPublishedWhole",
    ),
    6: (
        "a table of seven columns, after a failure too",
        DTF + "test_every_task_learns_its_role_the_cluster_and_its_parameters",
        FAILURES + "test_a_worker_that_ends_well_before_another_fails_is_told_apart",
        "DtfTest.LeavesTheTableOfARunThatDidNotEvenBegin",
        "DtfTest.LeavesTheTableOfARunThatWasRefused",
    ),
    7: (
        "the failure of one node ends all, fast, with its own error",
        FAILURES + "test_an_error_of_one_worker_ends_all_and_is_the_message",
        FAILURES + "test_a_killed_parameter_server_ends_all_and_is_named",
        "DtfResult.TellsTheTasksOwnErrorElseItsLastLine",
    ),
    8: (
        "servers are stopped at the end, nothing is orphaned",
        DTF + "test_a_parameter_server_that_only_waits_is_stopped_soon_after_the_last_worker",
        FAILURES + "test_nothing_is_left_of_what_a_task_started_when_the_program_is_killed",
        FAILURES + "test_nothing_is_left_when_the_program_itself_is_killed",
    ),
    9: (
        "live lines of both outputs, with owner, group and task",
        DTF + "test_a_line_of_a_task_is_logged_with_owner_group_and_task",
    ),
    10: (
        "updates in step or not; more gradients than workers; a last step; chief is worker 0",
        UPDATES + "test_more_gradients_are_aggregated_than_there_are_workers",
        UPDATES + "test_two_workers_train_in_step_or_each_by_itself_up_to_the_last_step",
    ),
    11: (
        "ports: free ones, of one task each, held; a bounded wait",
        JOBS + "test_two_trainings_at_once_do_not_see_each_others_tables_ports_or_files",
        "tests/launcher/test_run.py::test_every_task_gets_a_listening_socket_on_its_own_port",
        GUIDE + "ports from 2221 on",
    ),
    12: (
        "capacity is checked before the start, with numbers",
        "DtfTest.RefusesWithNumbersWhatTheMemoryDoesNotHold",
        "DtfTest.OnlySaysSoWhereThereAreTooFewCores",
        GUIDE + "fewer nodes than cores",
    ),
    13: (
        "!show jobs, !kill, timeout",
        JOBS + "test_the_group_of_a_line_is_that_of_show_jobs_and_of_capstan_jobs",
        JOBS + "test_a_group_is_what_kill_and_capstan_stop_take",
        JOBS + "test_a_job_that_is_not_there_is_not_killed",
        FAILURES + "test_a_timeout_stops_the_training",
        GUIDE + "`progress` and `timeout` of `!show jobs`",
    ),
    14: (
        "keepVersion and modelVersion",
        "ModelDraftTest.TakesTheNumberAfterTheLargest",
        "ModelDraftTest.TheNewestIsTakenUnlessAnotherIsNamed",
        DTF + "test_without_versions_the_model_is_replaced",
    ),
    15: (
        "checkpoint and resume",
        DTF + "test_an_interrupted_run_is_resumed_from_what_its_chief_saved",
        "ModelDraftTest.HandsOnWhatAnEarlierRunLeft",
    ),
    16: (
        "register and predict on what was trained, the newest by default",
        PREDICT + "test_a_trained_model_predicts_as_a_table_and_as_a_function",
        "EnginePrediction.ARegisteredModelIsCalledInAnySelect",
        "ModelDraftTest.TheNewestIsTakenUnlessAnotherIsNamed",
    ),
    17: (
        "variables of all kinds; shell is off by default",
        CASES + "templates.txt: a variable in a select",
        CASES + "templates.txt: defaultParam holds where nothing is set",
        CASES + "templates.txt: a variable from SQL",
        CASES + "templates.txt: conf changes nothing and says so",
        CASES + "templates.txt: a session variable outlives its script",
        CASES + "templates.txt: a Python body is not mangled",
        CASES + "templates.txt: shell is refused",
    ),
    18: (
        "include: dotted paths, nested, cycles and what is missing named",
        CASES + "includes.txt: a script of a project",
        CASES + "includes.txt: includes are nested ten deep at most",
        CASES + "includes.txt: a cycle is named",
        CASES + "includes.txt: a missing script is named with where it was looked for",
    ),
    19: (
        "macros and branches",
        CASES + "macros.txt: a macro with two arguments",
        CASES + "macros.txt: arguments by name",
        CASES + "macros.txt: the branch that holds runs",
        CASES + "macros.txt: nested branches",
    ),
    20: (
        "errors have a place and the nearest valid word",
        CASES + "grammar.txt: errors show the line and a caret",
        CASES + "grammar.txt: the first word is near a keyword",
        CASES + "tables.txt: an option of an algorithm is near another",
        COMMAND + "test_it_stops_at_the_first_failure_and_says_where",
    ),
    21: ("placement", GUIDE + "placement on several hosts"),
    22: (
        "progress as a table, while the training runs too",
        DTF + "test_training_info_is_a_table_afterwards_and_stays_with_the_model",
        DTF + "test_training_info_can_be_read_while_the_job_runs",
    ),
    23: (
        "homes, tokens, rights",
        "Paths.WithARootLieBelowIt",
        "Paths.RefuseWhatLeadsElsewhere",
        GUIDE + "users and their rights",
    ),
    24: ("HTTP", GUIDE + "a shell, HTTP and a page"),
    25: (
        "scripts read their parameters through pyjava",
        "DtfTasks.FramesParametersAsTheScriptsReadThem",
        "python/tests/test_pyjava.py::test_parameters_come_from_standard_input",
        "python/tests/test_pyjava.py::test_a_script_that_never_reads_its_parameters_has_them_and_logs_to_its_output",
    ),
    26: (
        "PYTHON_ENV; condaFile may be empty",
        FAILURES + "test_a_python_env_may_be_a_folder",
        FAILURES + "test_a_python_env_that_is_not_found_is_told_and_may_be_required",
        FAILURES + "test_a_python_env_of_another_version_is_refused_by_name",
        "PythonEnvTest.IsFoundByNameBesideTheOthersOfConda",
        "DtfTest.TakesAnEmptyCondaFile",
    ),
    27: (
        "TF_CONFIG and flags besides",
        DTF + "test_every_task_learns_its_role_the_cluster_and_its_parameters",
    ),
    28: (
        "fileNum, partitionBy, save modes",
        "SaveTest.FileNumIsTheNumberOfFiles",
        "SaveTest.PartitionByMakesFoldersOfValues",
        "SaveTest.WhatIsThereIsKeptReplacedOrAddedTo",
    ),
    29: ("a page", GUIDE + "a shell, HTTP and a page"),
    30: (
        "folders go on success and on failure, or stay on request",
        JOBS + "test_five_trainings_in_a_row_leave_no_file_process_or_port",
        FAILURES + "test_an_error_of_one_worker_ends_all_and_is_the_message",
        FAILURES + "test_nothing_is_left_when_the_program_is_killed_while_it_writes_data",
        DTF + "test_data_and_folders_of_the_tasks_stay_if_they_are_to",
    ),
}


def read(name):
    path = ROOT / name
    return path.read_text() if path.is_file() else ""


@functools.cache
def google_tests():
    texts = (p.read_text() for top in ("jobs", "src", "tests") for p in (ROOT / top).rglob("*_test.cc"))
    found = re.compile(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", re.M)
    return {".".join(pair) for text in texts for pair in found.findall(text)}


def is_there(name):
    if "::" in name:
        path, test = name.split("::")
        return test in {node.name for node in ast.parse(read(path)).body if isinstance(node, ast.FunctionDef)}
    if ": " not in name:
        return name in google_tests()
    path, words = name.split(": ", 1)
    if path.startswith(CASES):
        return "=== " + words in read(path).splitlines()
    return words in read(path)


def test_every_row_of_the_checklist_has_an_answer():
    assert list(ROWS) == list(range(1, 31))
    assert all(len(row) > 1 for row in ROWS.values())


@pytest.mark.parametrize("number", ROWS)
def test_what_a_row_of_the_checklist_names_is_there(number):
    assert [name for name in ROWS[number][1:] if not is_there(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        DTF + "test_nothing",
        "tests/nowhere.py::test_nothing",
        "DtfTest.Nothing",
        CASES + "seed.txt: nothing",
        GUIDE + "no such line",
    ],
)
def test_what_is_not_there_is_not_found(name):
    assert not is_there(name)
