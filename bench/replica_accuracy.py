#!/usr/bin/env python3
"""Test accuracy of four replicas under each strategy beside one replica's: LeNet on Fashion-MNIST, as a Markdown table.

usage: bench/replica_accuracy.py [--epochs N] [--seeds 1,2,3] [--threads N] [--only NAMES] [--set KEY=VALUE] [--runs DIR]

The jobs are examples/strategies/*.toml (four replicas of batch 16, rate 0.02 falling by a cosine, momentum 0.9); one replica takes
batch 64. NAMES are strategies, separated by commas, and none. A cell is the accuracy after the last epoch.
"""
import argparse
import tempfile

from conditions import conditions, heading, row
from job_runs import ROOT, add_options, events, trained

JOBS = ROOT / "examples/strategies"
ALONE = ["cluster.strategy=none", "cluster.replicas=1", "train.batch=64"]


def accuracies(name, seeds, arguments):
    """Test accuracy of each seed."""
    settings = argparse.Namespace(**{**vars(arguments), "set": arguments.set + (ALONE if name == "none" else [])})
    job = JOBS / f"{'allreduce' if name == 'none' else name}.toml"
    return [events(trained(settings, job, "f32", seed), "end")[-1]["test"]["accuracy"] for seed in seeds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(epochs=4)
    parser.add_argument("--only", default=",".join(["none", *sorted(path.stem for path in JOBS.glob("*.toml"))]))
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        arguments.runs = arguments.runs or folder
        print(heading(["strategy", *(f"seed {seed}" for seed in seeds)]), flush=True)
        for name in arguments.only.split(","):
            values = accuracies(name, seeds, arguments)
            print(row(["one replica" if name == "none" else name, *(f"{value:.4f}" for value in values)]), flush=True)
    print("\n" + conditions(arguments.threads, "one run a cell"))


if __name__ == "__main__":
    main()
