#!/usr/bin/env python3
"""Seconds an update that `yoke plan` predicts, against those of real ranks: by strategy, number of groups and served head.

usage: bench/plan_ranks.py [--ranks 4,8] [--world threads|mpi|hosts:1gbit] [--strategies NAMES] [--examples 7680] [--runs 3] [--plans 1]
                           [--set KEY=VALUE]...

`yoke plan` prices the candidates on the ranks of this world, and each then trains with the keys of its candidate: LeNet on drawn digits, one
thread a rank. An update is, as in the plan, train.batch examples on each replica that trains. Prints the medians of --plans plans and of --runs
trainings, and the number of groups from which an update does not get 10 % faster. Where ranks share cores, so do they in the plan. Repeats what
other programs have disturbed.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from conditions import conditions, heading, row
from quiet import alone
from simulate_real import BATCH, JOB, call, launcher_of

GROUPS = "compute_groups"
STRATEGIES = ["allreduce", "easgd_sync3", "easgd_original", "easgd_async", "gossip_pull", "gossip_push", "sgp"]
WITHIN = {GROUPS: 0.15}  # of what is measured; others:
WITHIN_OTHERS = 0.10
FASTER = 0.9  # of the time with half as many groups


class World:
    """So many ranks that plan and train."""

    def __init__(self, world, ranks, folder, changes):
        self.ranks, self.folder = ranks, pathlib.Path(folder)
        self.launcher = launcher_of(world, ranks)
        self.words = [*([] if self.launcher else ["--replicas", ranks]), *(f"--set={change}" for change in changes)]

    def prices(self, job, strategies):
        """Predicted seconds an update, by the candidate's keys for --set."""
        words = ["plan", job, "--trial-seconds", 0, "--only", ",".join(["single", "f32", *strategies]), *self.words]
        plan = alone(lambda: call(words, self.launcher))
        return {tuple(f"{key}={value}" for key, value in one["keys"].items()): one["seconds_per_update"]
                for one in plan["candidates"] if one["seconds_per_update"]}

    def update_seconds(self, job, keys, batch, examples):
        """Measured: of one training."""
        def train():
            run = self.folder / f"run{len(os.listdir(self.folder))}"
            return call(["train", job, "--run", run, *(f"--set={key}" for key in keys), *self.words], self.launcher)
        end = alone(train)
        return end["exchange"]["step_seconds"] * batch * self.ranks / (end["epochs"] * examples)


def settings(keys):
    """Strategy, groups and whether the head is served; None if the candidate has other keys, such as a period."""
    values = dict(key.removeprefix("cluster.").split("=", 1) for key in keys)
    strategy = values.pop("strategy", "allreduce")
    groups, served = values.pop("groups", None), values.pop("served_head", "false")
    if values or (strategy == GROUPS) != (groups is not None):
        return None
    return strategy, int(groups or 0), served == "true"


def saturation(times):
    """The number of groups from which an update gets no faster."""
    groups = sorted(times)
    return next((few for few, many in zip(groups, groups[1:]) if times[many] > FASTER * times[few]), groups[-1])


def compare(world, job, arguments):
    """Prints the table of this world."""
    plans = [world.prices(job, [*arguments.strategies.split(","), GROUPS]) for _ in range(arguments.plans)]
    chosen = sorted((what, keys) for keys in plans[0] if (what := settings(keys)))
    times, good = {}, 0
    print(heading(["candidate", "predicted ms/update", "measured", "least", "most", "predicted / measured"]))
    for what, keys in chosen:
        predicted = statistics.median(plan[keys] for plan in plans)
        runs = sorted(world.update_seconds(job, keys, arguments.batch, arguments.examples) for _ in range(arguments.runs))
        measured = statistics.median(runs)
        times[what] = predicted, measured
        good += abs(predicted / measured - 1) <= WITHIN.get(what[0], WITHIN_OTHERS)
        name = what[0] + (f" groups={what[1]}" if what[1] else "") + (" served_head" if what[2] else "")
        print(row([name, *(f"{1e3 * one:.2f}" for one in (predicted, measured, runs[0], runs[-1])), f"{predicted / measured:.2f}"]), flush=True)
    print(f"\n{good} of {len(chosen)} within 10 % (groups: 15 %)")
    for served in (False, True):
        of = {what[1]: both for what, both in times.items() if what[0] == GROUPS and what[2] == served}
        if of:
            print(f"saturated from {saturation({g: both[0] for g, both in of.items()})} groups on, measured "
                  f"{saturation({g: both[1] for g, both in of.items()})}" + (": served head" if served else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="4,8")
    parser.add_argument("--world", default="mpi")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--examples", type=int, default=7680, help="of an epoch; there are 3")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--plans", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    print(conditions(1, f"batch {arguments.batch}; medians of {arguments.plans} plans, {arguments.runs} runs"))
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / "job.toml"
        job.write_text(JOB.format(examples=arguments.examples, batch=arguments.batch))
        for ranks in map(int, arguments.ranks.split(",")):
            print(f"\n{arguments.world}, {ranks} ranks\n")
            compare(World(arguments.world, ranks, folder, arguments.set), job, arguments)


if __name__ == "__main__":
    sys.exit(main())
