#!/usr/bin/env python3
"""What `yoke simulate --times-only` costs by the number of nodes, and what it says about weak scaling and a WAN.

usage: bench/simulate_scale.py growth [--nodes 10,100,1000,10000,100000] [--repeats 3] [--svg FILE]
       bench/simulate_scale.py weak [--nodes 1,2,4,...,64,256,1024,4096]
       bench/simulate_scale.py wan

growth: processor seconds, seconds and peak memory of simulations of LeNet on examples/clusters/easgd-knl.toml with other numbers of
nodes, and the exponents with which they grow. weak: seconds a step of one node divided by those of P nodes, a fixed batch a node, for
GoogLeNet on the same nodes; then VGG-19, other batches and equal nodes on 64. wan: diloco beside allreduce on four regions of eight
nodes, with 100 Mbit/s a region. Prints each figure as it is measured: name, case, value, unit; then a Markdown table. Virtual times
are the same in every run; those of growth are medians.
"""
import explain  # noqa: F401
import argparse
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile
import time
from typing import NamedTuple

from conditions import conditions, heading, row
from job_runs import PROGRAM, ROOT, events
from scale_plot import draw
from slide_jobs import job_text

KNL = ROOT / "examples/clusters/easgd-knl.toml"
GROWTH = {"allreduce": {}, "local_sgd": {"cluster.period": 8}, "gossip_pull": {}}  # strategies and their keys
STEPS = 20  # of each replica
ONCE_FROM = 100_000  # so many nodes are simulated once
IN_STEP = ["easgd_sync3", "easgd_sync1", "allreduce"]
PAPER_NODES, PAPERS_SHARE = 64, 91.5  # You, Buluc, Demmel, 2017: about 4,300 cores, 68 a node
CLASSES, SIDE = 1000, 224  # of ImageNet
WAN = """title = "Four regions of eight nodes, 100 Mbit/s a region"
[[nodes]]
count = 32
operations_per_second = 7e11  # these two as in examples/clusters/spot-wan.toml
bytes_per_second = 3e10
[network]
latency = 5e-5
bytes_per_second = 6.25e8
regions = { nodes = 8, latency = 0.035, bytes_per_second = 1.25e7 }
"""
WAN_NODES = 32
RING = {"cluster.all_reduce": "ring"}
EXCHANGES = 20
WAYS = {"allreduce": ("allreduce", EXCHANGES, {}),
        "allreduce, ring": ("allreduce", EXCHANGES, RING),
        **{f"diloco, period {period}{name}": ("diloco", EXCHANGES * period, {"cluster.period": period, **keys})
           for period in (50, 500) for name, keys in {"": {}, ", ring": RING}.items()}}


class Simulation(NamedTuple):
    """The end event of a simulation, and what it took here."""
    end: dict
    processor: float
    wall: float
    peak: int  # bytes

    def step_seconds(self):
        return self.end["exchange"]["step_seconds"] / self.end["step"]

    def node_bytes(self, nodes):
        """Sent by a node in a step."""
        return self.end["exchange"]["bytes"] / self.end["step"] / nodes


