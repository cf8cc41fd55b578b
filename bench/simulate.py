#!/usr/bin/env python3
"""What `yoke simulate --times-only` costs by the number of nodes, and what it says about weak scaling and a WAN.

usage: bench/simulate.py growth|weak|wan [options]      --help of a part has its options

Virtual times are the same in every run.
"""
import math
import pathlib
import re
import struct
import zlib

from lib.options import main, part
from lib.places import ROOT
from lib.plot import plot
from lib.runner import SIMULATE, median, trained, write_job
from lib.tables import print_table

KNL = (ROOT / "examples/clusters/easgd-knl.toml").read_text(encoding="utf-8")
GROWTH = {"allreduce": {}, "local_sgd": {"cluster.period": 8}, "gossip_pull": {}}  # strategies and their keys
STEPS = 20  # of each replica
ONCE_FROM = 100_000  # so many nodes are simulated once
IN_STEP = ["easgd_sync3", "easgd_sync1", "allreduce"]
PAPER_NODES = 64  # You, Buluç, Demmel, 2017: 91.5 % on about 4,300 cores, 68 a node
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
ONE_NODE = re.sub(r"(?m)^regions.*\n", "", WAN).replace("count = 32", "count = 1")
RING = {"cluster.all_reduce": "ring"}
EXCHANGES = 20


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def images(folder):
    """A data section with a black image for each class, in a file with a hole."""
    files = [folder / "images.idx", folder / "labels.idx"]
    with open(files[0], "wb") as file:
        file.write(bytes([0, 0, 8, 4]) + struct.pack(">4I", CLASSES, 3, SIDE, SIDE))
        file.truncate(20 + CLASSES * 3 * SIDE * SIDE)
    files[1].write_bytes(bytes([0, 0, 11, 1]) + struct.pack(f">I{CLASSES}H", CLASSES, *range(CLASSES)))
    return {"format": "idx", "train": files}


def simulate(model, batch, cluster, strategy, steps, arguments, keys=None, turn=0):
    """A simulation in a process of its own, on a cluster of this text. Data only give sizes: a replica has a full batch whatever their number."""
    data = {"format": "synthetic-digits", "train_size": 150, "test_size": 0} if model == "lenet" else images(arguments.runs)
    job, place = arguments.runs / f"{model}-{batch}.toml", arguments.runs / f"cluster-{zlib.crc32(cluster.encode()):08x}.toml"
    write_job(job, {"data": data, "model": {"name": model}, "cluster": {"timeout": 1e6},
                    "train": {"epochs": 1, "batch": batch, "learning_rate": 0.01, "seed": 1 + turn}})
    place.write_text(cluster, encoding="utf-8")
    return trained(job, keys or {}, arguments.runs, "--cluster", place, "--times-only", "--steps", steps, "--strategy", strategy,
                   command=SIMULATE)


def knl(nodes, equal=False):
    text = re.sub(r"(?m)^count = .*$", f"count = {nodes}", KNL)
    return re.sub(r"(?m)^jitter.*\n", "", text) if equal else text


def exponent(costs, first, last):
    """With which a cost grows between two numbers of nodes."""
    if first not in costs or last not in costs:
        return ""
    return f"{math.log(costs[last] / costs[first]) / math.log(last / first):.2f}"


