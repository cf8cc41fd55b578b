#!/usr/bin/env python3
"""SLIDE against the dense softmax of the same network on real data: P@1, P@3, P@5 and P@1 over time.

usage: bench/slide_accuracy.py [--data citeulike,delicious] [--seeds N] [--threads N] [--only WORDS] [--cpu] [--svg FILE] [--runs DIR]

The network is the zoo's xmc (sparse features -> 128 -> relu -> softmax over all labels, targets 1/|labels|); every P@k is exact,
over all labels of the test examples. Each series stands with the best settings that a search with seed 1 found for it (rates,
batches, schedules, epochs; for SLIDE also group, counts and correction); see docs/slide.md. Of each run the epoch with the best
P@1 counts. --cpu: CPU seconds for seconds, for a machine that other work shares, with --threads 1.
"""
import gzip
import math
import pathlib
from statistics import fmean

import slide_jobs
from lib.options import main, part
from lib.places import DATA
from lib.plot import plot
from lib.runner import toml
from lib.tables import print_table
from slide_jobs import DECAY

METRICS = ("p_at_1", "p_at_3", "p_at_5")


def hashed(train, sampler="", **lsh):
    return {"lsh": {**({"sampler": sampler} if sampler else {"family": "dwta"}), **lsh}, **train}


# What the searches found: by data set the folder, the length to which rows are scaled, outputs, the seconds at which P@1 is shown, and
# the settings of each series.
MANY = {"epochs": 7, "batch": 256, "learning_rate": 5e-3, "schedule": DECAY}
FEW = {"epochs": 6, "batch": 256, "learning_rate": 3e-3, "schedule": DECAY}
WHOLE = {"epochs": 8, "batch": 256, "learning_rate": 4e-3, "schedule": DECAY}
SMALL = {"epochs": 12, "batch": 64, "learning_rate": 1e-3}
SETS = {
    "citeulike": ("citeulike-t", 3, 52946, (2, 4, 8, 16, 32, 64, 128), {
        "dense f32": WHOLE,
        "dense bf16": {**WHOLE, "precision": "bf16"},
        "SLIDE shared": hashed(MANY, hard=512, group=32, random=4096, correct=True),
        "SLIDE shared, uniform": hashed(MANY, "uniform", group=32, random=4608, correct=True),
        "SLIDE shared, few": hashed(FEW, hard=512, group=64, random=512),
        "SLIDE shared, few, uniform": hashed(FEW, "uniform", group=64, random=1024),
        "SLIDE per example": hashed({**MANY, "learning_rate": 4e-3}, hard=512, group=1, random=512, correct=True)}),
    "delicious": ("delicious", None, 983, (0.5, 1, 2, 4, 8), {
        "dense f32": SMALL,
        "dense bf16": {**SMALL, "precision": "bf16"},
        "SLIDE shared": hashed(SMALL, hard=66, random=131, correct=True, group=64),
        "SLIDE shared, uniform": hashed(SMALL, "uniform", group=64, random=197, correct=True),
        "SLIDE per example": hashed(SMALL, hard=66, random=131, correct=True, group=1)})}


def scaled_rows(name, length, folder):
    """The set with every example's features scaled to this Euclidean length, as a data section."""
    parts = {}
    for kind in ("train", "test"):
        parts[kind] = folder / f"{name}_{kind}.txt"
        with gzip.open(DATA / name / f"{name}_{kind}.txt.gz", "rt") as lines, open(parts[kind], "w", encoding="utf-8") as out:
            out.write(next(lines))
            for line in lines:
                labels, *features = line.rstrip("\n").split(" ")
                pairs = [feature.split(":") for feature in features if feature]
                norm = math.sqrt(sum(float(value) ** 2 for _, value in pairs)) or 1.0
                out.write(" ".join([labels] + [f"{i}:{float(value) * length / norm:.6g}" for i, value in pairs]) + "\n")
    return {"format": "xmc", **parts}


