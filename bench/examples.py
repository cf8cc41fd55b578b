#!/usr/bin/env python3
"""Trains the jobs of examples/ and prints their results on the test sets.

usage: bench/examples.py [--only NAMES] [--threads N] [--set KEY=VALUE]

NAMES are examples, separated by commas: demo, sector, ... An example whose data set is not there, or in bf16 on a processor without it,
is named on standard error and left out. Seconds are those of training, with an evaluation after every epoch. Everything takes about 3
minutes on 2 cores.
"""
import pathlib
import sys

from lib.options import main, part
from lib.places import CORES, DATA, ROOT
from lib.runner import from_words, trained, trains_bf16
from lib.tables import print_table

# Example, data set, model, settings besides the job's.
JOBS = [("demo", "synthetic digits", "LeNet", {}), ("demo", "synthetic digits", "linear", {"model.name": "linear"}),
        ("lenet-fashion-mnist", "fashion-mnist", "LeNet", {}), ("mlp-fashion-mnist", "fashion-mnist", "MLP 2x512", {}),
        ("sector", "sector", "linear", {}), ("w8a", "w8a", "MLP", {}), ("rcv1", "rcv1-binary", "MLP", {}), ("kdd99", "kdd99", "MLP", {}),
        ("covtype", "covtype-20k", "MLP", {}), ("delicious", "delicious", "xmc", {}), ("citeulike", "citeulike-t", "xmc, hashed output", {}),
        ("sign-digits", "sign-digits-jpeg", "AlexNet-CIFAR", {}),
        ("resnet20-cifar10", "cifar10", "ResNet-20", {"node.precision": "bf16", "train.epochs": 1})]
METRICS = {"accuracy": "accuracy", "auc": "AUC", "p_at_1": "P@1", "p_at_3": "P@3", "p_at_5": "P@5"}


def result(metrics):
    """The metrics that tell most: "accuracy 0.9919, AUC 0.9891"."""
    return ", ".join(f"{name} {metrics[key]:.4f}" for key, name in METRICS.items() if key in metrics)


def missing_data(example):
    """The first path of the data set that is not there, or nothing."""
    words = (ROOT / f"examples/{example}.toml").read_text(encoding="utf-8").split('"')
    paths = [pathlib.Path(word.replace("$YOKE_DATA", str(DATA))) for word in words if word.startswith("$YOKE_DATA")]
    return next((path for path in paths if not path.exists()), None)


@part(only=[job[0] for job in JOBS], threads=CORES, set=[], quick={"only": ["w8a", "lenet-fashion-mnist"]})
def examples(arguments):
    """The jobs of examples/."""
    def rows():
        for example, data, model, settings in JOBS:
            if example not in arguments.only:
                continue
            if missing := missing_data(example):
                print(f"left out: examples/{example}.toml: {missing} is not there", file=sys.stderr)
                continue
            changed = {**settings, **from_words(arguments.set)}
            if changed.get("node.precision") == "bf16" and not trains_bf16():
                print(f"left out: examples/{example}.toml in bf16: this processor has no instructions for it", file=sys.stderr)
                continue
            run = trained(ROOT / f"examples/{example}.toml", changed, arguments.runs, "--threads", arguments.threads)
            settings_told = "".join(f", `--set {key}={value}`" for key, value in settings.items())
            yield [f"`{example}`{settings_told}", data, model, result(run.end["test"]), f"{run.end['seconds']:.2g}"]

    print_table(["example", "data", "model", "result on the test set", "training s"], rows())
    return "one run each, seed as in each job"


if __name__ == "__main__":
    main(__doc__)
