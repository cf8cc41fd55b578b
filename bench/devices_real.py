#!/usr/bin/env python3
"""Real threads against virtual time: one CPU thread and a slowed emulated device, a core each.

usage: devices_real.py [--slowdown 2] [--seconds 4] [--repeats 3]

Trains an MLP of 3 x 256 sigmoid units on covtype-20k. Speeds are measured with both devices at work (hogbatch, batches of three
sizes; split, three divisions), fitted (seconds = a + c b an update) and written as curves; then hogbatch with other sizes,
adaptive_hogbatch and split run in real and in virtual time. All real runs take turns. Prints medians: seconds an epoch and updates
a device; for split also t <= 1.10 / (1 / t_cpu + 1 / t_device) and a sweep of the CPU's fraction of the batch. Needs two idle
cores.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from job_runs import DATA, ROOT, events, yoke
from speed_curve import fit

PROGRAM = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release")) / "bench/virtual_run"
WIDTHS = [256, 256, 256]
WEIGHTS = sum(i * o for i, o in zip([54, *WIDTHS], [*WIDTHS, 7]))
JOB = f"""[data]
format = "csv"
train = "$YOKE_DATA/covtype-20k/covtype.20k.data.xz"
normalize = "standard"
[model]
name = "mlp"
widths = {WIDTHS}
activation = "sigmoid"
[train]
epochs = 1000
evaluate_every = 1000
batch = 32
rule = "sgd"
learning_rate = 0.05
[node]
devices = ["cpu", "emulated:0"]
threads = 1
executor = "hogbatch"
[checkpoint]
every_epochs = 0
"""
NAMES = ["cpu", "emulated:0"]


def hogbatch(cpu, device):
    return {"node.executor": "hogbatch", "node.hogbatch_cpu_batch": cpu, "node.hogbatch_device_batch": device}


def split(batch, part=None):
    fractions = {"node.split_fractions": [part, round(1 - part, 2)]} if part else {}
    return {"node.executor": "split", "train.batch": batch, **fractions}


MEASURED = [(4, 128), (16, 512), (64, 2048)]
HOGBATCH = {"hogbatch, 8 and 256": hogbatch(8, 256), "hogbatch, 32 and 1024": hogbatch(32, 1024), "hogbatch, 2 and 2048": hogbatch(2, 2048),
            "adaptive_hogbatch": {"node.executor": "adaptive_hogbatch", "node.hogbatch_device_batch": 1024, "node.adaptive_cpu_most": 64,
                                  "node.adaptive_device_least": 64}}
DIVISIONS = [0.4, 0.65, 0.9]
SWEEP = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
LINE = "| {} | {:.3f} | {:.3f} | {:+.1f} % | {:.0f}, {:.0f} | {:.0f}, {:.0f} | {:+.1f} %, {:+.1f} % |"


class Bench:
    def __init__(self, folder, arguments):
        self.folder, self.arguments, self.runs = pathlib.Path(folder), arguments, 0
        self.job = self.folder / "job.toml"
        text = JOB.replace("threads = 1\n", f"threads = 1\nemulated_slowdown = {arguments.slowdown}\n")
        self.job.write_text(text)
        self.curves = {}

    def words(self, settings):
        self.runs += 1
        settings = {"train.time_limit": f"{self.arguments.seconds}s", **settings}
        return self.folder / str(self.runs), [f"--set={key}={json.dumps(value)}" for key, value in settings.items()]

    def real(self, settings):
        run, words = self.words(settings)
        yoke("train", self.job, "--run", run, *words)
        return an_epoch(run)

    def virtual(self, settings):
        run, words = self.words(settings)
        curves = []
        for name in NAMES:
            path = self.folder / f"{name.replace(':', '-')}.toml"
            path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in self.curves[name].items()))
            curves.append(f"--device={name}={path}")
        subprocess.run([PROGRAM, self.job, "--run", run, *curves, *words], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "YOKE_DATA": str(DATA)})
        return an_epoch(run)


def an_epoch(run):
    """Of the epochs after the first two: median seconds; means by device: updates, seconds an update while busy, examples."""
    rows = [[0.0] * 7]
    for event in events(run, "epoch"):
        node, seconds = event["node"], event["seconds"]
        rows.append([seconds, *(node["updates"][name] for name in NAMES), *(node["busy"][name] * seconds for name in NAMES),
                     *(node["examples"][name] for name in NAMES)])
    seconds = statistics.median(now[0] - before[0] for now, before in zip(rows[3:], rows[2:]))
    cpu, device, cpu_busy, device_busy, *examples = ((last - first) / (len(rows) - 3) for last, first in zip(rows[-1][1:], rows[2][1:]))
    return [seconds, cpu, device, cpu_busy / max(1, cpu), device_busy / max(1, device), *examples]


def medians(bench, ways):
    """an_epoch of each way, run in turn."""
    turns = [{way: bench.real(settings) for way, settings in ways.items()} for _ in range(bench.arguments.repeats)]
    return {way: [statistics.median(turn[way][i] for turn in turns) for i in range(7)] for way in ways}


def fitted(epochs):
    """a and c of each device, from the mean seconds and examples of its updates; neither is below 0."""
    speeds = []
    for i in range(2):
        points = [(epoch[5 + i] / epoch[1 + i], epoch[3 + i]) for epoch in epochs]
        a, c = fit(points)
        speeds.append((a, c) if a > 0 else (1e-6, statistics.mean(seconds / size for size, seconds in points)))
    return speeds


def calibrate(bench, ways, wanted):
    """Curves that give the measured seconds: a by launches of kernels, c by operations."""
    bench.curves = {name: {"title": name, "source": "devices_real.py", "operations_per_second": 1e11, "half_batch": 0,
                           "bytes_per_second": 1e18, "launch_seconds": 1e-5, "threads": 1} for name in NAMES}
    bench.curves["emulated:0"]["link_bytes_per_second"] = 1e18
    for _ in range(2):
        got = fitted([bench.virtual(way) for way in ways])
        for i, curve in enumerate(bench.curves.values()):
            curve["operations_per_second"] *= got[i][1] / wanted[i][1]
            curve["launch_seconds"] *= max(wanted[i][0], 1e-9) / got[i][0]
    print(", ".join(f"{name}: {1e6 * a:.0f} us an update + {1e6 * c:.2f} us an example" for name, (a, c) in zip(NAMES, wanted)))


def compare(bench, ways, measured):
    print("\n| | seconds an epoch, real | virtual | | updates an epoch, real: CPU, device | virtual | |\n|" + " --- |" * 7)
    for way, settings in ways.items():
        real, there = measured[way], bench.virtual(settings)
        change = [100 * (there[i] / real[i] - 1) for i in range(3)]
        print(LINE.format(way, real[0], there[0], change[0], *real[1:3], *there[1:3], *change[1:]), flush=True)


def hogbatches(bench):
    calibration = {sizes: hogbatch(*sizes) for sizes in MEASURED}
    measured = medians(bench, {**calibration, **HOGBATCH})
    calibrate(bench, calibration.values(), fitted([measured[sizes] for sizes in MEASURED]))
    compare(bench, HOGBATCH, measured)


def splits(bench, batch):
    name = f"split, {batch}"
    calibration = {part: split(batch, part) for part in DIVISIONS}
    measured = medians(bench, {name: split(batch), **{part: split(batch, part) for part in {*SWEEP, *DIVISIONS}}})
    speeds = fitted([measured[part] for part in DIVISIONS])
    calibrate(bench, calibration.values(), speeds)
    compare(bench, {name: split(batch)}, measured)
    steps = 20000 / batch
    alone = [a + c * batch for a, c in speeds]
    limit = (batch + sum(a / c for a, c in speeds)) / sum(1 / c for _, c in speeds)
    share = measured[name][5] / sum(measured[name][5:])
    print(f"The batch takes {1e3 * alone[0]:.2f} and {1e3 * alone[1]:.2f} ms, divided {1e3 * measured[name][0] / steps:.2f} ms a step; "
          f"1.10 / (1 / t + 1 / t) is {1.1e3 / sum(1 / each for each in alone):.2f}, both passes at their best division {1e3 * limit:.2f}; "
          f"CPU's fraction {share:.2f}")
    print("sweep, ms: " + ", ".join(f"{part:.2f}: {1e3 * measured[part][0] / steps:.2f}" for part in SWEEP) +
          f"; best at {min(SWEEP, key=lambda part: measured[part][0]):.2f}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slowdown", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, arguments)
        hogbatches(bench)
        for batch in (512, 2048):
            splits(bench, batch)


if __name__ == "__main__":
    main()
