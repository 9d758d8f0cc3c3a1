"""Interleaved rounds and what is made of them.

On a shared machine the worst round may be ten times slower than the best, for everybody. So all
sides run in every round, one at a time, and the ratio of the best rounds is what counts; the median
of the rounds' own ratios is told beside it.
"""

import contextlib
import statistics
from dataclasses import dataclass, field


@dataclass
class Plan:
    rounds: int = 7
    seconds: float = 0.5  # of one slice
    warm_up_steps: int = 200

    @staticmethod
    def quick():
        return Plan(rounds=1, seconds=0.1, warm_up_steps=5)


@dataclass
class Samples:
    """Rates of each side, one per round, by the side's name."""

    rates: dict = field(default_factory=dict)
    per_cpu_second: dict = field(default_factory=dict)  # steps, of all rounds together

    def best(self, side):
        return max(self.rates[side])

    def median_ratio(self, ours, peer):
        return statistics.median(a / b for a, b in zip(self.rates[ours], self.rates[peer]))

    def cpu_ratio(self, ours, peer):
        if not self.per_cpu_second[peer]:
            return None
        return self.per_cpu_second[ours] / self.per_cpu_second[peer]


def measure(groups, plan):
    """Runs slices of all groups (name to process.Group) in turn; the first one changes by round."""
    samples = Samples({name: [] for name in groups})
    for group in groups.values():
        group.warm_up(plan.warm_up_steps, plan.seconds)
    names = list(groups)
    for i in range(plan.rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            samples.rates[name].append(groups[name].slice(plan.seconds))
    samples.per_cpu_second = {name: group.steps_per_cpu_second() for name, group in groups.items()}
    return samples


def measure_started(starters, plan):
    """As measure(), for functions that start the groups; all are closed at the end."""
    with contextlib.ExitStack() as stack:
        groups = {name: stack.enter_context(start()) for name, start in starters.items()}
        for group in groups.values():
            if not group.servers:
                group.workers[0].wait_ready()
        return measure(groups, plan)
