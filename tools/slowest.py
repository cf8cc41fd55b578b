#!/usr/bin/env python3
"""Prints the ten slowest tests of each preset in all runs of tools/test that are kept: cases of test programs, and whole scripts.

usage: slowest.py [PRESET...]      default: every preset that has run tests
"""
import sys

from results import presets, read_tests, runs

MOST = 10


def timed(tests):
    """(seconds, name) of every case that is timed, and of every test that has none."""
    for test in tests:
        cases = [(case.seconds, case.name) for case in test.cases if case.seconds is not None]
        yield from cases or [(test.seconds, test.name)]


def main():
    for preset in sys.argv[1:] or presets():
        newest = {test.name: test for run in runs(preset) for test in read_tests(run)}
        slowest = sorted(timed(newest.values()), reverse=True)[:MOST]
        print(f"{preset}: the {len(slowest)} slowest tests")
        for seconds, name in slowest:
            print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
