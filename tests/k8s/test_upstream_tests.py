"""Upstream's own tests, row by row, and which of ours mean the same: every row has some, and they exist.

`Suite.Name` is a test in C++, `test_name` one in Python, `jobs/name` a file that is played against the record of
Kubeflow's operator. Where ours does otherwise on purpose, docs/guide/kubernetes-differences.md has the reason.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

ROWS = {
    "defaults: types in any case": ["TfJob.TypesAreReadInAnyCaseAndInOneOrder", "jobs/any-case"],
    "defaults: replicas, restart policy, port": ["TfJob.DefaultsAreFilledIn", "jobs/defaults"],
    "defaults: a port of that name is kept": ["TfJob.APortOfThatNameIsKept", "jobs/own-port"],
    "defaults: a clean-up policy is kept": ["TfJob.PoliciesStandUnderRunPolicyOrAboveIt", "jobs/clean-all"],
    "webhook: valid": ["test_a_valid_job_is_shown_with_its_defaults_and_tf_config"],
    "webhook: a name that begins with a digit": ["TfJobRules.NameIsALabelThatBeginsWithALetter"],
    "webhook: no containers": ["TfJobRules.ContainersAreRequiredAndOneIsTensorflow"],
    "webhook: an empty image": ["TfJobRules.EveryContainerHasAnImage"],
    "webhook: no container tensorflow": [
        "TfJobRules.ContainersAreRequiredAndOneIsTensorflow",
        "test_kubeflows_webhook_says_what_it_thinks_of_a_job",
    ],
    "webhook: chief and master": ["TfJobRules.ChiefAndMasterAreOneRole", "OperatorTest.RefusesAJobThatIsNotValid"],
    "webhook: a bad managedBy": ["TfJobRules.ManagedByIsOneOfTwoAndStays", "test_who_manages_a_job_cannot_be_changed"],
    "cluster spec: one worker": ["TfConfig.HasTheClustersDomainWhereItIsKnown", "jobs/one-worker"],
    "cluster spec: worker and server, with a domain": ["TfConfig.OfServersAndEvaluatorsIsUpstreamsToTheByte"],
    "cluster spec: an evaluator, with and without a domain": [
        "TfConfig.OfServersAndEvaluatorsIsUpstreamsToTheByte",
        "jobs/evaluator",
    ],
    "cluster spec: sparse": ["TfConfig.DynamicWorkersKnowThemselvesAndTheServers", "jobs/dynamic-workers"],
    "pods: which jobs are distributed": ["jobs/one-worker", "jobs/first-worker", "jobs/servers-only", "jobs/chief"],
    "pods: restart policy of a replica to that of its pod": ["Pods.HaveTheReplicasPolicyNotTheTemplates"],
    "pods: exit code 130 deletes the pod": ["OperatorTest.StartsAgainByExitCodeAndCounts", "jobs/exit-code-130"],
    "pods: exit code 1 fails the job": [
        "OperatorTest.DoesNotStartAgainWhatFailedForGoodByExitCode",
        "jobs/exit-code-1",
    ],
    "pods: scaled down": ["OperatorTest.ScalesUpAndDown", "jobs/scaled-down"],
    "pods: scaled up": ["OperatorTest.ScalesUpAndDown", "jobs/scaled-up"],
    "pods: is worker 0 completed": ["OperatorTables.TheFirstWorkersGoodEndIsTheJobsUnlessThereIsAChief"],
    "status: 19 states": ["Phase.FollowsFromTheCountsAsUpstreamsTableHasIt"],
    "controller: made and observed": [
        "OperatorTables.WhatIsMadeAndCountedIsUpstreams",
        "OperatorTest.MakesAllPodsAndServicesAtOnceWithTheJobAsOwner",
    ],
    "controller: suspended at creation": ["OperatorTest.BeginsNothingForAJobThatIsMadeSuspended", "jobs/suspended"],
    "controller: suspended, then resumed": ["OperatorTest.SuspendsAndResumes", "jobs/suspend-and-resume"],
    "controller: managedBy": [
        "OperatorTest.LeavesAJobAloneThatSomebodyElseManages",
        "jobs/managed-by-another",
    ],
    "job: labels and annotations are copied": ["Pods.TakeOverWhatTheTemplateSaysAndOursWins", "jobs/template-metadata"],
    "job: clean-up policies": [
        "OperatorTest.CleansAsItsPolicySays",
        "jobs/clean-all",
        "jobs/clean-running",
        "jobs/clean-none",
    ],
    "job: deadline": [
        "OperatorTest.KeepsItsDeadline",
        "OperatorTables.WithoutADeadlineAJobMayRunForEver",
        "jobs/deadline",
    ],
    "job: back-off limit": ["OperatorTest.CountsRestartsThatTheKubeletMakes", "jobs/back-off-limit"],
    "job: time to live": [
        "OperatorTest.RemovesTheJobWhenItsTimeIsOver",
        "OperatorTables.AJobIsKeptAsLongAfterItsEndAsItSays",
        "jobs/time-to-live",
    ],
    "job: services": ["Services.AreHeadlessAndHaveAllPortsOfTheContainer", "jobs/more-ports"],
    "common: deletion, also while suspended": ["OperatorTest.SuspendsAndResumes", "OperatorTest.CleansAsItsPolicySays"],
    "common: limits of restarts": ["OperatorTables.RestartsAreLimited"],
    "common: limits of time": ["OperatorTest.KeepsItsDeadline", "OperatorTables.WithoutADeadlineAJobMayRunForEver"],
    "common: managedBy": ["TfJobRules.ManagedByIsOneOfTwoAndStays"],
    "common: pods by type and index": ["Selectors.FindTheReplicasOfAJobOrOfAType", "OperatorTest.ScalesUpAndDown"],
    "common: a scheduler of one's own": ["GangTest.KeepsAnotherSchedulerOfATemplateAndWarns", "jobs/template-fields"],
    "common: a pod on its way out counts as failed": ["OperatorTest.ReplacesAPodThatWasDrainedThoughItEndedWithZero"],
    "control: what is claimed and released": [
        "OperatorTables.PodsOfNobodyAndOfOthersAreLeftAlone",
        "OperatorTables.AJobThatIsBeingDeletedMakesNothing",
        "OperatorTest.SaysWhoHasTheNameOfItsPod",
        "OperatorTest.WaitsUntilWhatAJobOfTheSameNameLeftIsGone",
        "OperatorFaults.TakesAPodForItsOwnWhoseAnswerWasLost",
    ],
    "control: bodies": [
        "Pods.CarryNamesLabelsAndTheirOwner",
        "Services.AreHeadlessAndHaveAllPortsOfTheContainer",
    ],
    "expectations": [
        "OperatorFaults.MakesNoPodTwiceThoughItHearsOfItLate",
        "OperatorTest.NeverMakesAPodTwice",
        "test_operators_killed_at_random_moments_lose_nothing",
    ],
    "util: the algebra of conditions": [
        "Conditions.FollowAJobToItsGoodEnd",
        "Conditions.TheSameAgainIsNoChange",
        "Conditions.AnotherReasonKeepsTheTimeOfTheTransition",
        "Conditions.RunningAndRestartingReplaceEachOther",
        "Conditions.ThereIsOneTerminalCondition",
        "Conditions.SuspendedTurnsRunningFalseAndResumedBeginsAnew",
    ],
    "util: labels": ["Selectors.FindTheReplicasOfAJobOrOfAType", "Pods.OneIsTheMaster"],
    "util: exit codes": ["OperatorTables.ExitCodesFrom128OnAreTriedAgain"],
    "e2e: a simple job, events counted": ["test_every_pod_and_service_is_told_of_once"],
    "e2e: workers alone": ["test_workers_alone_find_each_other_by_name"],
    "e2e: who ends the job": [
        "test_a_chief_that_ends_well_ends_the_job",
        "test_without_a_chief_the_first_worker_ends_the_job_while_others_run",
    ],
    "e2e: clean-up policies": ["test_pods_are_cleaned_as_the_policy_says"],
    "e2e: restart policies": ["test_a_server_that_ends_is_started_again_as_its_policy_says"],
    "e2e: what a RunConfig sees": ["test_every_replica_sees_its_role_and_the_cluster"],
    "e2e: a misspelt field": [
        "test_what_is_wrong_is_refused_with_its_path",
        "TfJobRules.UnknownFieldsAreNamedOnlyWhereTheServerHasNotPrunedThem",
    ],
    "e2e: names of pods": ["Pods.CarryNamesLabelsAndTheirOwner", "jobs/chief"],
    "sdk: one worker": ["test_a_job_of_plain_containers_runs_to_its_end"],
    "sdk: with a gang scheduler": ["test_a_group_that_asks_for_too_much_waits_until_it_asks_for_less"],
}


@pytest.fixture(scope="module")
def tests():
    """The names of all that there are."""
    found = {f"jobs/{path.stem}" for path in (ROOT / "tests" / "k8s" / "jobs").glob("*.yaml")}
    for path in (ROOT / "jobs" / "k8s").glob("*_test.cc"):
        found |= {".".join(pair) for pair in re.findall(r"^TEST(?:_[PF])?\((\w+),\s*(\w+)\)", path.read_text(), re.M)}
    for path in (ROOT / "tests" / "k8s").glob("test_*.py"):
        found |= set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))
    return found


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_upstreams_tests_has_tests_of_ours(tests, row):
    assert ROWS[row] and [name for name in ROWS[row] if name not in tests] == []
