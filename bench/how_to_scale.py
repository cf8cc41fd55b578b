#!/usr/bin/env python3
"""The question of "How to scale distributed deep learning?" (Jin, Yuan, Iandola, Keutzer, 2016), in virtual time with real gradients.

usage: bench/how_to_scale.py [--nodes 4,8,...] [--methods NAMES] [--networks fast,thin] [--seeds 1,2] [--jobs N] [--plot FILE] [--runs DIR]

Trains LeNet-5 on Fashion-MNIST with a batch of 16 a node on simulated clusters (bench/virtual_run.cc). It takes hours of processor
time: with --runs an interrupted call goes on where it ended.
"""
import itertools
import math
import pathlib
from statistics import fmean

from lib.options import main, part
from lib.plot import plot
from lib.runner import DIVERGED, at_once, first_at, virtual, write_job
from lib.tables import grid, listed

EXAMPLES, BATCH, TARGET, MOST_EPOCHS = 60000, 16, 0.86, 24
SEEDED = 16  # most nodes with several seeds
METHODS = ["allreduce", "gossip_pull", "gossip_push", "easgd_async", "async_sgd"]
MOST_NODES = {"easgd_async": 32, "async_sgd": 32}  # their server is saturated from about 20 on
RATES = [0.005 * 2**k for k in range(8)]
FIRST = 2  # of RATES, where the search at the fewest nodes starts
# Seconds, and bytes a second of a node's card.
NETWORKS = {"fast": {"latency": 5e-6, "bandwidth": 12.5e9}, "thin": {"latency": 50e-6, "bandwidth": 0.125e9}}
TITLES = {"fast": "100 Gbit/s, 5 us", "thin": "1 Gbit/s, 50 us"}
# Of a node: a step without its update, updates and copies in bytes per second. docs/how-to-scale.md says how they were measured.
NODE = {"step_seconds": 0.61e-3, "memory": 48e9, "copies": 25e9}
FILES = [f"$YOKE_DATA/fashion-mnist/{kind}-ubyte.gz" for kind in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")]
FASHION = {"format": "idx", "normalize": "standard", "train": FILES[:2], "test": FILES[2:]}
DRAWN = {"format": "synthetic-digits", "test_size": 10}  # images of the same shape, for runs that are only timed
HE = {"initializer": "he_normal", "bias_initializer": "zeros"}


def convolution(outputs):
    return [{"type": "convolution", "outputs": outputs, "kernel": 5, **HE}, {"type": "relu"}, {"type": "max_pool", "kernel": 2}]


def linear(outputs):
    return [{"type": "linear", "outputs": outputs, **HE}, {"type": "relu"}]


# LeNet-5 (LeCun et al., 1998) with ReLU and max pooling: 44,426 parameters.
LENET5 = [*convolution(6), *convolution(16), {"type": "flatten"}, *linear(120), *linear(84),
          {"type": "linear", "outputs": 10, "initializer": "xavier_normal", "bias_initializer": "zeros"}]
TO_TARGET = {"train.schedule": {"warmup_epochs": 0.5}, "train.target": {"metric": "accuracy", "at_least": TARGET}}


def run(arguments, method, nodes, rate, keys, network="fast", slow=False, sums="halving"):
    """A run of a method; `slow`: the last node takes twice as long."""
    name = "timed" if "data.train_size" in keys else "learned"
    job = write_job(arguments.runs / f"{name}.toml", {"data": DRAWN if name == "timed" else FASHION, "model": {"layer": LENET5},
                                                      "train": {"batch": BATCH}, "node": {"threads": 1}})
    settings = {"cluster.strategy": method, "cluster.replicas": nodes, "cluster.all_reduce": sums, "train.learning_rate": rate, **keys}
    if method == "async_sgd":
        settings["cluster.slow_start"] = 0  # it warms up as the others do
    cluster = {**NODE, **NETWORKS[network], **({"slow_rank": nodes - 1} if slow else {})}
    return virtual(job, cluster, settings, arguments.runs, accept=[DIVERGED])


def passes_to(run):
    """Passes over the data until the target, on a straight line between two evaluations; infinite where it was not reached."""
    passes = first_at([(0, 0.1), *run.curve("epoch")], TARGET)
    return math.inf if passes is None else passes


def search(arguments, method, nodes, start):
    """The best rate's index and run: `start`, its neighbours, and further on while it gets better. No run is longer than the best one."""
    tried, most, wanted = {}, arguments.epochs, [start, start - 1, start + 1]
    while wanted:
        index = wanted.pop(0)
        if index in tried or not 0 <= index < len(RATES):
            continue
        tried[index] = run(arguments, method, nodes, RATES[index], {**TO_TARGET, "train.epochs": most})
        best = min(tried, key=lambda i: passes_to(tried[i]))
        if not math.isinf(passes_to(tried[best])):
            most = tried[best].epochs[-1]["epoch"]
            wanted = wanted or [best - 1, best + 1]
    return best, tried[best]


def search_all(arguments, method):
    """For each number of nodes the best rate's index and run. Each search starts at the best rate of fewer nodes; where no rate reaches
    the target, more nodes are not tried."""
    found, start = {}, FIRST
    for nodes in (nodes for nodes in arguments.nodes if nodes <= MOST_NODES.get(method, nodes)):
        start, best = found[nodes] = search(arguments, method, nodes, start)
        print(f"# {method}, {nodes} nodes: rate {RATES[start]}, {passes_to(best):.2f} passes", flush=True)
        if math.isinf(passes_to(best)):
            break
    return found


def measure(arguments, method, nodes, best, network, slow):
    """What a training to the target takes in one condition: its passes on equal nodes and the fast network, by seed, and its seconds a pass here."""
    index, found = best
    name, last, seeds = method.split(",")[0], found.epochs[-1], arguments.seeds if nodes <= SEEDED else arguments.seeds[:1]
    passes = [passes_to(found if seed == 1 else run(arguments, name, nodes, RATES[index], {**TO_TARGET, "train.epochs": arguments.epochs, "train.seed": seed}))
              for seed in seeds]
    measured_here = (network, slow) == ("fast", False) and method != "allreduce"
    seconds = last["exchange"]["step_seconds"] / last["epoch"] if measured_here else timing(arguments, method, nodes, network, slow)
    return {"rate": RATES[index], "passes": fmean(passes), "pass_seconds": seconds, "seconds": fmean(passes) * seconds}


def timing(arguments, method, nodes, network, slow):
    """Seconds of a pass over the data. Neither the rate nor the images change them: a low rate, images that are drawn."""
    in_step = method.startswith("allreduce")
    rounds = min(100, EXAMPLES // BATCH // nodes) if slow and not in_step else 10  # of 100 a slow node's last step is a small part
    keys = {"data.train_size": BATCH * nodes * rounds, "train.epochs": 1}
    one = run(arguments, method.split(",")[0], nodes, RATES[0] / 10, keys, network, slow, "ring" if method == "allreduce" else "halving")
    steps = EXAMPLES / BATCH / nodes
    return one.end["exchange"]["step_seconds"] / rounds * (math.ceil(steps) if in_step else steps)


def print_tables(measured, arguments):
    """measured: of `measure`, by (method, nodes, network, slow)."""
    methods = list(dict.fromkeys(method for method, *_ in measured))

    def table(corner, network, *cells):
        """Each cell is of (equal nodes, one slow); they are divided by a slash."""
        def cell(method, nodes):
            pair = [measured.get((method, nodes, network, slow)) for slow in (False, True)]
            return "/".join(text(*pair) for text in cells) if pair[0] else ""
        grid(corner, arguments.nodes, methods, cell)

    for network in arguments.networks:
        table(f"{TITLES[network]}: virtual seconds, equal nodes/one slow", network,
              lambda equal, _: f"{equal['seconds']:.3g}", lambda _, slow: f"{slow['seconds']:.3g}")
        table(f"{TITLES[network]}: passes/ms a step of all nodes", network, lambda equal, _: f"{equal['passes']:.1f}",
              lambda equal, _: f"{1e3 * equal['pass_seconds'] * BATCH * equal['nodes'] / EXAMPLES:.3g}")
    table("learning rate", "fast", lambda equal, _: f"{equal['rate']:g}")
    table("throughput lost by one slow node", "fast", lambda equal, slow: f"{100 * (1 - equal['pass_seconds'] / slow['pass_seconds']):.1f} %")


def curves(measured, network):
    """{method: [(nodes, seconds), ...]}, with a * for one slow node."""
    series = {}
    for (method, nodes, where, slow), one in measured.items():
        if where == network and not math.isinf(one["seconds"]):
            series.setdefault(method + "*" * slow, []).append((nodes, one["seconds"]))
    return series


@part(nodes=[4, 8, 16, 32, 64, 128], methods=METHODS, networks=list(NETWORKS), seeds=[1, 2], jobs=2, epochs=MOST_EPOCHS, plot="",
      quick={"nodes": [4], "methods": ["gossip_pull"], "networks": ["fast"], "seeds": [1], "epochs": 1})
def how_to_scale(arguments):
    """The search for the best rates takes seed 1."""
    found = dict(zip(arguments.methods, at_once(lambda method: search_all(arguments, method), arguments.methods, arguments.jobs)))
    cases = [(name, nodes, network, slow) for network, slow, method in itertools.product(arguments.networks, (False, True), found)
             for nodes, (_, best) in found[method].items() if not math.isinf(passes_to(best)) or arguments.quick
             for name in ([method, "allreduce, halving"] if method == "allreduce" else [method])]  # the all-reduce both as a ring and by halving
    results = at_once(lambda case: measure(arguments, *case[:2], found[case[0].split(",")[0]][case[1]], *case[2:]), cases, arguments.jobs)
    measured = {case: {"nodes": case[1], **result} for case, result in zip(cases, results)}
    print_tables(measured, arguments)
    if arguments.plot:
        panels = {TITLES[network]: curves(measured, network) for network in arguments.networks}
        pathlib.Path(arguments.plot).write_text(plot(panels, f"Virtual seconds to test accuracy {TARGET}, by the number of nodes", y_log=True,
                                                     x_ticks=arguments.nodes, below="nodes", dashed="one node half as fast"))
    return f"means of seeds {listed(arguments.seeds)}"


if __name__ == "__main__":
    main(__doc__)
