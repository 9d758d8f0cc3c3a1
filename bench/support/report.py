"""The lines of a benchmark: an aligned table for people, or a JSON object per line."""

import json
import math
import sys
from dataclasses import dataclass
from typing import Optional


@dataclass
class Line:
    name: str
    unit: str
    ours: float
    peer: Optional[float] = None
    median_ratio: Optional[float] = None  # of the rounds' own ratios
    cpu_ratio: Optional[float] = None  # steps per second of CPU time, of all tasks together
    target: Optional[float] = None
    # "ratio": ours is to be at least `target` times the peer; "at_least" and "at_most": ours alone.
    rule: str = "ratio"
    peer_name: str = "TensorFlow"

    @property
    def ratio(self):
        return self.ours / self.peer if self.peer else None

    @property
    def met(self):
        """None without a target, or without the peer that it speaks of."""
        if self.target is None or (self.rule == "ratio" and self.ratio is None):
            return None
        if self.rule == "at_most":
            return self.ours <= self.target
        return (self.ratio if self.rule == "ratio" else self.ours) >= self.target

    def as_json(self):
        return {
            "name": self.name,
            "ours": _rounded(self.ours),
            "peer": _rounded(self.peer),
            "ratio": _rounded(self.ratio),
            "median_ratio": _rounded(self.median_ratio),
            "cpu_ratio": _rounded(self.cpu_ratio),
            "target": self.target,
            "rule": self.rule,
            "unit": self.unit,
            "peer_name": self.peer_name,
            "met": self.met,
        }


class Report:
    """Prints each line as soon as it is known."""

    def __init__(self, as_json):
        self._json = as_json
        self._colour = not as_json and sys.stdout.isatty()
        self._headed = False
        self.lines = []

    def add(self, line):
        self.lines.append(line)
        print(json.dumps(line.as_json()) if self._json else self._row(line), flush=True)

    def note(self, text):
        """For people: what was left out and why. Not part of the JSON."""
        print(text, file=sys.stderr if self._json else sys.stdout, flush=True)

    def missed(self):
        return [line for line in self.lines if line.met is False]

    def _row(self, line):
        if not self._headed:
            self._headed = True
            print(_columns("", "ours", "peer", "ratio", "median", "per CPU", "target", ""))
        target = {"ratio": "%sx", "at_least": ">= %s", "at_most": "<= %s"}[line.rule]
        return _columns(
            line.name,
            "%s %s" % (_number(line.ours), line.unit),
            "%s %s" % (_number(line.peer), line.peer_name) if line.peer else "-",
            _number(line.ratio, "x"),
            _number(line.median_ratio, "x"),
            _number(line.cpu_ratio, "x"),
            target % _number(line.target) if line.target is not None else "-",
            self._verdict(line.met),
        )

    def _verdict(self, met):
        if met is None:
            return ""
        text, colour = ("met", 32) if met else ("missed", 31)
        return "\033[%dm%s\033[0m" % (colour, text) if self._colour else text


def _columns(name, *rest):
    return ("%-40s %15s %19s %7s %7s %7s %10s  %s" % (name, *rest)).rstrip()


def _number(value, unit=""):
    if value is None:
        return "-"
    digits = 0 if value >= 100 or value == int(value) else 2 if value < 10 else 1
    return f"{value:,.{digits}f}{unit}"


def _rounded(value):
    """Four figures after the point are more than a measurement holds; no NaN in JSON."""
    return None if value is None or not math.isfinite(value) else round(value, 4)
