#!/usr/bin/env python3
"""Prints how long the code is: lines a folder, the length of files and of functions, beside STYLE.md's bounds.

usage: sizes.py [--longest N]      functions need universal-ctags; without it that part says so
"""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess

SUFFIXES = (".cc", ".h", ".cu", ".cuh", ".def", ".py")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def tracked_files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name.endswith(SUFFIXES) and (ROOT / name).is_file()]


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[: 2 if parts[0] in ("src", "tests") and len(parts) > 2 else 1])


def function_lengths(names):
    """(lines, "file:line name") of every function, as universal-ctags sees them; None without it."""
    ctags = shutil.which("ctags")
    if not ctags or "json" not in subprocess.run([ctags, "--list-features"], capture_output=True, text=True).stdout:
        return None
    words = [ctags, "--output-format=json", "--fields=+ne", "--kinds-C++=f", "--kinds-Python=fm", "--langmap=C++:+.h", "-L", "-", "-f", "-"]
    out = subprocess.run(words, input="\n".join(names), capture_output=True, text=True, cwd=ROOT, check=True).stdout
    tags = [json.loads(line) for line in out.splitlines()]
    return [(tag["end"] - tag["line"] + 1, f"{tag['path']}:{tag['line']} {tag['name']}") for tag in tags if "end" in tag]


def distribution(what, lengths, long, bounds, longest):
    ordered = sorted(lengths, reverse=True)
    counts = [count for count, _ in ordered][::-1]
    share = 100 * sum(count > long for count in counts) / len(counts)
    print(f"{what}: {len(counts)}, median {counts[len(counts) // 2]}, 90 % within {counts[int(0.9 * (len(counts) - 1))]}, "
          f"{share:.1f} % over {long}, longest {counts[-1]}   ({bounds})")
    for count, name in ordered[:longest]:
        print(f"    {count:5} {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=5, help="how many of the longest to name")
    longest = parser.parse_args().longest
    files = [(len((ROOT / name).read_text().splitlines()), name) for name in tracked_files()]
    folders = collections.Counter()
    for count, name in files:
        folders[folder_of(name)] += count
    for folder, count in sorted(folders.items()):
        print(f"{count:7} {folder}")
    print(f"{sum(folders.values()):7} in all")
    distribution("files", files, 300, "bounds: under 300, 500 at most", longest)
    functions = function_lengths([name for _, name in files if not name.startswith("tests/")])
    if functions:
        distribution("functions", functions, 60, "bounds: median under 10, 90 % under 30, about 1 % over 60", longest)
    else:
        print("functions: not measured; `apt-get install universal-ctags` lets this tool see them")


if __name__ == "__main__":
    main()
