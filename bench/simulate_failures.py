#!/usr/bin/env python3
"""What failures of nodes cost each strategy, on simulated clusters: the figures of docs/simulate-failures.md.

usage: bench/simulate_failures.py goodput [--periods 60,300,...] [--methods NAMES] [--results FILE] [--plot FILE]
       bench/simulate_failures.py accuracy [--nodes 32] [--epochs 6] [--failures 0,1,4,16] [--seeds 1] [--methods NAMES] [--results FILE]

goodput: useful examples a second with failures over those without, by the mean time between failures of the whole cluster; times only.
accuracy: final test accuracy of LeNet with real gradients, with nodes lost evenly over the run.
FILE keeps each run's record: an interrupted call goes on where it ended. YOKE names the program.
"""
import explain  # noqa: F401
import argparse
import gzip
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import tempfile

from job_runs import DATA, PROGRAM, events
from scale_plot import logarithmic
from slide_plot import text

# The job stands for ResNet-50 on ImageNet with a batch of 64 a node, on the Core i7-6700 of examples/clusters/lab-desktops.toml: 8.3 s a
# step, 94 MB of weights, 312 steps an epoch. It reads images of 32x32, two a step, so that the data fit a small file.
NODES, BATCH, STEPS = 64, 2, 312
EXAMPLES = NODES * BATCH * STEPS
MEMORY = 2.6e10
STEP = 8.31  # seconds, of the job for which ours stands, on one node without jitter
LONG, STEPS_OF_LONG = 10000, 600  # seconds: in periods above, nodes are so slow that these have so many steps
FAILURES = 12  # of a run, which lasts as many periods
CHECKPOINT_SPEED = 1e8  # bytes a second
SLOW = 2.8e9, 2e10  # nodes of the accuracies: a step takes 40 ms, so that recoveries are short beside the run
TIMES_JOB = """[data]
format = "idx"
train = ["{folder}/images.gz", "{folder}/labels.gz"]
test = ["{folder}/images.gz", "{folder}/labels.gz"]
[model]
name = "resnet50"
[train]
epochs = 1000000000
batch = 2
[checkpoint]
every_epochs = 0
"""
DIGITS_JOB = """[data]
format = "synthetic-digits"
train_size = 12000
test_size = 2000
[model]
name = "lenet"
[train]
batch = 8
learning_rate = 0.02
schedule = {{ name = "cosine" }}
"""
CLUSTER = """[[nodes]]
count = {nodes}
operations_per_second = {speed}
bytes_per_second = {memory}
jitter = {{ kind = "lognormal", sigma = 0.05 }}
[network]
latency = 2.5e-5
bytes_per_second = 1.18e9
copy_bytes_per_second = 5e9
[failures]
detection = {detection}
restart = {restart}
{more}at = [{at}]
"""
RESTART = f'recovery = "restart"\nreplacement = 60\ncheckpoint_bytes_per_second = {CHECKPOINT_SPEED}\n'
# strategy, its settings, recovery. One bucket: the exchange is short beside the step.
METHODS = {
    "allreduce, restart": ("allreduce", {"cluster.bucket_mb": 1000}, RESTART),
    "allreduce, survivors": ("allreduce", {"cluster.bucket_mb": 1000}, ""),
    "easgd_sync3, survivors": ("easgd_sync3", {}, ""),
    "gossip_pull, survivors": ("gossip_pull", {}, ""),
    "diloco, survivors": ("diloco", {"cluster.period": 50}, ""),
}
COLOURS = ["#1b6ca8", "#7fb2d9", "#3a7d44", "#c1440e", "#7a4b9d"]


