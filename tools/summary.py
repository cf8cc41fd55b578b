#!/usr/bin/env python3
"""Counts the cases of the last ctest run of a preset, and names those that failed or were skipped, with the reason.

usage: summary.py PRESET
       summary.py --logs FILE...     adds up what earlier calls have printed into files

The last line is `N passed, N failed, N skipped`. Exit status 1 where a case failed or none passed.
"""
import collections
import pathlib
import re
import sys

from results import read_tests

OUTCOMES = ("passed", "failed", "skipped")
COUNTS = re.compile(", ".join(rf"(\d+) {outcome}" for outcome in OUTCOMES))


def count(preset):
    """How many cases had each outcome, and a line for each that did not pass."""
    cases = [case for test in read_tests(preset) for case in test.cases]
    lines = [f"{case.outcome}: {preset}: {case.name}" + (f": {' '.join(case.reason.split())}" if case.reason else "")
             for case in cases if case.outcome != "passed"]
    return collections.Counter(case.outcome for case in cases), lines


def add(logs):
    """The same of several runs."""
    counts, lines = collections.Counter(), []
    for line in "\n".join(pathlib.Path(log).read_text(errors="replace") for log in logs).splitlines():
        if found := COUNTS.fullmatch(line):
            counts.update(dict(zip(OUTCOMES, map(int, found.groups()))))
        elif line.startswith(("failed: ", "skipped: ")):
            lines.append(line)
    return counts, lines


def main():
    counts, lines = add(sys.argv[2:]) if sys.argv[1] == "--logs" else count(sys.argv[1])
    for line in sorted(set(lines)):
        print(line)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
