#!/usr/bin/env python3
"""Prints the ten slowest tests of the last ctest run of each preset: cases of test programs, and whole scripts.

usage: slowest.py [PRESET...]      default: every preset that has run tests
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 10


def cases(build):
    """(seconds, name) of every case that the test programs have timed."""
    for path in sorted((build / "tests" / "times").glob("*.json")):
        for suite in json.loads(path.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                yield float(case["time"].rstrip("s")), f"{path.name.split('.')[0]}: {suite['name']}.{case['name']}"


def scripts(build):
    """(seconds, name) of every test that ctest ran and that has no cases of its own."""
    log = build / "Testing" / "Temporary" / "LastTest.log"
    if not log.exists():
        return
    for block in re.split(r"^\d+/\d+ Test: ", log.read_text(errors="replace"), flags=re.M)[1:]:
        name, seconds = block.split("\n", 1)[0], re.search(r"^Test time = +([\d.]+) sec", block, re.M)
        if seconds and not (build / "tests" / "times" / f"{name}.json").exists():
            yield float(seconds[1]), name


def main():
    presets = sys.argv[1:] or sorted(path.name for path in (ROOT / "build").glob("*") if (path / "Testing").exists())
    for preset in presets:
        build = ROOT / "build" / preset
        slowest = sorted([*cases(build), *scripts(build)], reverse=True)[:MOST]
        print(f"{preset}: the {len(slowest)} slowest tests")
        for seconds, name in slowest:
            print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
