"""Gossip beside all-reduce and elastic averaging (Jin, Yuan, Iandola, Keutzer, 2016, arXiv 1611.04581), in virtual time.

Models: resnet20 (examples/papers/gossip-resnet20.toml, 8 hours of a core), lenet5 (on Fashion-MNIST, 40 minutes), digits (LeNet-5 on
drawn digits, 2 minutes). The rate falls by 10 after a third and after two thirds. With --runs DIR an interrupted call goes on.
--push compares the forms of gossip_push on 8 nodes instead: LeNet-5 on Fashion-MNIST, 10 minutes.

What all-reduce computes depends on no time: it is trained once, and its times elsewhere are those of --times-only. The other methods
are trained on each network, beyond the first one with the first seed.
"""
import sys
from statistics import fmean

from how_to_scale import DRAWN, FASHION, LENET5
from lib.comparison import Compared, compare
from lib.options import part
from lib.places import ROOT
from lib.runner import DIVERGED, first_at, from_words, virtual, write_job
from lib.tables import grid, listed, print_table, say

METHODS = ["allreduce", "gossip_pull", "gossip_push", "easgd_async"]
NETWORKS = {"10 Gbit/s": {"bandwidth": 1.25e9}, "1 Gbit/s": {"bandwidth": 1.25e8}, "10 Gbit/s, one node half as fast": {"bandwidth": 1.25e9}}
EQUAL, THIN, LAGGING = NETWORKS
WHOLE_BATCH, LEAST_BATCH = 256, 16  # of all nodes on 8 and 16; of a node on more
PAPERS_FLIP = 32  # nodes up to which the paper's asynchronous methods are sooner
LENET_TRAIN = {"rule": "nesterov", "learning_rate": 0.02, "weight_decay": 1e-4}
# Seconds of a step by batch, less its update, on a core of an AMD EPYC with AVX-512. ResNet-20: docs/benchmarks.md, 604 images a second;
# LeNet-5: docs/how-to-scale.md.
LENET_SECONDS = {32: 1.22e-3, 16: 0.61e-3, 8: 0.305e-3}
STEP_SECONDS = {"resnet20": {batch: batch / 604 for batch in (32, 16)}, "lenet5": LENET_SECONDS, "digits": LENET_SECONDS}
NODE = {"memory": 2.5e10}  # bytes a second of arithmetic on values


