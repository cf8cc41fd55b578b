#!/usr/bin/env python3
"""Names the slow tests that a change asks for, as a pattern for `ctest -R`.

usage: slow_tests.py --since COMMIT [--budget SECONDS]

A slow test says near its beginning what it guards and how long it takes on two idle cores: `guards: src/comm src/strategy (60 s)`.
It is due when a file below one of these paths has changed, or the test itself. Within the budget the cheapest go first; what does
not fit is named on standard error (`make test-all` runs everything).
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUARDS = re.compile(r"guards: (.+?) \((\d+) s\)")


def slow_tests():
    """(test's name, its file, guarded paths, seconds) of every slow test."""
    for path in sorted((ROOT / "tests").rglob("*_slow_test.*")):
        file = str(path.relative_to(ROOT))
        found = GUARDS.search(path.read_text()[:2000])
        if not found:
            sys.exit(f"{file}: expected a line `guards: PATH... (N s)` near the beginning of a slow test")
        folder, stem = file.split("/")[1], path.stem
        name = f"{folder}.slow" if path.suffix == ".cc" else f"{folder}.{stem}"
        yield name, file, found[1].split(), int(found[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", required=True)
    parser.add_argument("--budget", type=int, default=10**9)
    words = parser.parse_args()
    changed = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", words.since], capture_output=True, text=True, check=True).stdout.split()
    due = [test for test in slow_tests() if any(file.startswith((*test[2], test[1])) for file in changed)]
    left, chosen, late = words.budget, [], []
    for name, _, _, seconds in sorted(due, key=lambda test: test[3]):
        (chosen if seconds <= left else late).append(name)
        left -= seconds if seconds <= left else 0
    if late:
        print(f"slow tests that do not fit into {words.budget} s, left to make test-all: {' '.join(late)}", file=sys.stderr)
    if chosen:
        print("^(" + "|".join(re.escape(name) for name in dict.fromkeys(chosen)) + r")(\.mpi\..*)?$")  # under each MPI too


if __name__ == "__main__":
    main()
