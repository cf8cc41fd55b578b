#!/usr/bin/env python3
"""Loss curves of bf16 against f32: trains a job in both with the same seeds and prints a table an epoch.

usage: bench/precision_curves.py JOB [--epochs N] [--seeds 1,2,3] [--threads N] [--set KEY=VALUE] [--runs DIR]

Each cell is the mean over the seeds and, behind ±, the standard deviation. bf16 is within the noise of f32 where the means differ
by less than what seeds do; the last column is the difference of the means over its standard error.
"""
import explain  # noqa: F401
import argparse
import math
import pathlib
import statistics
import tempfile

from conditions import conditions
from job_runs import add_options, events, trained


def table(curves):
    """Markdown: `curves` maps a precision to its runs, each a list of (training loss, test loss, test accuracy) an epoch."""
    print("| epoch | train loss f32 | bf16 | z | test loss f32 | bf16 | z | accuracy f32 | bf16 | z |\n" + "| --- " * 10 + "|")
    for epoch in range(len(curves["f32"][0])):
        cells = [str(epoch + 1)]
        for column in range(3):
            values = [[run[epoch][column] for run in curves[precision]] for precision in ("f32", "bf16")]
            means, spreads = [statistics.fmean(v) for v in values], [statistics.stdev(v) for v in values]
            error = math.hypot(*spreads) / math.sqrt(len(values[0]))
            cells += [f"{mean:.4f} ± {spread:.4f}" for mean, spread in zip(means, spreads)]
            cells.append(f"{(means[1] - means[0]) / error:+.1f}" if error else "-")
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=pathlib.Path)
    add_options(parser)
    arguments = parser.parse_args()
    if len(arguments.seeds.split(",")) < 2:
        parser.error("--seeds: expected at least two, whose spread is the noise")
    curves = {"f32": [], "bf16": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        arguments.runs = arguments.runs or folder
        for seed in map(int, arguments.seeds.split(",")):
            for precision, runs in curves.items():
                run = trained(arguments, arguments.job, precision, seed)
                runs.append([(line["train"]["loss"], line["test"]["loss"], line["test"]["accuracy"]) for line in events(run, "epoch")])
    table(curves)
    print("\n" + conditions(arguments.threads, f"seeds {arguments.seeds}"))


if __name__ == "__main__":
    main()