class Runs:
    """Makes runs, and remembers those that the file of results holds."""

    def __init__(self, file, folder):
        self.folder, self.file = folder, pathlib.Path(file) if file else None
        lines = self.file.read_text().splitlines() if self.file and self.file.exists() else []
        self.known = {one["key"]: one for one in map(json.loads, lines)}

    def run(self, job, cluster, strategy, settings, *words):
        """The record of a run: its last event."""
        key = json.dumps([job, cluster, strategy, settings, words])
        if key not in self.known:
            (self.folder / "job.toml").write_text(job.format(folder=self.folder))
            (self.folder / "cluster.toml").write_text(cluster)
            run = self.folder / "run"
            subprocess.run(["rm", "-rf", run], check=True)
            sets = (f"--set={name}={json.dumps(value)}" for name, value in settings.items())
            call = [PROGRAM, "simulate", self.folder / "job.toml", "--cluster", self.folder / "cluster.toml", "--strategy", strategy,
                    "--run", run, "--quiet", *sets, *words]
            done = subprocess.run(list(map(str, call)), env={**os.environ, "YOKE_DATA": str(DATA)}, stderr=subprocess.PIPE, text=True)
            record = {"key": key, "error": done.stderr.strip()[-300:]} if done.returncode else {"key": key, **events(run, "end")[-1], "worlds": len(events(run, "start"))}
            self.known[key] = record
            if self.file:
                with self.file.open("a") as out:
                    out.write(json.dumps(record) + "\n")
        return self.known[key]


