#!/usr/bin/env python3
"""The tables of docs/ that are measured: which are older than what they measure, and one of them, or all of a page, measured again.

usage: bench/figures.py                      lists all, a line each            (make figures)
       bench/figures.py NAME [--quick]       measures NAME and puts it into its page; --quick only prints a try   (make figure NAME=...)
                                             Status 2 where its command has words in capitals: they are for you to replace.
       bench/figures.py PAGE.md [--quick]    the same of all tables of docs/PAGE.md, one after the other; at the end it tells which were left

bench/figures.toml has for each figure its page, its command and the paths that it measures. In the page the table stands between
`<!-- figure: NAME, commit 1c77b03, 2026-11-26 -->` and `<!-- end -->`, after the commit at which it was measured. A new one is the tables
that the command prints, and its line of conditions; what a page leaves out of it, or says about it, is for its author.
"""
import argparse
import re
import subprocess
import sys
import tomllib

from lib import explain, tables  # noqa: F401
from lib.places import CORES, ROOT

MARKER = re.compile(r"<!-- figure: ([\w-]+), commit (\w+), (\d{4}-\d\d-\d\d) -->\n(.*?)<!-- end -->\n", re.S)
CONDITIONS = re.compile(r"^yoke \S+ \((\w+)(?:-dirty)?\), .*, (\d{4}-\d\d-\d\d), load before .*$", re.M)
TO_CHOOSE = re.compile(r"\b[A-Z]{2,}\b")
TABLE = re.compile(r"^\|.*(?:\n\|.*)*", re.M)


def registry():
    """{name: {"page", "command", "measures"}}"""
    return tomllib.loads((ROOT / "bench/figures.toml").read_text(encoding="utf-8"))


def markers(page):
    """{name: (commit, date, table)} of a page's text."""
    return {name: rest for name, *rest in MARKER.findall(page)}


def page_of(figure):
    return ROOT / "docs" / figure["page"]


def changes_since(commit, paths):
    """How many commits have changed these paths since, and which of the paths; None where git does not know the commit."""
    def log(*of):
        return subprocess.run(["git", "log", "--format=%h", f"{commit}..", "--", *of], cwd=ROOT, capture_output=True, text=True, check=False)

    found = log(*paths)
    return None if found.returncode else (len(found.stdout.split()), [path for path in paths if log(path).stdout])


def state(name, figure):
    """A line: name, page, commit and date, how much of what it measures is newer, and the command."""
    commit, date, _ = markers(page_of(figure).read_text(encoding="utf-8"))[name]
    changes = changes_since(commit, figure["measures"].split())
    age = "older than the history" if changes is None else "current" if not changes[0] else f"{changes[0]} commits since in {', '.join(changes[1])}"
    return f"{name:<20} docs/{figure['page']:<26} {commit:<8} {date}  {age}; {figure['command']}"


def replaced(page, name, output, which=None):
    """The page's text with the tables of this output, all or those that `which` counts from 0 (-1: the last), and its conditions; a program of C++
    prints none."""
    printed = TABLE.findall(output)
    found = [table for i, table in enumerate(printed) if which is None or i in which or i - len(printed) in which]
    if not found:
        raise RuntimeError(f"{name}: its command prints no Markdown table: change the page by hand")
    conditions = CONDITIONS.search(output) or CONDITIONS.search(tables.conditions(CORES, "as the command says"))
    marked = f"<!-- figure: {name}, commit {conditions[1][:7]}, {conditions[2]} -->\n" + "\n\n".join(found)
    marked += f"\n\nConditions: {conditions[0]}.\n<!-- end -->\n"
    return MARKER.sub(lambda match: marked if match[1] == name else match[0], page)


def measure(name, quick):
    """Runs the figure's command, in the tree's root, and changes its page."""
    if name not in registry():
        raise RuntimeError(f"no figure {name}; there are {', '.join(registry())}")
    figure = registry()[name]
    if words := TO_CHOOSE.findall(figure["command"]):
        raise RuntimeError(f"{name}: replace {', '.join(words)} in `{figure['command']}`, run it, and change docs/{figure['page']} by hand")
    command = figure["command"] + (" --quick" if quick else "")
    if quick and not command.startswith(("bench/", "tools/bench")):
        raise RuntimeError(f"{name}: `{figure['command']}` has no --quick")
    print(command, flush=True)
    process = subprocess.Popen(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    output = ""
    for line in process.stdout:
        output += line
        print(line, end="", flush=True)
    if process.wait():
        sys.exit(process.returncode)
    if not quick:
        page = page_of(figure)
        page.write_text(replaced(page.read_text(encoding="utf-8"), name, output, figure.get("tables")), encoding="utf-8")
        print(f"\ndocs/{figure['page']} has the new tables: see `git diff`")


def measure_page(page, quick):
    names = [name for name, figure in registry().items() if figure["page"] == page.removeprefix("docs/")]
    if not names:
        raise RuntimeError(f"no figure on page {page}; there are some on {', '.join(sorted({one['page'] for one in registry().values()}))}")
    left = []
    for name in names:
        try:
            measure(name, quick)
        except RuntimeError as why:
            left.append(str(why))
    if left:
        raise RuntimeError("\n".join(left))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.name:
        return (measure_page if arguments.name.endswith(".md") else measure)(arguments.name, arguments.quick)
    print("\n".join(state(*one) for one in registry().items()))


if __name__ == "__main__":
    main()
