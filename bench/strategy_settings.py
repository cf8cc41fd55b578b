#!/usr/bin/env python3
"""Test accuracy of each strategy at other rates, rules and batches than the examples', beside one replica's, as Markdown tables.

usage: bench/strategy_settings.py [--model mlp] [--replicas 4,8] [--batches 8,64] [--settings sgd:0.1,...] [--only NAMES]
                                  [--epochs N] [--threads N] [--set KEY=VALUE] [--runs DIR]

A perceptron (784-128-10) or lenet on the drawn digits of examples/demo.toml, defaults of every strategy, equal passes over the data.
A table a batch of each replica; a cell is the accuracy in percent after the last epoch with each number of replicas, or "diverged". `allreduce`
stands for one replica whose batch is as large as all replicas' together. NAMES are strategies, separated by commas, and none.
"""
import explain  # noqa: F401
import argparse
import subprocess
import tempfile

from conditions import conditions, heading, row
from job_runs import ROOT, add_options, events, trained

JOB = ROOT / "examples/demo.toml"
SETTINGS = "sgd:0.005,sgd:0.02,sgd:0.1,momentum:0.005,momentum:0.02,momentum:0.1,adam:0.001"
STRATEGIES = ["none", "allreduce", "easgd_original", "easgd_async", "easgd_async_momentum", "easgd_hogwild", "gossip_pull", "gossip_push",
              "sgp", "local_sgd", "slowmo", "diloco"]
MODELS = {"mlp": ["model.name=mlp", "model.widths=[128]"], "lenet": ["model.name=lenet"]}
DIVERGED = 3  # exit status


def accuracy(arguments, strategy, replicas, changes):
    """In percent; diverged: the word."""
    of_strategy = [f"cluster.replicas={replicas}", f"cluster.strategy={strategy}"]
    settings = argparse.Namespace(**{**vars(arguments), "set": MODELS[arguments.model] + changes + of_strategy + arguments.set})
    try:
        run = trained(settings, JOB, "f32", 1)
    except subprocess.CalledProcessError as error:
        if error.returncode != DIVERGED:
            raise
        return "diverged"
    return f"{100 * events(run, 'end')[-1]['test']['accuracy']:.1f}"


def cell(arguments, strategy, changes):
    """With each number of replicas."""
    numbers = ["1"] if strategy == "none" else arguments.replicas.split(",")
    return " / ".join(accuracy(arguments, strategy, number, changes) for number in numbers)


def table(arguments, batch):
    settings = [setting.split(":") for setting in arguments.settings.split(",")]
    print(heading([f"batch {batch}", *(f"{rule} {rate}" for rule, rate in settings)]), flush=True)
    for strategy in arguments.only.split(","):
        cells = [cell(arguments, strategy, [f"train.batch={batch}", f"train.rule={rule}", f"train.learning_rate={rate}"])
                 for rule, rate in settings]
        print(row(["one replica" if strategy == "none" else strategy, *cells]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(epochs=2, threads=1)
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--replicas", default="4,8")
    parser.add_argument("--batches", default="8,64")
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--only", default=",".join(STRATEGIES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        arguments.runs = arguments.runs or folder
        for batch in arguments.batches.split(","):
            table(arguments, batch)
            print(flush=True)
    print(conditions(arguments.threads, f"{arguments.model}, {arguments.replicas} replicas, {arguments.epochs} epochs, one run a cell"))


if __name__ == "__main__":
    main()
