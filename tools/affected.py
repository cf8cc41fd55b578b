#!/usr/bin/env python3
"""Names the folders whose tests a change asks for: those it touches, and those that stand on them by the ladder of src/CMakeLists.txt.

usage: affected.py --since COMMIT [--among FOLDER...]

Prints the folders of tests/ on one line. A change of the build (CMake, .ci) asks for all; tests, pages and tools for no others.
"""
import argparse
import pathlib
import subprocess

from ladder import read_ladder

ROOT = pathlib.Path(__file__).resolve().parent.parent


def affected(changed, ladder):
    """The folders of src/ that the changed files ask for."""
    folders = set()
    for file in changed:
        top, *rest = file.split("/")
        if top in ("cmake", ".ci") or file.endswith(("CMakeLists.txt", "CMakePresets.json")):
            return set(ladder)
        if top == "src":
            folders |= {folder for folder, below in ladder.items() if rest[0] in below}
        if top == "tests" and rest[0] in ladder:
            folders.add(rest[0])
    return folders


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", required=True)
    parser.add_argument("--among", nargs="*", help="print only these")
    words = parser.parse_args()
    changed = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", words.since], capture_output=True, text=True, check=True).stdout.split()
    ladder = read_ladder(ROOT / "src/CMakeLists.txt")
    tested = [folder for folder in ladder if list((ROOT / "tests" / folder).rglob("*_test.cc"))]
    wanted = affected(changed, ladder) & set(words.among or tested)
    print(" ".join(folder for folder in tested if folder in wanted))


if __name__ == "__main__":
    main()
