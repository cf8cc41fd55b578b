#!/usr/bin/env python3
"""Names the folders whose tests a change asks for: those it touches, and those that stand on them by the ladder of src/CMakeLists.txt.

usage: affected.py --since COMMIT [--among FOLDER...]

Prints the folders of tests/ on one line, those that the change touches first. A change of the build (CMake, .ci) asks for all; tests,
pages and tools for no others.
"""
import argparse
import pathlib
import subprocess

from ladder import read_ladder

ROOT = pathlib.Path(__file__).resolve().parent.parent


def affected(changed, ladder):
    """The folders of src/ that the changed files ask for: those they touch, then the others."""
    touched, above = set(), set()
    for file in changed:
        top, *rest = file.split("/")
        if top in ("cmake", ".ci") or file.endswith(("CMakeLists.txt", "CMakePresets.json")):
            above |= set(ladder)
        elif top in ("src", "tests") and rest[0] in ladder:
            touched.add(rest[0])
            above |= {folder for folder, below in ladder.items() if top == "src" and rest[0] in below}
    return sorted(touched | above, key=lambda folder: (folder not in touched, [*ladder].index(folder)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", required=True)
    parser.add_argument("--among", nargs="*", help="print only these")
    words = parser.parse_args()
    changed = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", words.since], capture_output=True, text=True, check=True).stdout.split()
    ladder = read_ladder(ROOT / "src/CMakeLists.txt")
    tested = {folder for folder in words.among or ladder if list((ROOT / "tests" / folder).rglob("*_test.cc"))}
    print(" ".join(folder for folder in affected(changed, ladder) if folder in tested))


if __name__ == "__main__":
    main()
