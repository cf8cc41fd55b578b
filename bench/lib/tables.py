"""What a benchmark prints: Markdown tables, and the line under them: which program, which machine, when, and how busy it was."""
import json
import os
import pathlib
import platform
import subprocess
import time

from lib.places import CORES, PROGRAM

LOAD = os.getloadavg()[0]  # before the benchmark adds its own


def row(cells):
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(columns):
    """The first two lines of a Markdown table."""
    return row(columns) + "\n" + row(["---"] * len(columns))


def print_table(columns, rows, title=""):
    """Prints a table, each row as soon as it is there."""
    print(f"\n{title}\n\n" if title else "\n", heading(columns), sep="", flush=True)
    for cells in rows:
        print(row(cells), flush=True)


def grid(corner, columns, lines, cell):
    """Prints a table of cell(line, column): its text, or nothing."""
    print_table([corner, *columns], ([line, *(cell(line, column) or "" for column in columns)] for line in lines))


def say(value, form, none=""):
    """A value by this form, such as ".2f"; `none` where there is no value."""
    return none if value is None else format(value, form)


def listed(values):
    """For example: 4, 8."""
    return ", ".join(map(str, values))


def version():
    """The answer of `yoke version`: version, commit, ..."""
    return json.loads(subprocess.check_output([PROGRAM, "version", "--json"], text=True))


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def conditions(threads, runs):
    """For example: yoke 0.1.0 (1bc80be), AMD EPYC, 2 threads of 2 cores, 2026-11-22, load before 0.3; one run each."""
    built = version()
    return (f"yoke {built['version']} ({built['commit']}), {cpu_name()}, {threads} threads of {CORES} cores, "
            f"{time.strftime('%Y-%m-%d')}, load before {LOAD:.1f}; {runs}")
