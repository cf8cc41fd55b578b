#!/usr/bin/env python3
"""Runs every test that needs an NVIDIA GPU and prints one table; without a GPU one sentence says so.

usage: gpu_check.py [--build DIR] [--seconds N]

DIR holds bin/yoke and tests/*_gpu_test: a build (default: build/release, with build/bin/yoke) or what `make gpu-bundle` made.
Test programs that are not done after N seconds in all (240) fail. Then two of them run under compute-sanitizer, where it is
installed and time is left. Exit status 1: a test failed.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Under memcheck tests take about twenty times as long.
SANITIZED = {"tensor_gpu_test": "*", "node_gpu_test": "*"}


def program_of(build):
    """The program yoke of a build or bundle."""
    places = [build / "bin/yoke", ROOT / "build/bin/yoke"]
    return next((place for place in places if place.exists()), None)


def gpus(program):
    """The GPUs on which it can train, and why there is none."""
    done = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [], (done.stderr or done.stdout).strip()
    found = json.loads(done.stdout.splitlines()[0])
    usable = [gpu for gpu in found["cuda"] if not gpu["not_usable"]]
    return usable, found["no_cuda"] or "; ".join(f"{gpu['device']}: {gpu['not_usable']}" for gpu in found["cuda"])


def build_tests(build):
    targets = subprocess.run(["cmake", "--build", build, "--target", "help"], capture_output=True, text=True, check=True).stdout
    tests = re.findall(r"^([a-z]+_gpu_test): phony$", targets, re.M)
    if tests:
        subprocess.run(["cmake", "--build", build, "--target", *tests], check=True)


def row_of(name, command, seconds):
    """A row of the table: what ran, how many tests passed and failed, seconds, and a note."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 1), check=False, cwd=ROOT)
        out, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        out, code = (late.stdout or b"").decode(errors="replace"), None
    passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", out, re.M)))
    failed = re.findall(r"^\[  FAILED  \] (\w[\w/]*\.[\w/]+)", out, re.M)
    skipped = len(set(re.findall(r"^\[  SKIPPED \] ([\w/.]+) ", out, re.M)))
    note = "out of time" if code is None else ", ".join(dict.fromkeys(failed)) or ("" if code == 0 else f"exit status {code}")
    if skipped:
        note = f"{skipped} skipped{'; ' if note else ''}{note}"
    if code != 0:
        print(out, file=sys.stderr)
    return [name, str(passed - skipped), str(len(set(failed))), f"{time.monotonic() - began:.0f} s", note], code == 0


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=240)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    program = program_of(build)
    if not program:
        raise SystemExit(f"gpu-check: there is no program in {build}: `make build` makes it")
    found, why = gpus(program)
    if not found:
        print(f"gpu-check: no GPU to check: {why}.")
        return 0
    for gpu in found:
        print(f"{gpu['device']}: {gpu['name']}, {gpu['memory'] / 1e9:.0f} GB")
    if (build / "build.ninja").exists():
        build_tests(build)
    tests = sorted(build.glob("tests/*_gpu_test"))
    if not tests:
        raise SystemExit(f"gpu-check: there are no GPU tests in {build}/tests: were they built where nvcc is?")
    end = time.monotonic() + arguments.seconds
    rows, good = [["tests", "passed", "failed", "time", ""]], True
    jobs = [(test.name, [test]) for test in tests]
    if sanitizer := shutil.which("compute-sanitizer"):
        jobs += [(f"{test.name} (memcheck)", [sanitizer, "--error-exitcode", "9", test, f"--gtest_filter={SANITIZED[test.name]}"])
                 for test in tests if test.name in SANITIZED]
    for name, command in jobs:
        row, fine = row_of(name, command, end - time.monotonic())
        rows.append(row)
        good = good and fine
    print_table(rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
