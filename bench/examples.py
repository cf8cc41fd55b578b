#!/usr/bin/env python3
"""Trains the jobs of examples/ and prints their results on the test sets as a Markdown table.

usage: bench/examples.py [--only NAMES] [--threads N] [--set KEY=VALUE]

NAMES are examples, separated by commas: demo, sector, ... The data sets are those of $YOKE_DATA; an example whose data set is not
there is named on standard error and left out. Seconds are those of training, with an evaluation after every epoch. Everything
takes about 3 minutes on 2 cores. The program is build/bin/yoke; YOKE names another.
"""
import explain  # noqa: F401
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from conditions import conditions, heading, row
from job_runs import DATA, ROOT, yoke

# Example, data set, model, settings besides the job's.
JOBS = [("demo", "synthetic digits", "LeNet", []), ("demo", "synthetic digits", "linear", ["--set", "model.name=linear"]),
        ("lenet-fashion-mnist", "fashion-mnist", "LeNet", []), ("mlp-fashion-mnist", "fashion-mnist", "MLP 2x512", []),
        ("sector", "sector", "linear", []), ("w8a", "w8a", "MLP", []), ("rcv1", "rcv1-binary", "MLP", []),
        ("kdd99", "kdd99", "MLP", []), ("covtype", "covtype-20k", "MLP", []), ("delicious", "delicious", "xmc", []),
        ("citeulike", "citeulike-t", "xmc, hashed output", []), ("sign-digits", "sign-digits-jpeg", "AlexNet-CIFAR", []),
        ("resnet20-cifar10", "cifar10", "ResNet-20, bf16, 1 epoch", ["--precision", "bf16", "--set", "train.epochs=1"])]
NAMES = {"accuracy": "accuracy", "auc": "AUC", "p_at_1": "P@1", "p_at_3": "P@3", "p_at_5": "P@5"}


def result(metrics):
    """The metrics that tell most: "accuracy 0.9919, AUC 0.9891"."""
    return ", ".join(f"{name} {metrics[key]:.4f}" for key, name in NAMES.items() if key in metrics)


def measure(job, arguments):
    """One example's line of the table."""
    example, data, model, settings = job
    command = ["train", f"examples/{example}.toml", *settings, *(word for change in arguments.set for word in ("--set", change))]
    with tempfile.TemporaryDirectory() as folder:
        end = yoke("train", ROOT / command[1], *command[2:], "--run", pathlib.Path(folder) / "run", "--threads", arguments.threads)
    return row([data, model, result(end["test"]), f"{end['seconds']:.1f} s", f"`yoke {' '.join(command)}`"])


def missing_data(example):
    """The first path of the data set that is not there, or nothing."""
    words = (ROOT / f"examples/{example}.toml").read_text(encoding="utf-8").split('"')
    paths = [pathlib.Path(word.replace("$YOKE_DATA", str(DATA))) for word in words if word.startswith("$YOKE_DATA")]
    return next((path for path in paths if not path.exists()), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(job[0] for job in JOBS), help="examples, separated by commas")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change every job")
    arguments = parser.parse_args()
    if shutil.disk_usage("/dev/shm").free > 1e9:
        tempfile.tempdir = "/dev/shm"
    print(heading(["data", "model", "result on the test set", "training", "command"]), flush=True)
    for job in JOBS:
        if job[0] not in arguments.only.split(","):
            continue
        if missing := missing_data(job[0]):
            print(f"left out: examples/{job[0]}.toml: {missing} is not there", file=sys.stderr)
            continue
        try:
            print(measure(job, arguments), flush=True)
        except subprocess.CalledProcessError as error:
            sys.exit(f"examples/{job[0]}.toml ended with status {error.returncode}")
    print("\n" + conditions(arguments.threads, "one run each, seed as in each job"))


if __name__ == "__main__":
    main()
