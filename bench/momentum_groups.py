#!/usr/bin/env python3
"""The tuned explicit momentum against the number of asynchronous groups, with the rule of the paper beside it (Omnivore, figure 6).

usage: bench/momentum_groups.py [--groups 1,2,4,8,16] [--seeds 1,2] [--plot docs/images/momentum-groups.svg]

A perceptron of 64 hidden units on drawn digits, 1,000 updates of 32 examples. Each group is a replica with exponential service times (`yoke simulate`), and makes plain updates of momentum
SGD: without the scaled rate, the predicted weights and the slow start that yoke adds. For each number of groups the momenta 0, 0.3, 0.6 and 0.9
train with nine rates. Prints the training loss of the last epoch with each momentum at its best rate. Virtual time: the machine may
be busy.
"""
import explain  # noqa: F401
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

from conditions import conditions, heading, row
from job_runs import PROGRAM
from slide_plot import plot

MOMENTA = (0, 0.3, 0.6, 0.9)
RATES = (0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006, 0.003)
JOB = """[data]
format = "synthetic-digits"
train_size = 4000
test_size = 10
[model]
name = "mlp"
widths = [64]
[train]
epochs = 8
batch = 32
[node]
threads = 1
[checkpoint]
every_epochs = 0
"""
PLAIN = ["cluster.strategy=compute_groups", "cluster.rate_scale=1.0", "cluster.predict_weights=false", "cluster.slow_start=0"]
CLUSTER = """[[nodes]]
count = {groups}
operations_per_second = 1e11
bytes_per_second = 5e10
jitter = {{ kind = "exponential" }}
[network]
latency = 1e-6
bytes_per_second = 1e11
"""


def final_loss(folder, groups, momentum, rate, seed):
    """The mean training loss of the last epoch; infinite if it diverges."""
    cluster = folder / f"{groups}.toml"
    changes = [f"train.momentum={momentum:.1f}", f"train.learning_rate={rate}", f"train.seed={seed}"]
    changes += [*PLAIN, f"cluster.groups={groups}"] if groups > 1 else []
    with tempfile.TemporaryDirectory(dir=folder) as run:
        command = [str(PROGRAM), "simulate", str(folder / "job.toml"), "--cluster", str(cluster), "--json", "--run", run + "/run"]
        done = subprocess.run([*command, *(f"--set={change}" for change in changes)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
    epochs = [json.loads(line) for line in done.stdout.splitlines() if '"event":"epoch"' in line]
    loss = epochs[-1]["train"]["loss"] if done.returncode == 0 and epochs else math.inf
    return loss if loss and math.isfinite(loss) else math.inf


def rule(groups, total):
    """The explicit momentum with which asynchronous updates reach as far as one with the momentum `total` alone."""
    return max(0, 1 - (1 - total) * groups)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default="1,2,4,8,16")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--plot", type=pathlib.Path)
    arguments = parser.parse_args()
    groups, seeds = ([int(word) for word in text.split(",")] for text in (arguments.groups, arguments.seeds))
    print(conditions(1, f"mean of {len(seeds)} seeds"))
    best = {}  # by groups and momentum: loss and rate
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        folder = pathlib.Path(name)
        (folder / "job.toml").write_text(JOB)
        for g in groups:
            (folder / f"{g}.toml").write_text(CLUSTER.format(groups=g))
        cases = list(itertools.product(groups, MOMENTA, RATES))
        losses = list(pool.map(lambda case: statistics.mean(final_loss(folder, *case, seed) for seed in seeds), cases))
        for (g, momentum, rate), loss in zip(cases, losses):
            best[g, momentum] = min(best.get((g, momentum), (math.inf, 0)), (loss, rate))
    tuned = {g: min(MOMENTA, key=lambda momentum: best[g, momentum][0]) for g in groups}
    print("\n" + heading(["groups", *(f"momentum {momentum}" for momentum in MOMENTA), "tuned", "the rule"]))
    for g in groups:
        cells = [f"{loss:.4f} (rate {rate})" for loss, rate in (best[g, momentum] for momentum in MOMENTA)]
        print(row([g, *cells, tuned[g], f"{rule(g, tuned[groups[0]]):.2f}"]))
    falls = all(tuned[a] >= tuned[b] for a, b in itertools.pairwise(groups))
    print(f"\nThe tuned momentum {'never rises' if falls else 'rises somewhere'} with the number of groups.")
    if arguments.plot:
        series = {"tuned explicit momentum": list(tuned.items()), "the rule": [(g, rule(g, tuned[groups[0]])) for g in groups]}
        arguments.plot.write_text(plot(series, "A perceptron on drawn digits, updates of 32 examples", low=-0.02, x_ticks=groups, below="groups"))


if __name__ == "__main__":
    main()