def images(folder):
    """Grey images without content: only their shape and number matter."""
    for name, sizes, data in (("images", (EXAMPLES, 32, 32), bytes(EXAMPLES * 1024)), ("labels", (EXAMPLES,), bytes(range(10)) * (EXAMPLES // 10 + 1))):
        head = struct.pack(f">BBBB{len(sizes)}I", 0, 0, 8, len(sizes), *sizes)
        (folder / f"{name}.gz").write_bytes(gzip.compress(head + data[:math.prod(sizes)], 1, mtime=0))


def cluster(nodes, speed, memory, failures, more="", detection=5, restart=10):
    at = ", ".join(f"{{ node = {node}, seconds = {second:.6g} }}" for second, node in failures)
    return CLUSTER.format(nodes=nodes, speed=speed, memory=memory, detection=detection, restart=restart, more=more, at=at)


def drawn(nodes, number, end, seed=1):
    """Failures of different nodes: a Poisson process between 0 and `end`, given its number."""
    source = random.Random(seed)
    return list(zip(sorted(source.uniform(0, end) for _ in range(number)), source.sample(range(nodes), number)))


def young(period, write):
    """Seconds between checkpoints: J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974."""
    return math.sqrt(2 * write * period)


def operations(folder):
    """Floating-point operations and bytes of a checkpoint of the job: values and one average, as `yoke info` prints them."""
    (folder / "job.toml").write_text(TIMES_JOB.format(folder=folder))
    lines = subprocess.run([str(PROGRAM), "info", str(folder / "job.toml")], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    words = {line.split()[0]: line.split()[1].rstrip(",") for line in lines if line.startswith(("parameters ", "operations "))}
    units = {"k": 1e3, "M": 1e6, "G": 1e9}
    return float(words["operations"][:-1]) * units[words["operations"][-1]], 8 * int(words["parameters"].replace(",", ""))


def goodput(arguments, runs):
    images(runs.folder)
    work, checkpoint = operations(runs.folder)
    write = checkpoint / CHECKPOINT_SPEED
    print(f"{BATCH * work / 1e9:.3g} G operations a step; a checkpoint of {checkpoint / 1e6:.0f} MB takes {write:.2f} s\n")
    print("| mean time between failures | s a step | method | lost nodes | recoveries | goodput | against living nodes | batches an hour of a "
          "living node |\n|" + " --- |" * 8)
    curves = {}
    for period in map(float, arguments.periods.split(",")):
        end, step = FAILURES * period, STEP if period < LONG else period / STEPS_OF_LONG
        speed = BATCH * work / step
        failures = drawn(NODES, FAILURES, end)
        for method in arguments.methods:
            strategy, settings, more = METHODS[method]
            rates = []
            for at, limit in (([], min(end, 14400 if step == STEP else 1600 * step)), (failures, end)):
                keys = {**settings, "train.time_limit": f"{limit:.0f}s"}
                if step > STEP:
                    keys["cluster.timeout"] = 3600
                if more and at:
                    keys["checkpoint.every_minutes"] = round(young(period, write) / 60, 4)
                one = runs.run(TIMES_JOB, cluster(NODES, speed, MEMORY, at, more), strategy, keys, "--times-only")
                rates.append(one if "error" in one else one["epochs"] * EXAMPLES / BATCH / one["virtual_seconds"])
            if isinstance(rates[1], dict):
                print(f"| {named(period)} | {step:.3g} | {method} | {rates[1]['error']} | | | | |", flush=True)
                continue
            seconds = one["virtual_seconds"]
            living = NODES if more else NODES - sum(seconds - second for second, _ in failures if second < seconds) / seconds
            ratio = rates[1] / rates[0]
            curves.setdefault(method, []).append((period, ratio * NODES / living))
            print(f"| {named(period)} | {step:.3g} | {method} | {one.get('lost', 0)} | {one['worlds'] - 1} | {ratio:.3f} | {ratio * NODES / living:.3f} | "
                  f"{rates[1] * 3600 / living:.1f} |", flush=True)
    if arguments.plot:
        pathlib.Path(arguments.plot).write_text(draw(curves))


def named(period):
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if period >= size)
    return f"{period / size:g} {unit}"


def draw(curves):
    """The SVG's text: goodput against living nodes over the mean time between failures."""
    wide, high, left, right, top, bottom = 760, 400, 52, 560, 44, 52
    periods = sorted({period for one in curves.values() for period, _ in one})
    x_of = logarithmic(periods[0], periods[-1], left + 12, right - 12)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">',
             f'<rect width="{wide}" height="{high}" fill="white"/>',
             text(left, 20, "Goodput with failures, for each living node: fraction of that without", "start", 'font-weight="bold"'),
             text((left + right) / 2, high - 12, "mean time between failures of the cluster of 64 nodes")]

    def y_of(value):
        return high - bottom - (high - bottom - top) * value / 1.05

    for value in (0, 0.2, 0.4, 0.6, 0.8, 1):
        lines += [f'<path d="M{left} {y_of(value):.1f}H{right}" stroke="#e4e4e4"/>', text(left - 5, y_of(value) + 4, f"{value:g}", "end")]
    for period in periods:
        lines += [f'<path d="M{x_of(period):.1f} {top}V{high - bottom}" stroke="#e4e4e4"/>', text(x_of(period), high - bottom + 16, named(period))]
    order = sorted(curves, key=lambda method: -curves[method][0][1])
    for i, method in enumerate(order):
        colour = COLOURS[list(METHODS).index(method)]
        places = [(x_of(period), y_of(value)) for period, value in curves[method]]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        lines += [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/><g fill="{colour}">{dots}</g>',
                  f'<path d="M{right + 14} {top + 16 + 20 * i}h26" stroke="{colour}" stroke-width="2"/>',
                  text(right + 46, top + 20 + 20 * i, method, "start")]
    return "\n".join(lines + ["</svg>"]) + "\n"


def accuracy(arguments, runs):
    numbers = [int(number) for number in arguments.failures.split(",")]
    print("| method | " + " | ".join(f"{number} failures" for number in numbers) + " |\n|" + " --- |" * (1 + len(numbers)))
    for method in arguments.methods:
        strategy, settings, _ = METHODS[method]
        settings = {name: value for name, value in settings.items() if name != "cluster.bucket_mb"}
        if strategy == "diloco":
            settings = {"cluster.period": 12}
        cells = []
        for number in numbers:
            ends = []
            for seed in arguments.seeds.split(","):
                keys = {**settings, "train.epochs": arguments.epochs, "train.seed": int(seed), "checkpoint.every_epochs": 0}
                end = runs.run(DIGITS_JOB, cluster(arguments.nodes, *SLOW, [], "", 0.01, 0), strategy, keys)["virtual_seconds"]
                # Evenly over the time of the run without failures. Of 16 failures on 32 nodes one is that of node 0, which leads.
                nodes = [arguments.nodes - 1 - (i * 7) % arguments.nodes for i in range(number)]
                at = [((i + 1) / (number + 1) * end, node) for i, node in enumerate(nodes)]
                ends.append(runs.run(DIGITS_JOB, cluster(arguments.nodes, *SLOW, at, "", 0.01, 0), strategy, keys))
            cells.append(", ".join(one.get("error") or f"{one['test']['accuracy']:.4f} ({one.get('lost', 0)} lost, {one['virtual_seconds']:.3g} s)" for one in ends))
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["goodput", "accuracy"])
    parser.add_argument("--periods", default="60,300,1800,7200,28800,86400", help="seconds")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by ;")
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--failures", default="0,1,4,16")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--results")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    arguments.methods = [name for name in arguments.methods.split(";") if arguments.what == "goodput" or not METHODS[name][2]]
    with tempfile.TemporaryDirectory() as folder:
        {"goodput": goodput, "accuracy": accuracy}[arguments.what](arguments, Runs(arguments.results, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
