#!/usr/bin/env python3
"""What `auto` costs against the best static choice: trains every candidate of a plan to the job's target, then the job with `auto`.

usage: bench/plan_sweep.py JOB [--most 60] [--limit 10m] [--cluster FILE] [--set KEY=VALUE]...

JOB has a train.target (bench/sweeps has jobs and clusters). Candidates are those that `yoke plan` prices, the fastest by prediction first; those
that it leaves out because they exchange too seldom come last. All train with the job's rate. Prints the seconds to the target of each (with
--cluster virtual ones) with its place in the prediction, then those of `auto` with its search, their ratio to the best, and to the slower of the
first synchronous and the first asynchronous candidate. Run it on an idle machine.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from conditions import conditions, heading, row
from job_runs import DATA, PROGRAM

ENVIRONMENT = {**os.environ, "YOKE_DATA": str(DATA)}
AUTO = ["node.executor=auto", "node.precision=auto", "cluster.strategy=auto"]


def last(words, name):
    """The last event of that name, and the command's seconds."""
    began = time.monotonic()
    done = subprocess.run([str(PROGRAM), *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [event for event in events if event["event"] == name]
    return (found[-1] if found else None), time.monotonic() - began


class Sweep:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.runs = arguments, folder, 0

    def seconds(self, changes):
        """To the target, with all that comes before; None if it was not reached."""
        a = self.arguments
        self.runs += 1
        command = ["simulate", a.job, "--cluster", a.cluster] if a.cluster else ["train", a.job]
        sets = [f"--set={change}" for change in [*a.set, f"train.time_limit={a.limit}", *changes]]
        end, wall = last([*command, "--run", self.folder / str(self.runs), *sets], "end")
        if not end or end["reason"] != "target":
            return None
        return end["virtual_seconds"] if a.cluster else wall


def text(seconds):
    return "not reached" if seconds is None else f"{seconds:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job")
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--limit", default="10m", help="train.time_limit of each run")
    parser.add_argument("--cluster")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    print(conditions(0, "one run each"))
    if "learning_rate" not in pathlib.Path(arguments.job).read_text() + " ".join(arguments.set):
        sys.exit("the job needs a train.learning_rate: all candidates train with it")
    where = ["--cluster", arguments.cluster] if arguments.cluster else []
    plan, _ = last(["plan", arguments.job, "--trial-seconds", 0, *where, *(f"--set={change}" for change in arguments.set)], "plan")
    if not plan:
        raise RuntimeError("`yoke plan` ended without a plan")
    priced = [one for one in plan["candidates"] if one["seconds"] and not (one["dropped"] or "").startswith("the same work")]
    priced.sort(key=lambda one: ((one["dropped"] or "").startswith("it exchanges"), one["seconds"]))  # what is not predicted to learn comes last
    alike = {(one["strategy"], one["seconds_per_update"], one["updates"]): one for one in reversed(priced)}  # executors that do the same work
    priced = [one for one in priced if one in alike.values()]
    print("\n" + heading(["place", "candidate", "predicted s", "s to the target"]))
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(arguments, pathlib.Path(folder))
        found = []
        for place, one in enumerate(priced[:arguments.most], 1):
            seconds = sweep.seconds([f"{key}={value}" for key, value in one["keys"].items()])
            found.append((seconds, place, one))
            print(row([place, one["name"], f"{one['seconds']:.1f}", text(seconds)]), flush=True)
        reached = [each for each in found if each[0] is not None]
        auto = sweep.seconds(AUTO)
    print(f"\nauto: {text(auto)} s")
    if not reached:
        sys.exit("no candidate has reached the target")
    best = min(reached, key=lambda each: each[0])
    print(f"best: {best[2]['name']}, {best[0]:.1f} s, at place {best[1]} of the prediction")
    if auto is not None:
        print(f"auto / best: {auto / best[0]:.2f}")
        for name in ("allreduce", "async_msgd"):
            ends = [each[0] for each in reached if each[2]["strategy"] == name]
            if ends:
                print(f"{name} / auto: {ends[0] / auto:.2f}")


if __name__ == "__main__":
    main()
