#!/usr/bin/env python3
"""Fails where adding a part takes other paths than docs/develop.md says, or where the smallest part no longer compiles.

usage: parts_check.py [--self-test] [--build]      prints one line an offence, exit status 1 when there is any

For each kind of part it adds a part that does nothing (tools/idle_parts.py) to a copy of the tree, finds which paths differ,
compares them with the table "Adding a part" of docs/develop.md, runs the house's checks there, and compiles the sources (syntax
alone, with the flags of the newest build). --build also compiles the tests so, and builds the program of a copy with all these
parts, which takes some minutes: `yoke list` has each, the page of keys is current, and a job that consists of them runs. No test
is run: a part that does nothing does not learn, as conformance tests ask.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import check
import idle_parts

CHECKS = ("registry_check", "ladder", "strategy_check")
TABLE = re.compile(r"^## Adding a part$(.*?)^## ", re.M | re.S)
ROW = re.compile(r"^\| (\w+) \| (\d+) \| (.*) \|$", re.M)
JOB = """
[data]
format = "idle"
[[model.layer]]
type = "idle"
[[model.layer]]
type = "linear"
outputs = 2
[[model.layer]]
type = "softmax_cross_entropy"
[train]
epochs = 1
rule = "idle"
[node]
executor = "idle"
[cluster]
strategy = "idle"
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout.decode()
    return [path for path in listed.split("\0") if path and (root / path).is_file()]


def copy_tree(to):
    for path in tracked(check.ROOT):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(check.ROOT / path, to / path)


def add(part, root):
    """Writes the files of a part below `root`."""
    for path, content in part.items():
        file = root / path
        text = content if isinstance(content, str) else file.read_text()
        for place, more in [] if isinstance(content, str) else content:
            if place and text.count(place) != 1:
                raise SystemExit(f"tools/idle_parts.py: {path} holds {place!r} {text.count(place)} times, expected once")
            text = text.replace(place, more + place) if place else text + more
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def changed(root):
    """The paths of a copy that are new or differ."""
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.is_file() and (not (check.ROOT / path).is_file() or file.read_bytes() != (check.ROOT / path).read_bytes()):
            yield path


def told(page):
    """Kind -> (number, paths of a part named idle), from the table of a page."""
    rows = ROW.findall("".join(TABLE.findall(page)))
    return {kind: (int(number), set(re.findall("`([^`]+)`", cell.replace("NAME", "idle")))) for kind, number, cell in rows}


def flags():
    """Folder of src/ -> the command that compiles a file of it, without the file, of the newest build."""
    builds = sorted(check.ROOT.glob("build/*/compile_commands.json"), key=os.path.getmtime)
    if not builds:
        raise SystemExit("parts_check.py: no build to take the compiler's flags from: cmake --preset release")
    commands = {}
    for entry in json.loads(builds[-1].read_text()):
        found = re.search(r" -o \S*/yoke_([a-z]+)\.dir/", entry["command"])
        if found:
            commands.setdefault(found[1], shlex.split(entry["command"].split(" -o ")[0]))
    return commands


def compile_offences(kind, root, path, commands):
    folder = path.split("/")[1]
    words = [word.replace(f"{check.ROOT}/src", f"{root}/src") for word in commands[folder]]
    done = run(*words, "-fsyntax-only", "-O0", "-w", f"-I{root}/tests", root / path)
    if done.returncode:
        yield f"{kind}: {path} does not compile:\n{done.stdout.strip()}"


def offences_of(kind, part, saying, root, tests):
    """What is wrong with a part of this kind in the empty folder `root`; `saying`: told()."""
    commands = flags()
    copy_tree(root)
    add(part, root)
    paths = set(changed(root))
    number, named = saying.get(kind, (0, set()))
    if number != len(paths):
        yield f"docs/develop.md says that a {kind} takes {number} paths; it takes {len(paths)}"
    for path in sorted(paths ^ named):
        yield f"{kind}: docs/develop.md {'does not name' if path in paths else 'names'} {path}"
    for tool in CHECKS:
        done = run(sys.executable, root / f"tools/{tool}.py")
        if done.returncode:
            yield f"{kind}: {done.stdout.strip()}"
    for path in sorted(paths):
        if path.endswith(".cc") and (tests or path.startswith("src/")):
            yield from compile_offences(kind, root, path, commands)


def offences(parts, saying, tests=False):
    """The sentences for all kinds, two of them at a time."""
    def one(kind):
        with tempfile.TemporaryDirectory() as folder:
            return list(offences_of(kind, parts[kind], saying, pathlib.Path(folder), tests))
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return [line for lines in threads.map(one, parts) for line in lines]


def build_offences(root):
    """What is wrong with the program that has all the parts."""
    copy_tree(root)
    for part in idle_parts.PARTS.values():
        add(part, root)
    for words in (["git", "init", "-q"], ["cmake", "--preset", "release"], ["cmake", "--build", "build/release", "--target", "yoke"]):
        done = run(*words, cwd=root)
        if done.returncode:
            yield f"{' '.join(words)}:\n{done.stdout[-4000:]}"
            return
    yoke, job = root / "build/bin/yoke", root / "job.toml"
    job.write_text(JOB)
    for kind in ("layers", "strategies", "executors", "rules", "formats", "devices"):
        found = re.search("^idle .*", run(yoke, "list", kind).stdout, re.M)
        if not found:
            yield f"yoke list {kind} has no idle"
        print(f"yoke list {kind}:", found[0] if found else "no idle", flush=True)
    done = run(yoke, "train", job, "--run", root / "run", "--quiet")
    if done.returncode:
        yield f"the job of idle parts ended with status {done.returncode}: {done.stdout.strip()}"
    done = run(yoke, "train", job, "--run", root / "run2", "--set", "node.devices=idle", "--set", "node.executor=single")
    if "not on idle" not in done.stdout:
        yield f"the device idle, which has no kernels, was not refused with a sentence: {done.stdout.strip()}"


def self_test():
    """A wrong number, a path that is not named, a missing page and a source that does not compile are found."""
    rule, page, code = idle_parts.PARTS["rule"], "docs/rules/idle.md", {"src/optim/rules/idle.cc": "RuleEntry idle();\n"}
    saying = told("## Adding a part\n| rule | 4 | " + " ".join(f"`{path}`" for path in rule).replace("idle", "NAME") + " |\n## Next\n")
    cases = {"": (rule, saying),
             "says that a rule takes 3 paths": (rule, {"rule": (3, saying["rule"][1])}),
             f"does not name {page}": (rule, {"rule": (4, saying["rule"][1] - {page})}),
             f"has no page {page}": ({path: text for path, text in rule.items() if path != page}, saying),
             "does not compile": ({**rule, **code}, saying)}
    for expected, (part, numbers) in cases.items():
        found = "\n".join(offences({"rule": part}, numbers))
        if expected not in found or bool(expected) != bool(found):
            raise SystemExit(f"self-test: expected {expected or 'nothing'!r}, found\n{found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="see that each kind of offence is found")
    parser.add_argument("--build", action="store_true", help="also build and run the program of a copy that has all the parts")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    saying = told((check.ROOT / "docs/develop.md").read_text())
    found = offences(idle_parts.PARTS, saying, arguments.build)
    if arguments.build:
        with tempfile.TemporaryDirectory() as folder:
            found += build_offences(pathlib.Path(folder))
    print("\n".join(found) or "\n".join(f"{kind}: {number} paths" for kind, (number, _) in saying.items()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