def figure(name, case, value, unit):
    print(f"{name}, {case}, {value:.4g}, {unit}", flush=True)
    return value


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class Bench:
    """A folder with jobs, and the simulations in it."""

    def __init__(self, folder):
        self.folder = folder

    def job(self, model, batch):
        """Data only give sizes: a replica has a full batch whatever their number."""
        data = {"format": "synthetic-digits", "train_size": 150, "test_size": 0}
        if model != "lenet":
            data = {"format": "idx", "train": self.images()}
        path = self.folder / f"{model}-{batch}.toml"
        path.write_text(job_text({"data": data, "model": {"name": model}, "train": {"epochs": 1, "batch": batch, "learning_rate": 0.01},
                                  "cluster": {"timeout": 1e6}}), encoding="utf-8")
        return path

    def images(self):
        """A black image for each class, in a file with a hole."""
        images, labels = self.folder / "images.idx", self.folder / "labels.idx"
        if not images.exists():
            with open(images, "wb") as file:
                file.write(bytes([0, 0, 8, 4]) + struct.pack(">4I", CLASSES, 3, SIDE, SIDE))
                file.truncate(20 + CLASSES * 3 * SIDE * SIDE)
            labels.write_bytes(bytes([0, 0, 11, 1]) + struct.pack(f">I{CLASSES}H", CLASSES, *range(CLASSES)))
        return [str(images), str(labels)]

    def simulate(self, job, cluster, strategy, steps, keys):
        """A simulation in a process of its own, on a cluster of this text."""
        run, file = self.folder / "run", self.folder / "cluster.toml"
        subprocess.run(["rm", "-rf", run], check=True)
        file.write_text(cluster, encoding="utf-8")
        words = [PROGRAM, "simulate", job, "--cluster", file, "--times-only", "--steps", steps, "--strategy", strategy, "--run", run, "--quiet",
                 *(f"--set={key}={value}" for key, value in keys.items())]
        began = time.monotonic()
        process = subprocess.Popen(list(map(str, words)))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"exit status {process.returncode}: {' '.join(map(str, words))}")
        end, = events(run, "end")
        return Simulation(end, usage.ru_utime + usage.ru_stime, wall, end["memory"]["peak"])


def knl(nodes, equal=False):
    text = re.sub(r"(?m)^count = .*$", f"count = {nodes}", KNL.read_text(encoding="utf-8"))
    return re.sub(r"(?m)^jitter.*\n", "", text) if equal else text


def exponent(small, large, nodes):
    return math.log(large / small) / math.log(nodes[1] / nodes[0])


def growth(bench, arguments):
    job, rows, curves = bench.job("lenet", 16), [], ({}, {})
    for strategy, keys in GROWTH.items():
        asynchronous = strategy.startswith("gossip")
        cost, memory = {}, {}
        for nodes in arguments.nodes:
            steps = STEPS * (nodes if asynchronous else 1)
            runs = [bench.simulate(job, knl(nodes), strategy, steps, keys) for _ in range(1 if nodes >= ONCE_FROM else arguments.repeats)]
            case = f"{strategy} on {nodes} nodes"
            cost[nodes] = figure("processor time", case, statistics.median(run.processor for run in runs), "s")
            wall = figure("time", case, statistics.median(run.wall for run in runs), "s")
            memory[nodes] = figure("peak memory", case, statistics.median(run.peak for run in runs) / 1e6, "MB")
            rate = figure("rate", case, STEPS * nodes / cost[nodes], "steps of a replica a processor second")
            rows.append([strategy, f"{nodes:,}", f"{cost[nodes]:.3g}", f"{wall:.3g}", f"{memory[nodes]:,.0f}", f"{rate:,.0f}"])
        for pair in [(1000, 10_000), (10_000, 100_000), (1000, 100_000)]:
            if all(nodes in cost for nodes in pair):
                case = f"{strategy} from {pair[0]} to {pair[1]} nodes"
                figure("exponent of processor time", case, exponent(*(cost[nodes] for nodes in pair), pair), "")
                figure("exponent of peak memory", case, exponent(*(memory[nodes] for nodes in pair), pair), "")
        curves[0][strategy, False], curves[1][strategy, False] = list(cost.items()), list(memory.items())
    print("\n" + heading(["strategy", "nodes", "processor s", "s", "peak MB", "replicas' steps a processor second"]))
    print("\n".join(map(row, rows)))
    if arguments.svg:
        title = f"{STEPS} steps of LeNet, times only, by the number of simulated nodes"
        arguments.svg.write_text(draw({"Processor seconds": curves[0], "Peak memory, MB": curves[1]}, title), encoding="utf-8")


def efficiency(bench, model, batch, nodes, strategy, equal=False):
    """(percent, seconds a step of one node, seconds a step of all)."""
    job = bench.job(model, batch)
    alone, all_nodes = (bench.simulate(job, knl(count, equal), strategy, STEPS, {}).step_seconds() for count in (1, nodes))
    jitter = ", equal nodes" if equal else ""
    return figure("weak scaling", f"{model} with batch {batch}{jitter} {strategy} on {nodes} nodes", 100 * alone / all_nodes, "%"), alone, all_nodes