def curves_of(name, settings, data, arguments):
    """For each seed [(seconds of training, P@1, P@3, P@5) after each epoch]."""
    job = slide_jobs.xmc_job(data, **({**settings, "epochs": 1} if arguments.quick else settings))
    pace = slide_jobs.cpu_of_epoch(name, job, arguments) if arguments.cpu else None
    runs = [slide_jobs.train(name, job, arguments, seed) for seed in range(1, arguments.seeds + 1)]
    return [[(epoch["epoch"] * pace if pace else epoch["train_seconds"], *(epoch["test"][metric] for metric in METRICS)) for epoch in run.epochs]
            for run in runs]


def mean_curve(curves):
    """Points (seconds, P@1) by epoch, means over seeds."""
    return [(fmean(row[0] for row in rows), fmean(row[1] for row in rows)) for rows in zip(*curves)]


def best_rows(curves):
    return [max(curve, key=lambda row: row[1]) for curve in curves]


def active(settings, outputs):
    """How many outputs a step computes for an example."""
    lsh = settings.get("lsh")
    return f"{lsh.get('hard', 0) + lsh['random'] if lsh else outputs:,}"


def results(name, series, found, outputs):
    """The table of best P@k, and of seconds to a point under the best dense mean."""
    goal = max((fmean(row[1] for row in best_rows(curves)) for one, curves in found.items() if "lsh" not in series[one]), default=0)

    def spread(values):
        return f"{fmean(values):.4f} ± {(max(values) - min(values)) / 2:.4f}"  # and half the range

    def cells(one, curves):
        rows = best_rows(curves)
        reached = next((f"{seconds:.1f}" for seconds, value in mean_curve(curves) if value >= goal - 0.01), "")
        return [name, one, active(series[one], outputs), *(spread([row[k] for row in rows]) for k in (1, 2, 3)),
                f"{fmean(row[0] for row in rows):.1f}", reached]

    print_table(["data", "network", "active besides labels", "P@1", "P@3", "P@5", "seconds to the best epoch", "to 1 point under dense"],
                (cells(*one) for one in found.items()))


def over_time(found, marks):
    """The table of P@1 after so many seconds: the mean over seeds of the best so far."""
    def cell(curves, mark):
        values = [max((row[1] for row in curve if row[0] <= mark), default=None) for curve in curves]
        return "" if None in values else f"{fmean(values):.3f}"

    print_table(["P@1 after seconds", *marks], ([name, *(cell(curves, mark) for mark in marks)] for name, curves in found.items()))


@part(data=list(SETS), seeds=3, threads=2, only="", cpu=False, svg="", quick={"data": ["delicious"], "seeds": 1, "only": "f32"})
def accuracy(arguments):
    """Best P@k of each series, and P@1 over time; about half an hour on two cores for each set."""
    for name in arguments.data:
        folder, length, outputs, marks, series = SETS[name]
        data = scaled_rows(folder, length, arguments.runs) if length else slide_jobs.files_of(folder)
        found = {one: curves_of(one, settings, data, arguments) for one, settings in series.items() if arguments.only in one}
        print_table(["", "batch", "rate (Adam)", "schedule", "epochs", "hashed layer"],
                    ([one, settings["batch"], f"{settings['learning_rate']:g}", "linear to 0" if "schedule" in settings else "constant",
                      settings["epochs"], toml(settings.get("lsh", {}))] for one, settings in series.items()))
        results(folder, series, found, outputs)
        over_time(found, marks)
        if arguments.svg:
            lines = {one: mean_curve(curves) for one, curves in found.items()}
            pathlib.Path(arguments.svg).write_text(plot({folder: lines}, "Exact P@1 over time, mean of the seeds", below="seconds of training",
                                                        low=max(y for one in lines.values() for _, y in one) - 0.2), encoding="utf-8")
    return f"means of {arguments.seeds} seeds; {'CPU seconds' if arguments.cpu else 'seconds'} of training, without evaluation"


if __name__ == "__main__":
    main(__doc__)
