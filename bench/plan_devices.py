#!/usr/bin/env python3
"""What `yoke plan` predicts for a CPU and an emulated device together, against training.

usage: bench/plan_devices.py [--jobs lenet,w8a] [--executors split,hogbatch,adaptive_hogbatch] [--threads 1] [--runs 3] [--epochs 3]
                             [--priority 20] [--set KEY=VALUE]...

Predicts and trains by turns, so many times: LeNet on drawn digits, batch 64, and an MLP of 8 x 512 on w8a, batch 256. Prints the medians
of the seconds for train.batch examples: predicted (`yoke plan --trial-seconds 0`), measured (of the epochs after the first, in which
devices are measured and plans compiled), and their ratio. Run it on an idle machine with a core for each device; `--priority` goes before
the ordinary programs of a machine that is not (chrt -f).
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from conditions import conditions, heading, row
from job_runs import DATA, PROGRAM

JOBS = {
    "lenet": """[data]
format = "synthetic-digits"
train_size = 9600
test_size = 10
[model]
name = "lenet"
[train]
batch = 64
learning_rate = 0.005
""",
    "w8a": """[data]
format = "libsvm"
train = "$YOKE_DATA/w8a/w8a.gz"
test = "$YOKE_DATA/w8a/w8a.gz"
[model]
name = "mlp"
widths = [512, 512, 512, 512, 512, 512, 512, 512]
[train]
batch = 256
rule = "sgd"
learning_rate = 0.01
"""}
REST = """evaluate_every = 1000
[node]
devices = ["cpu", "emulated:0"]
[checkpoint]
every_epochs = 0
"""
BATCH = {"lenet": 64, "w8a": 256}


def call(priority, *words):
    """The events of a command."""
    before = ["chrt", "-f", str(priority)] if priority else []
    done = subprocess.run([*before, str(PROGRAM), *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "YOKE_DATA": str(DATA)})
    return list(map(json.loads, done.stdout.splitlines()))


def predicted(priority, job, changes):
    """Seconds by executor."""
    plan = call(priority, "plan", job, "--trial-seconds", 0, "--only", "f32", *changes)[-1]
    return {one["executor"]: one["seconds_per_update"] for one in plan["candidates"] if one["precision"] == "f32"}


def measured(priority, job, executor, run, batch, changes):
    """The median epoch's seconds for a batch, without the first."""
    epochs = [event for event in call(priority, "train", job, "--executor", executor, "--run", run, *changes) if event["event"] == "epoch"]
    return statistics.median(batch / epoch["examples_per_second"] for epoch in epochs[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--executors", default="split,hogbatch,adaptive_hogbatch")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU; the device has one of its own")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--priority", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    print(conditions(arguments.threads, f"priority {arguments.priority}; medians of {arguments.runs} runs"))
    changes = ["--threads", arguments.threads, f"--set=train.epochs={arguments.epochs}", *(f"--set={change}" for change in arguments.set)]
    executors = arguments.executors.split(",")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.jobs.split(","):
            job = pathlib.Path(folder) / f"{name}.toml"
            job.write_text(JOBS[name] + REST)
            said, done = {one: [] for one in executors}, {one: [] for one in executors}
            for turn in range(arguments.runs):
                prices = predicted(arguments.priority, job, changes)
                for one in executors:
                    said[one].append(prices[one])
                    run = pathlib.Path(folder) / f"{name}-{one}-{turn}"
                    done[one].append(measured(arguments.priority, job, one, run, BATCH[name], changes))
            print(f"\n{name}, batch {BATCH[name]}\n\n" + heading(["executor", "predicted ms", "measured ms", "predicted / measured", "measured in each run"]))
            for one in executors:
                prediction, real = statistics.median(said[one]), statistics.median(done[one])
                each = " ".join(f"{1e3 * seconds:.2f}" for seconds in done[one])
                print(row([one, f"{1e3 * prediction:.2f}", f"{1e3 * real:.2f}", f"{prediction / real:.2f}", each]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
