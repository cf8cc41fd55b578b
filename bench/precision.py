#!/usr/bin/env python3
"""Loss curves of bf16 against f32: trains a job in both with the same seeds and prints a table an epoch.

usage: bench/precision.py JOB [--epochs N] [--seeds 1,2,3] [--threads N] [--set KEY=VALUE] [--runs DIR]

Each cell is the mean over the seeds and, behind ±, the standard deviation. bf16 is within the noise of f32 where the means differ
by less than what seeds do; z is the difference of the means over its standard error. Columns of bf16 are left out
where the processor has no instructions for it.
"""
import math
import pathlib
import statistics
import sys

from lib.options import main, part
from lib.places import CORES
from lib.runner import from_words, trained, trains_bf16
from lib.tables import listed, print_table


def cells(values):
    """Of one column: means of each precision with their deviations, and z of two."""
    means, deviations = [statistics.fmean(v) for v in values], [statistics.stdev(v) for v in values]
    error = math.hypot(*deviations) / math.sqrt(len(values[0]))
    z = [] if len(means) < 2 else [f"{(means[1] - means[0]) / error:+.1f}" if error else "-"]
    return [*(f"{mean:.4f}±{deviation:.4f}" for mean, deviation in zip(means, deviations)), *z]


@part(job=..., epochs=5, seeds=[1, 2, 3], precisions=["f32", "bf16"], threads=CORES, set=[],
      quick={"epochs": 1, "seeds": [1, 2], "precisions": ["f32", "f32"]})
def precision(arguments):
    """A job in both precisions."""
    if len(arguments.seeds) < 2:
        sys.exit("--seeds: expected at least two, whose spread is the noise")
    job, curves = pathlib.Path(arguments.job), []
    precisions = [name for name in arguments.precisions if name != "bf16" or trains_bf16()]
    for name in precisions:
        curves.append([])
        for seed in arguments.seeds:
            settings = {"train.epochs": arguments.epochs, "train.seed": seed, "node.precision": name, **from_words(arguments.set)}
            run = trained(job, settings, arguments.runs, "--threads", arguments.threads)
            curves[-1].append([(epoch["train"]["loss"], epoch["test"]["loss"], epoch["test"]["accuracy"]) for epoch in run.epochs])
    columns = [word for name in ("train loss", "test loss", "accuracy") for word in (f"{name} f32", "bf16", "z")[:2 * len(precisions) - 1]]
    print_table(["epoch", *columns], ([epoch + 1, *(cell for column in range(3) for cell in cells([[run[epoch][column] for run in runs] for runs in curves]))]
                                      for epoch in range(len(curves[0][0]))))
    if precisions != arguments.precisions:
        print("\nColumns of bf16 are left out: this processor has no instructions for it.")
    return f"seeds {listed(arguments.seeds)}"


if __name__ == "__main__":
    main(__doc__)