def batch_of(nodes):
    return max(WHOLE_BATCH // nodes, LEAST_BATCH)


def lenet5(arguments, data, name="lenet5", **train):
    """A job file of LeNet-5."""
    return write_job(arguments.runs / f"{name}.toml", {"data": data, "model": {"layer": LENET5}, "train": train, "node": {"threads": 1}})


def job_of(arguments):
    """The job file of --model."""
    if arguments.model == "resnet20":
        return ROOT / "examples/papers/gossip-resnet20.toml"
    return lenet5(arguments, DRAWN if arguments.model == "digits" else FASHION, arguments.model, **LENET_TRAIN)


def settings_of(arguments, method, nodes, seed):
    keys = {"cluster.strategy": method, "cluster.replicas": nodes, "train.batch": batch_of(nodes), "train.epochs": arguments.epochs,
            "train.seed": seed, "train.schedule": {"name": "step", "every_epochs": arguments.epochs / 3}, "node.threads": 1,
            "checkpoint.every_epochs": 0}
    if method.startswith("easgd"):
        keys["cluster.moving_rate"] = 0.8 / nodes
    if arguments.model == "digits":
        keys |= {"data.train_size": 8192, "data.test_size": 2000}
    return keys | from_words(arguments.set)


def run(arguments, method, nodes, network, seed, *words):
    print(f"# {method}, {nodes} nodes, {network}, seed {seed} {' '.join(words)}", file=sys.stderr, flush=True)
    cluster = {"latency": 50e-6, "step_seconds": STEP_SECONDS[arguments.model][batch_of(nodes)], **NODE, **NETWORKS[network]}
    if network == LAGGING:
        cluster["slow_rank"] = nodes - 1
    return virtual(job_of(arguments), cluster, settings_of(arguments, method, nodes, seed), arguments.runs, *words, accept=[DIVERGED])


class Cell:
    """A method's runs on so many nodes of a network, and their virtual seconds without evaluations."""

    def __init__(self, arguments, method, nodes, network):
        in_step = method == "allreduce"
        seeds = arguments.seeds if in_step or network == EQUAL else arguments.seeds[:1]
        self.nodes, self.runs = nodes, [run(arguments, method, nodes, EQUAL if in_step else network, seed) for seed in seeds]
        timed = self.runs
        if in_step and network != EQUAL:
            timed = [run(arguments, method, nodes, network, arguments.seeds[0], "--times-only")]
        self.seconds = fmean(one.end["exchange"]["step_seconds"] for one in timed)

    def error(self):
        """The mean final error in percent; None where a run diverged."""
        return None if any(one.diverged for one in self.runs) else fmean(self.errors())

    def errors(self):
        """The final errors in percent of runs that did not diverge."""
        return [100 * (1 - one.accuracy) for one in self.runs if not one.diverged]

    def seconds_to(self, percent):
        """Until the error is this low; None where it never is."""
        passes = [first_at([(0, 0.1), *one.curve("epoch")], 1 - percent / 100) for one in self.runs]
        return None if None in passes else fmean(passes) * self.seconds / len(self.runs[0].epochs)

    def models_sent(self):
        """What a node sends in a step, in sizes of the model."""
        one = self.runs[0]
        steps = one.start["train_examples"] * len(one.epochs) / batch_of(self.nodes)
        return one.exchange["bytes"] / steps / (4 * one.start["parameters"])


class Cells:
    """Those of all methods and nodes, on one network."""

    def __init__(self, arguments, network):
        self.network, self.nodes = network, arguments.nodes
        self.cells = {(method, nodes): Cell(arguments, method, nodes, network) for nodes in arguments.nodes for method in METHODS}
        self.goals = {nodes: self.common_error(nodes) for nodes in self.nodes}

    def common_error(self, nodes):
        """The highest final error of all runs, rounded up to a tenth: each has reached it."""
        return max(int(10 * error + 1) / 10 for method in METHODS for error in self.cells[method, nodes].errors())

    def seconds_to_goal(self, method, nodes):
        return self.cells[method, nodes].seconds_to(self.goals[nodes])

    def sooner(self, method):
        """The numbers of nodes on which it reaches the common error before all-reduce."""
        never = float("inf")
        return [nodes for nodes in self.nodes
                if (self.seconds_to_goal(method, nodes) or never) < (self.seconds_to_goal("allreduce", nodes) or never)]

    def text(self, method, nodes):
        if method == "common error":
            return f"{self.goals[nodes]:.1f}"
        cell = self.cells[method, nodes]
        return "/".join([say(cell.error(), ".1f", "diverges"), f"{cell.seconds:.3g}", say(self.seconds_to_goal(method, nodes), ".3g", "never")])

    def print(self):
        print(f"\n{self.network}: final error, %/virtual seconds/virtual seconds to the common error", flush=True)
        grid("nodes", self.nodes, [*METHODS, "common error"], self.text)
        for method in METHODS[1:]:
            print(f"\n{method} is sooner than allreduce on: {listed(self.sooner(method)) or 'none'}", flush=True)


def bytes_sent(equal):
    for (method, nodes), cell in equal.cells.items():
        if method != "easgd_async":
            law = 2 * (nodes - 1) / nodes if method == "allreduce" else 1
            yield Compared(f"models that a node sends in a step: {method}, {nodes} nodes", law, cell.models_sent())


def throughput_lost(equal, lagging):
    for (method, nodes), cell in equal.cells.items():
        if nodes <= PAPERS_FLIP:
            law, note = (50, "half") if method == "allreduce" else (100 / nodes, "at most 1 / nodes")
            percent = 100 * (1 - cell.seconds / lagging.cells[method, nodes].seconds)
            yield Compared(f"throughput lost by a slow node, %: {method}, {nodes} nodes", law, percent, ".1f", note)


def flips(equal):
    for method in METHODS[1:]:
        yield Compared(f"nodes up to which it is sooner than allreduce: {method}", PAPERS_FLIP, max(equal.sooner(method), default=0), ".0f", "about 32")


# gossip_push on 8 nodes: LeNet-5, a whole batch of 64. A message takes 95 % of a step, or 4 %.
PUSH_NETWORKS = {"nearly full": 0.48e9, "fast": 12.5e9}
PUSH_TRAIN = {"batch": 8, "learning_rate": 0.02, "schedule": {"name": "cosine"}, "epochs": 4}
PUSH_FORMS = {"allreduce": ("allreduce", {}), "gossip_push": ("gossip_push", {}), "gossip_push, weights": ("gossip_push", {"cluster.weights": True}),
              "gossip_push, rate 0.035": ("gossip_push", {"train.learning_rate": 0.035})}


def push_runs(arguments, form, bandwidth):
    strategy, more = PUSH_FORMS[form]
    cluster = {"bandwidth": bandwidth, "latency": 5e-6, "step_seconds": LENET_SECONDS[8], **NODE}
    keys = {"cluster.strategy": strategy, "cluster.replicas": 8, **more, **from_words(arguments.set)}
    job = lenet5(arguments, FASHION, "push", **PUSH_TRAIN)
    return [virtual(job, cluster, {**keys, "train.seed": seed}, arguments.runs, accept=[DIVERGED]) for seed in arguments.seeds]


def print_push(arguments):
    """Accuracies and training losses of the mean model by the form and the network."""
    def rows():
        for form in PUSH_FORMS:
            for name, bandwidth in PUSH_NETWORKS.items():
                runs = push_runs(arguments, form, bandwidth)
                values = (fmean(values) for values in zip(*((100 * one.accuracy, one.epochs[-1]["train"]["loss"], one.seconds) for one in runs)))
                yield [form, name, *map(say, values, (".2f", ".3f", ".3g"))]

    print_table(["form", "cards", "accuracy, %", "training loss", "virtual seconds"], rows())


@part(model="resnet20", nodes=[8, 32, 64, 128], networks=list(NETWORKS), seeds=[1, 2], epochs=6, push=False, set=[],
      quick={"model": "digits", "nodes": [8, 32], "networks": [EQUAL, LAGGING], "seeds": [1]})
def gossip(arguments):
    """Final errors and times by method, nodes and network; then bytes, the cost of a slow node, and where the order flips."""
    if arguments.push:
        print_push(arguments)
        return f"LeNet-5 on Fashion-MNIST, 8 nodes, seeds {listed(arguments.seeds)}"
    found = {}
    for network in arguments.networks:
        found[network] = Cells(arguments, network)
        found[network].print()
    figures = []
    if EQUAL in found:
        figures += [*bytes_sent(found[EQUAL]), *flips(found[EQUAL])]
    if EQUAL in found and LAGGING in found:
        figures += throughput_lost(found[EQUAL], found[LAGGING])
    compare(figures)
    return f"{arguments.model}, {arguments.epochs} epochs, seeds {listed(arguments.seeds)}"
