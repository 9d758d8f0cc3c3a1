"""The operator of TFJobs on a real API server (tools/k8s), beside Kubeflow's own in the same run.

    ./capstan bench operator [--json] [--quick] [--check] [--only memory]

Nobody runs the pods: what is measured is the operator and the API server, not a kubelet. Needs root.
"""

import contextlib
import statistics
import sys
import time

from support import options, process
from support.kube import BROKEN, Cluster, Namespace, kubeflow_operators, our_operator, slug
from support.report import Line

JOBS, REPLICAS = 50, 4
FINISHED, LIVE = 1000, 100
AT_DEFAULTS, RAISED, PLAIN = "Kubeflow", "Kubeflow raised", "plain client"


class Bench:
    """One method per group of lines."""

    def __init__(self, given, report, cluster):
        self.given, self.report, self.cluster = given, report, cluster
        self.jobs = 10 if given.quick else JOBS
        self.rounds = 1 if given.quick else min(given.plan.rounds, 5)

    def wants(self, *names):
        return any(self.given.only in name for name in names)

    def creation(self):
        """From the first job to the last pod and service; everybody in a namespace of its own."""
        names = [f"{self.jobs} jobs of {REPLICAS} replicas", "  its limits raised", "  the same creates alone"]
        memory = "  resident memory"
        if not self.wants(*names, memory):
            return
        with contextlib.ExitStack() as stack:
            ours = stack.enter_context(our_operator(self.cluster, self.given.capstan, slug("ours")))
            peers = self.start_peers(stack)
            times = self.measure_creation({"ours": ours, **peers})
            if not times:
                return
            self.add_creation(names, times)
            self.add_memory(memory, ours, peers.get(RAISED))

    def start_peers(self, stack):
        if self.given.no_peer:
            return {}
        found = kubeflow_operators(self.cluster, self.report, {AT_DEFAULTS: False, RAISED: True})
        return {name: stack.enter_context(one) for name, one in found.items()}

    def measure_creation(self, sides):
        """Seconds of each round by side. Kubeflow at its defaults takes most of a minute: once is enough."""
        spaces = {side: Namespace(self.cluster, slug(side)) for side in [*sides, PLAIN]}
        times = {side: [] for side in spaces}
        bodies = None
        for i in range(self.rounds + 1):  # the first warms up, and shows what is to be made
            for side, space in spaces.items():
                if i == 0 and side in (AT_DEFAULTS, PLAIN) or i > 1 and side == AT_DEFAULTS:
                    continue
                seconds = space.time_plain(bodies) if side == PLAIN else space.time_jobs(self.jobs, REPLICAS)
                if side == "ours" and bodies is None:
                    bodies = space.objects()
                if i > 0:
                    times[side].append(seconds)
                space.empty()
        return times

    def add_creation(self, names, times):
        for name, peer, target in zip(names, (AT_DEFAULTS, RAISED, PLAIN), (15, 1, 1 / 1.3)):
            line = Line(name, "jobs/s", self.jobs / min(times["ours"]), target=round(target, 2), peer_name=peer)
            if times.get(peer):
                line.peer = self.jobs / min(times[peer])
                ratios = [a / b for a, b in zip(times[peer], times["ours"])]
                line.median_ratio = statistics.median(ratios)
            self.report.add(line)

    def add_memory(self, name, ours, peer):
        line = Line(name, "MiB", ours.memory(), rule="at_most", peer_name="Kubeflow")
        if peer:
            line.peer = peer.memory()
            line.target = line.peer / 2
        self.report.add(line)

    def latency(self):
        """From the answer to a change of a pod until the job's status shows it."""
        finished, live = (50, 10) if self.given.quick else (FINISHED, LIVE)
        name, idle = f"reconcile p99, {live} live jobs", "  idle, share of one core"
        if not self.wants(name, idle):
            return
        samples = 20 if self.given.quick else 300
        spaces = {"none": Namespace(self.cluster, "live"), "many": Namespace(self.cluster, "crowded")}
        spaces["many"].make_finished(finished)
        with contextlib.ExitStack() as stack:
            operators = {}
            for key, space in spaces.items():
                operators[key] = stack.enter_context(our_operator(self.cluster, self.given.capstan, space.name))
                space.time_jobs(live, 1, restart="OnFailure")
            best = self.interleave(spaces, samples)
            limit = round(best["none"] * 1.2, 2)
            self.report.add(Line(name, "ms", best["none"], peer_name=""))
            self.report.add(Line(f"  and {finished} finished", "ms", best["many"], target=limit, rule="at_most"))
            self.add_idle(idle, operators["many"])

    def interleave(self, spaces, samples):
        """The least p99 of the rounds, in milliseconds."""
        all_p99 = {key: [] for key in spaces}
        for _ in range(self.rounds):
            for key, space in spaces.items():
                delays = sorted(space.change_delays(samples))
                all_p99[key].append(delays[int(len(delays) * 0.99)] * 1000)
        return {key: min(values) for key, values in all_p99.items()}

    def add_idle(self, name, operator):
        seconds = 2 if self.given.quick else 20
        before = operator.cpu_seconds()
        time.sleep(seconds)
        share = (operator.cpu_seconds() - before) / seconds * 100
        self.report.add(Line(name, "%", share, target=1, rule="at_most"))


def body(given, report):
    program = options.benchmark_program(given, "kube_bench")
    if not program:
        raise process.Failed("kube_bench is not built: ./capstan bench builds it")
    try:
        with Cluster(program) as cluster:
            bench = Bench(given, report, cluster)
            bench.creation()
            bench.latency()
    except BROKEN as error:
        raise process.Failed(str(error)) from error


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
