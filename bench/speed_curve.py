#!/usr/bin/env python3
"""Fits the speed curve of one CPU thread, and of the memory that threads share (examples/devices/cpu-16-cores.toml).

usage: speed_curve.py [--seconds 5] [--layers 6]

Trains an MLP of 512 sigmoid units a layer on covtype-20k with hogwild, updates of 1 to 256 examples by 1 and by 2 threads, and prints
examples a second and the fitted keys: an update of b examples takes bytes / bandwidth + b operations / peak. Bytes are the
weights, read twice, and the gradient, written once and applied.
"""
import explain  # noqa: F401
import argparse
import json
import tempfile

from job_runs import yoke

SIZES = [1, 4, 16, 64, 256]
JOB = """[data]
format = "csv"
train = "$YOKE_DATA/covtype-20k/covtype.20k.data.xz"
normalize = "standard"
[model]
name = "mlp"
widths = {widths}
activation = "sigmoid"
[train]
epochs = 100
evaluate_every = 1000
batch = 256
rule = "sgd"
learning_rate = 0.01
[node]
executor = "hogwild"
[checkpoint]
every_epochs = 0
"""


def examples_per_second(job, folder, size, threads, seconds):
    end = yoke("train", job, "--run", f"{folder}/{size}-{threads}", "--threads", threads, "--time-limit", f"{seconds}s",
               "--set", f"node.hogwild_batch={size}")
    return end["epochs"] * 20000 / end["seconds"]


def fit(points):
    """a and c of seconds = a + c b, by least squares of relative errors; points: (b, seconds)."""
    w = [1 / s ** 2 for _, s in points]
    total, wb = sum(w), sum(x * b for x, (b, _) in zip(w, points))
    wbb, ws = sum(x * b * b for x, (b, _) in zip(w, points)), sum(x * s for x, (_, s) in zip(w, points))
    wbs = sum(x * b * s for x, (b, s) in zip(w, points))
    c = (total * wbs - wb * ws) / (total * wbb - wb * wb)
    return (ws - c * wb) / total, c


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--layers", type=int, default=6)
    arguments = parser.parse_args()
    widths = [512] * arguments.layers
    weights = sum(i * o for i, o in zip([54, *widths], [*widths, 7]))
    speeds = {}
    with tempfile.TemporaryDirectory() as folder:
        job = f"{folder}/job.toml"
        with open(job, "w") as out:
            out.write(JOB.format(widths=json.dumps(widths)))
        for threads in (1, 2):
            for size in SIZES:
                speeds[size, threads] = examples_per_second(job, folder, size, threads, arguments.seconds)
                print(f"{threads} thread(s), {size} examples an update: {speeds[size, threads]:.0f} examples/s", flush=True)
    bytes_of_update = 6 * 4 * weights
    for threads in (1, 2):
        constant, slope = fit([(size, threads * size / speeds[size, threads]) for size in SIZES])
        print(f"{threads} thread(s): operations_per_second {6 * weights / slope:.3g} a thread, "
              f"bytes_per_second {threads * bytes_of_update / constant:.3g} of all")


if __name__ == "__main__":
    main()