def weak(bench, arguments):
    rows = []
    for nodes in arguments.nodes:
        cells = [efficiency(bench, "googlenet", 64, nodes, strategy) for strategy in IN_STEP]
        rows.append([f"{nodes:,}", *(f"{percent:.1f} % ({1000 * seconds:.1f})" for percent, _, seconds in cells)])
    print("\nGoogLeNet, batch 64: efficiency (ms a step)\n\n" + heading(["nodes", *IN_STEP]) + "\n" + "\n".join(map(row, rows)))
    rows = []
    for model, batch, equal in [("googlenet", 64, False), ("googlenet", 64, True), ("googlenet", 32, False), ("googlenet", 256, False),
                                ("vgg19", 64, False), ("vgg19", 64, True)]:
        cells = [efficiency(bench, model, batch, PAPER_NODES, strategy, equal) for strategy in IN_STEP]
        rows.append([model, batch, "none" if equal else "0.05", digits(1000 * cells[0][1]), *(f"{percent:.1f} %" for percent, _, _ in cells)])
    print(f"\n{PAPER_NODES} nodes; the paper: {PAPERS_SHARE} %\n\n" + heading(["model", "batch", "jitter", "ms a step of one node", *IN_STEP]))
    print("\n".join(map(row, rows)))


def wan(bench, _):
    rows = []
    for model, batch in [("lenet", 16), ("resnet18", 32), ("vgg11", 32)]:
        job, runs = bench.job(model, batch), {}
        one = re.sub(r"(?m)^regions.*\n", "", WAN).replace(f"count = {WAN_NODES}", "count = 1")
        alone = figure("time of a step", f"{model} with batch {batch} on one node", bench.simulate(job, one, "allreduce", 10, {}).step_seconds(), "s")
        for name, (strategy, steps, keys) in WAYS.items():
            runs[name] = bench.simulate(job, WAN, strategy, steps, keys)
            figure("time of a step", f"{model} with batch {batch} {name}", runs[name].step_seconds(), "s")
            figure("sent by a node in a step", f"{model} with batch {batch} {name}", runs[name].node_bytes(WAN_NODES), "B")
        plain = runs["allreduce"]
        best = min(run.step_seconds() for name, run in runs.items() if name.startswith("allreduce"))
        for name, run in runs.items():
            seconds, sent = run.step_seconds(), run.node_bytes(WAN_NODES)
            factors = [plain.step_seconds() / seconds, best / seconds, plain.node_bytes(WAN_NODES) / sent]
            for what, factor in zip(["over allreduce", "over the fastest allreduce", "of bytes"], factors):
                figure(f"factor {what}", f"{model} with batch {batch} {name}", factor, "")
            rows.append([f"{model}, {digits(1000 * alone)}", name, digits(1000 * seconds), digits(sent / 1e6),
                         *(f"{digits(factor)}x" for factor in factors)])
    print("\n" + heading(["model, ms a step of one node", "strategy", "ms a step", "MB a node and step", "gain on allreduce",
                          "gain on the fastest allreduce", "fewer bytes"]))
    print("\n".join(map(row, rows)))


def counts(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("growth")
    part.add_argument("--nodes", type=counts, default=[10, 100, 1000, 10_000, 100_000])
    part.add_argument("--repeats", type=int, default=3)
    part.add_argument("--svg", type=pathlib.Path)
    part.set_defaults(run=growth)
    part = parts.add_parser("weak")
    part.add_argument("--nodes", type=counts, default=[1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096])
    part.set_defaults(run=weak)
    parts.add_parser("wan").set_defaults(run=wan)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments.run(Bench(pathlib.Path(folder)), arguments)
    print("\n" + conditions(1, "times only"))


if __name__ == "__main__":
    main()
