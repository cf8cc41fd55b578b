"""The line under a table of figures: which program, which machine, when, and how busy the machine was."""
import json
import os
import pathlib
import platform
import subprocess
import time

from job_runs import PROGRAM

LOAD = os.getloadavg()[0]  # before the benchmark adds its own


def version(program=PROGRAM):
    """The answer of `yoke version`: version, commit, ..."""
    return json.loads(subprocess.check_output([program, "version", "--json"], text=True))


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def conditions(threads, runs, built=None):
    """For example: yoke 0.1.0 (1bc80be), AMD EPYC, 2 threads of 2 cores, 2026-11-22, load before 0.3; one run each."""
    built = built or version()
    return (f"yoke {built['version']} ({built['commit']}), {cpu_name()}, {threads} threads of {len(os.sched_getaffinity(0))} cores, "
            f"{time.strftime('%Y-%m-%d')}, load before {LOAD:.1f}; {runs}")


def row(cells):
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(columns):
    """The first two lines of a Markdown table."""
    return row(columns) + "\n" + row(["---"] * len(columns))
