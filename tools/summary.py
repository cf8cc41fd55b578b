#!/usr/bin/env python3
"""Counts the cases of the last run of a preset, and names those that failed or were skipped, with the reason.

usage: summary.py PRESET
       summary.py --logs FILE...     adds up what earlier calls have printed into files
       summary.py --skipped LINE     says the same of what was not started

The last line is `N passed, N failed, N skipped`. Exit status 1 where a case failed or, of what was started, none passed.
"""
import collections
import os
import pathlib
import re
import sys

from results import read_tests, runs

OUTCOMES = ("passed", "failed", "skipped")
COUNTS = re.compile(", ".join(rf"(\d+) {outcome}" for outcome in OUTCOMES))


def count(preset):
    """How many cases had each outcome, and a line for each that did not pass."""
    cases = [case for test in read_tests(runs(preset)[-1]) for case in test.cases]
    where = f"{preset} at {os.environ['YOKE_ISA']}" if "YOKE_ISA" in os.environ else preset
    lines = [f"{case.outcome}: {where}: {case.name}" + (f": {' '.join(case.reason.split())}" if case.reason else "")
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
    first, *words = sys.argv[1:]
    if first == "--skipped":
        counts, lines = collections.Counter(skipped=1), [f"skipped: {words[0]}"]
    else:
        counts, lines = add(words) if first == "--logs" else count(first)
    for line in sorted(set(lines)):
        print(line)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    sys.exit(1 if counts["failed"] or not (counts["passed"] or first == "--skipped") else 0)


if __name__ == "__main__":
    main()