@part(nodes=[10, 100, 1000, 10_000, 100_000], rounds=3, svg="", quick={"nodes": [10, 100], "rounds": 1})
def growth(arguments):
    """Processor seconds and peak memory of simulations of LeNet on the nodes of easgd-knl.toml, by their number, and the exponents with
    which they grow. Run it on an idle machine."""
    seconds, peaks = {strategy: {} for strategy in GROWTH}, {strategy: {} for strategy in GROWTH}
    for strategy, keys in GROWTH.items():
        for nodes in arguments.nodes:
            steps = STEPS * (nodes if strategy.startswith("gossip") else 1)
            runs = [simulate("lenet", 16, knl(nodes), strategy, steps, arguments, keys, turn)
                    for turn in range(1 if nodes >= ONCE_FROM else arguments.rounds)]
            seconds[strategy][nodes] = median([run.processor for run in runs])
            peaks[strategy][nodes] = median([run.end["memory"]["peak"] / 1e6 for run in runs])
    rows = [[f"{nodes:,}", *(f"{seconds[one][nodes]:.3g} s, {peaks[one][nodes]:,.0f} MB" for one in GROWTH)] for nodes in arguments.nodes]
    for first, last in ((1000, 100_000), (10_000, 100_000)):
        rows.append([f"exponent of the seconds, {first:,} to {last:,}", *(exponent(seconds[one], first, last) for one in GROWTH)])
    print_table(["nodes", "`allreduce`", "`local_sgd`, period 8", "`gossip_pull`"], rows)
    if arguments.svg:
        panels = {title: {one: list(costs.items()) for one, costs in found.items()} for title, found in
                  (("Processor seconds", seconds), ("Peak memory, MB", peaks))}
        pathlib.Path(arguments.svg).write_text(plot(panels, f"{STEPS} steps of LeNet, times only, by the number of simulated nodes", y_log=True,
                                                    x_ticks=arguments.nodes, below="nodes"), encoding="utf-8")
    return f"times only, medians of {arguments.rounds} runs, one of {ONCE_FROM:,} nodes"


def efficiency(model, batch, nodes, equal, arguments):
    """The step of one node divided by those of all, for each strategy; and milliseconds of the former."""
    times = [[simulate(model, batch, knl(count, equal), strategy, STEPS, arguments).step_seconds() for count in (1, nodes)] for strategy in IN_STEP]
    return *(f"{100 * alone / all_nodes:.1f} %" for alone, all_nodes in times), digits(1000 * times[0][0])


OF_PAPER = [("googlenet", 64, True), ("googlenet", 32, False), ("googlenet", 256, False), ("vgg19", 64, False), ("vgg19", 64, True)]


@part(nodes=[1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096], quick={"nodes": [2]})
def weak(arguments):
    """Weak scaling, a fixed batch a node: the step of one node divided by that of all. GoogLeNet with batch 64 on the nodes of easgd-knl.toml;
    then, on 64 nodes, equal nodes, other batches and VGG-19."""
    cases = [("googlenet", 64, nodes, False) for nodes in arguments.nodes]
    cases += [(model, batch, PAPER_NODES, equal) for model, batch, equal in OF_PAPER if not arguments.quick]
    print_table(["model, batch", "nodes", *IN_STEP, "ms a step of one node"],
                ([f"{model}, {batch}", f"{nodes:,}" + (", without jitter" if equal else ""), *efficiency(model, batch, nodes, equal, arguments)]
                 for model, batch, nodes, equal in cases))
    return f"times only, means of {STEPS} steps"


@part(models=["lenet:16", "resnet18:32", "vgg11:32"], periods=[50, 500], quick={"models": ["lenet:16"], "periods": [50]})
def wan(arguments):
    """DiLoCo beside allreduce on four regions of eight nodes with 100 Mbit/s a region: milliseconds a step, and MB that a node sends in one."""
    methods = {"allreduce": ("allreduce", EXCHANGES, {}), "allreduce, ring": ("allreduce", EXCHANGES, RING),
               **{f"diloco {period}{name}": ("diloco", EXCHANGES * period, {"cluster.period": period, **keys})
                  for period in arguments.periods for name, keys in {"": {}, ", ring": RING}.items()}}

    def cell(run):
        return f"{digits(1000 * run.step_seconds())}, {digits(run.end['exchange']['bytes'] / run.end['step'] / 32e6)} MB"

    def rows():
        for model, batch in (word.split(":") for word in arguments.models):
            alone = simulate(model, int(batch), ONE_NODE, "allreduce", 10, arguments).step_seconds()
            yield [f"{model}, {batch}", digits(1000 * alone),
                   *(cell(simulate(model, int(batch), WAN, strategy, steps, arguments, keys)) for strategy, steps, keys in methods.values())]

    print_table(["model, batch", "one node", *methods], rows())
    return f"times only, means over {EXCHANGES} exchanges"


if __name__ == "__main__":
    main(__doc__)
