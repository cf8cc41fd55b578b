#!/usr/bin/env python3
"""Simulated steps against real ones on this machine: threads, processes of an MPI, and "hosts" with limited links (tools/hosts).

usage: bench/simulate_real.py [--replicas 2] [--worlds threads,mpi,hosts:1gbit] [--strategies NAMES] [--examples 9600] [--runs 3]
                              [--times-only] [--set KEY=VALUE]...

`yoke simulate --profile` measures the machine with so many replicas. Then each strategy trains for real, and is simulated from that file,
with gradients or --times-only. Prints the median of the seconds a step of both, their ratio, and how many of the pairs that differ by more
than 20 % come in the same order. LeNet on drawn digits, batch 64 of each replica, one thread each. Run it on an idle machine.
"""
import explain  # noqa: F401
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from conditions import conditions
from job_runs import PROGRAM, ROOT

BATCH = 64
JOB = """[data]
format = "synthetic-digits"
train_size = {examples}
test_size = 10
[model]
name = "lenet"
[train]
epochs = 3
batch = {batch}
learning_rate = 0.005
[node]
threads = 1
[checkpoint]
every_epochs = 0
"""
STRATEGIES = ["allreduce", "async_sgd", "easgd_original", "easgd_async", "easgd_sync1", "easgd_sync3", "gossip_pull", "gossip_push", "sgp",
              "ad_psgd", "local_sgd", "diloco"]
FAR = 1.2  # pairs further apart have an order


def launcher_of(world, ranks):
    """The command that starts a rank each in this world; none in that of threads."""
    kind, _, rate = world.partition(":")
    return {"threads": [], "mpi": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)],
            "hosts": [ROOT / "tools/hosts", str(ranks), *(["--rate", rate] if rate else []), "--"]}[kind]


def call(words, launcher=()):
    """The last event of a command."""
    done = subprocess.run([*launcher, str(PROGRAM), *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


def step_seconds(end, replicas, examples):
    """Of one replica. Where each takes steps of its own, they are counted over all."""
    of_step = end["epochs"] * examples / end["step"]
    return end["exchange"]["step_seconds"] / end["step"] * (replicas if of_step < 1.5 * BATCH else 1)


def order(rows):
    """How many pairs of strategies that really differ come in the same order, of how many."""
    far = [(a, b) for a, b in itertools.combinations(rows, 2) if max(a[1], b[1]) > FAR * min(a[1], b[1])]
    return sum((a[1] < b[1]) == (a[2] < b[2]) for a, b in far), len(far)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--worlds", default="threads,mpi")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--examples", type=int, default=9600, help="of an epoch; there are 3")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--times-only", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    print(conditions(1, f"medians of {arguments.runs} runs"))
    times_only = ["--times-only"] if arguments.times_only else []
    changes = [f"--set={change}" for change in arguments.set]
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / "job.toml"
        job.write_text(JOB.format(examples=arguments.examples, batch=BATCH))
        for world in arguments.worlds.split(","):
            launcher = launcher_of(world, arguments.replicas)
            replicas = [] if launcher else ["--replicas", arguments.replicas]
            cluster = pathlib.Path(folder) / f"{world}.toml"
            call(["simulate", job, "--profile", cluster, *replicas, *changes], launcher)
            print(f"\n{world}, {arguments.replicas} replicas\n\n| strategy | measured ms | predicted ms | predicted / measured |\n| --- | --- | --- | --- |")
            rows = []
            for strategy in arguments.strategies.split(","):
                def run(*words, under=()):
                    name = pathlib.Path(folder) / f"run{len(os.listdir(folder))}"
                    end = call([*words, "--strategy", strategy, "--run", name, *changes], under)
                    return step_seconds(end, arguments.replicas, arguments.examples)
                real = statistics.median(run("train", job, *replicas, under=launcher) for _ in range(arguments.runs))
                predicted = run("simulate", job, "--cluster", cluster, *times_only)
                rows.append((strategy, real, predicted))
                print(f"| {strategy} | {1e3 * real:.2f} | {1e3 * predicted:.2f} | {predicted / real:.2f} |", flush=True)
            within = sum(abs(predicted / real - 1) <= 0.15 for _, real, predicted in rows)
            print(f"\nwithin 15 %: {within} of {len(rows)}; same order: {'%d of %d' % order(rows)} pairs that differ by more than 20 %")


if __name__ == "__main__":
    sys.exit(main())
