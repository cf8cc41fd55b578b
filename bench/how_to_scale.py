#!/usr/bin/env python3
"""The question of "How to scale distributed deep learning?" (Jin, Yuan, Iandola, Keutzer, 2016), in virtual time with real gradients.

usage: bench/how_to_scale.py [--nodes 4,8,...] [--methods NAMES] [--networks fast,thin] [--results FILE] [--plot FILE]
                             [--seeds 1,2] [--jobs N]

Trains LeNet-5 on Fashion-MNIST with a batch of 16 a node on simulated clusters (bench/virtual_run.cc), prints the tables of
docs/how-to-scale.md and draws docs/images/how-to-scale.svg. It takes hours of processor time. FILE keeps each run's record: an interrupted
call goes on where it ended. Build before: cmake --build build/release --target yoke virtual_run
"""
import explain  # noqa: F401
import argparse
import concurrent.futures
import itertools
import json
import math
import pathlib
import shutil
import subprocess
import tempfile
import threading

from conditions import conditions
from how_to_scale_tables import TITLES, print_tables, series
from job_runs import DATA, ROOT, events
from scale_plot import draw
from virtual_runs import VIRTUAL_RUN, first_at

EXAMPLES, BATCH, TARGET, MOST_EPOCHS = 60000, 16, 0.86, 24
SEEDED = 16  # most nodes with several seeds
CHECKED = (16,)  # nodes whose passes are measured in every condition
METHODS = ["allreduce", "gossip_pull", "gossip_push", "easgd_async", "async_sgd"]
MOST_NODES = {"easgd_async": 32, "async_sgd": 32}  # their server is saturated from about 20 on
RATES = [0.005 * 2**k for k in range(8)]
FIRST = 2  # of RATES, where the search at the fewest nodes starts
# Latency in seconds and bytes per second of a node's card.
NETWORKS = {"fast": (5e-6, 12.5e9), "thin": (50e-6, 0.125e9)}
# Of a node: a step without its update, updates and copies in bytes per second. docs/how-to-scale.md says how they were measured.
NODE = ["--step-seconds", 0.61e-3, "--memory", 48e9, "--copies", 25e9]
FASHION = """format = "idx"
normalize = "standard"
train = ["{0}/train-images-idx3-ubyte.gz", "{0}/train-labels-idx1-ubyte.gz"]
test = ["{0}/t10k-images-idx3-ubyte.gz", "{0}/t10k-labels-idx1-ubyte.gz"]
"""
DRAWN = 'format = "synthetic-digits"\ntest_size = 10\n'  # images of the same shape, for runs that are only timed
JOB = """# LeNet-5 (LeCun et al., 1998) with ReLU and max pooling: 44,426 parameters.
[data]
{data}
[model]
layer = [
  {{ type = "convolution", outputs = 6, kernel = 5, {he} }}, {{ type = "relu" }}, {{ type = "max_pool", kernel = 2 }},
  {{ type = "convolution", outputs = 16, kernel = 5, {he} }}, {{ type = "relu" }}, {{ type = "max_pool", kernel = 2 }},
  {{ type = "flatten" }}, {{ type = "linear", outputs = 120, {he} }}, {{ type = "relu" }},
  {{ type = "linear", outputs = 84, {he} }}, {{ type = "relu" }},
  {{ type = "linear", outputs = 10, initializer = "xavier_normal", bias_initializer = "zeros" }}]
[train]
batch = {batch}
[node]
threads = 1
[checkpoint]
every_epochs = 0
"""
HE = 'initializer = "he_normal", bias_initializer = "zeros"'
TO_TARGET = {"train.schedule": "{ warmup_epochs = 0.5 }", "train.target": f'{{ metric = "accuracy", at_least = {TARGET} }}'}
CUT = {"train.schedule": '{ name = "multi_step", at_epochs = [3, 5], warmup_epochs = 0.5 }', "train.epochs": 6}


class Runs:
    """Makes runs, and remembers those that the file of results holds."""

    def __init__(self, file, folder):
        self.folder, self.lock, self.file = folder, threading.Lock(), pathlib.Path(file)
        shutil.copytree(DATA / "fashion-mnist", folder / "data")
        for name, data in (("learned", FASHION.format(folder / "data")), ("timed", DRAWN)):
            (folder / f"{name}.toml").write_text(JOB.format(data=data, batch=BATCH, he=HE))
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.known = {one["key"]: one for one in map(json.loads, lines)}

    def run(self, method, nodes, rate, keys, network="fast", slow=False, sums="halving"):
        """The record of a run: its epochs, each with virtual seconds, test accuracy and exchange metrics."""
        latency, bandwidth = NETWORKS[network]
        settings = {"cluster.strategy": method, "cluster.replicas": nodes, "cluster.all_reduce": sums, "train.learning_rate": rate, **keys}
        if method == "async_sgd":
            settings["cluster.slow_start"] = 0  # it warms up as the others do
        words = [*NODE, "--latency", latency, "--bandwidth", bandwidth, *(["--slow-rank", nodes - 1] if slow else [])]
        words = [str(word) for word in words] + [f"--set={key}={value}" for key, value in settings.items()]
        key = " ".join(words)
        if key not in self.known:
            record = {"key": key, **self.train("timed" if "data.train_size" in keys else "learned", words)}
            with self.lock, self.file.open("a") as out:
                out.write(json.dumps(record) + "\n")
            self.known[key] = record
        return self.known[key]

    def train(self, job, words):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        try:
            done = subprocess.run([str(VIRTUAL_RUN), str(self.folder / f"{job}.toml"), "--run", str(folder / "run"), *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode not in (0, 3):  # 3: it diverged
                raise RuntimeError(f"{' '.join(done.args)} ended with {done.returncode}: {done.stderr}")
            start = events(folder / "run", "start")[0]
            epochs = [{"epoch": one["epoch"], "accuracy": one["test"]["accuracy"], **one["exchange"]}
                      for one in events(folder / "run", "epoch")]
            return {**json.loads(done.stdout.splitlines()[-1]), "commit": start["commit"], "parameters": start["parameters"], "epochs": epochs,
                    "end": events(folder / "run", "end")[-1]}
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def passes_to(record, target=TARGET):
    """Passes over the data until the target, on a straight line between two evaluations; infinite where it was not reached."""
    passes = first_at([(0, 0.1), *((one["epoch"], one["accuracy"]) for one in record["epochs"])], target)
    return math.inf if passes is None else passes


def search(runs, method, nodes, first):
    """The best rate's index and record: `first`, its neighbours, and further on while it gets better. No run is longer than the best one."""
    tried, most = {}, MOST_EPOCHS
    wanted = [first, first - 1, first + 1]
    while wanted:
        index = wanted.pop(0)
        if index in tried or not 0 <= index < len(RATES):
            continue
        tried[index] = runs.run(method, nodes, RATES[index], {**TO_TARGET, "train.epochs": most})
        best = min(tried, key=lambda i: passes_to(tried[i]))
        if not math.isinf(passes_to(tried[best])):
            most = tried[best]["epochs"][-1]["epoch"]
        if not wanted and not math.isinf(passes_to(tried[best])):
            wanted = [best - 1, best + 1]
    return best, tried[best]


def search_all(runs, method, all_nodes):
    """For each number of nodes the best rate's index and record. Each search starts at the best rate of fewer nodes; where no rate reaches
    the target, more nodes are not tried."""
    found, first = {}, FIRST
    for nodes in (nodes for nodes in all_nodes if nodes <= MOST_NODES.get(method, nodes)):
        found[nodes] = search(runs, method, nodes, first)
        print(f"# {method}, {nodes} nodes: rate {RATES[found[nodes][0]]}, {passes_to(found[nodes][1]):.2f} passes", flush=True)
        if math.isinf(passes_to(found[nodes][1])):
            break
        first = found[nodes][0]
    return found


def measure(runs, method, nodes, best, network, slow, seeds):
    """What a training to the target takes in one condition: its passes on equal nodes and the fast network, by seed, and its seconds a pass here."""
    index, found = best
    name, rate = method.split(",")[0], RATES[index]
    seeds = seeds if nodes <= SEEDED else seeds[:1]
    learned = [found if seed == 1 else runs.run(name, nodes, rate, {**TO_TARGET, "train.epochs": MOST_EPOCHS, "train.seed": seed})
               for seed in seeds]
    last, passes = learned[0]["epochs"][-1], [passes_to(record) for record in learned]
    if (network, slow) == ("fast", False) and method != "allreduce":
        epoch_seconds = found["epochs"][-1]["step_seconds"] / found["epochs"][-1]["epoch"]
    else:
        epoch_seconds = timing(runs, method, nodes, network, slow)
    return {"method": method, "nodes": nodes, "network": network, "slow": slow, "rate": rate, "passes": passes, "epoch_seconds": epoch_seconds,
            "seconds": sum(passes) / len(passes) * epoch_seconds, "consensus": last["consensus_distance"],
            "models_sent": last["bytes"] / last["updates"] / (nodes if name == "allreduce" else 1) / (4 * found["parameters"])}


def timing(runs, method, nodes, network, slow):
    """Seconds of a pass over the data. Neither the rate nor the images change them: a low rate, images that are drawn."""
    in_step = method.startswith("allreduce")
    rounds = min(100, EXAMPLES // BATCH // nodes) if slow and not in_step else 10  # of 100 a slow node's last step is a small part
    keys = {"data.train_size": BATCH * nodes * rounds, "train.epochs": 1}
    record = runs.run(method.split(",")[0], nodes, RATES[0] / 10, keys, network, slow, "ring" if method == "allreduce" else "halving")
    steps = EXAMPLES / BATCH / nodes
    return record["end"]["exchange"]["step_seconds"] / rounds * (math.ceil(steps) if in_step else steps)


def check(runs, method, nodes, best, network, slow):
    """Passes that a method which is not in step takes in this condition."""
    return passes_to(runs.run(method, nodes, RATES[best[0]], {**TO_TARGET, "train.epochs": MOST_EPOCHS}, network, slow))


def conditions_of(found, networks):
    """All (method, nodes, network, slow) to measure, with the rate; the all-reduce both as a ring and by halving."""
    for network, slow, (method, by_nodes) in itertools.product(networks, (False, True), found.items()):
        for nodes, best in by_nodes.items():
            if not math.isinf(passes_to(best[1])):
                yield from ((name, nodes, best, network, slow) for name in ([method, "allreduce, halving"] if method == "allreduce" else [method]))


def checks_of(found, networks):
    """Calls of `check`, by (method, nodes, network, slow)."""
    return {(method, nodes, network, slow): (method, nodes, by_nodes[nodes], network, slow)
            for network, slow, (method, by_nodes) in itertools.product(networks, (False, True), found.items()) if method != "allreduce"
            for nodes in CHECKED if nodes in by_nodes and (network, slow) != ("fast", False)}


def after_cuts(runs, found):
    """Test accuracy after two cuts of the rate."""
    wanted = [(method, nodes) for method in ("allreduce", "gossip_pull", "gossip_push") for nodes in (4, 8, 16) if method in found
              and nodes in found[method]]
    return {(method, nodes): (runs, method, nodes, RATES[found[method][nodes][0]], CUT) for method, nodes in wanted}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="4,8,16,32,64,128")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--seeds", default="1,2", help="of what is measured; the search takes seed 1")
    parser.add_argument("--results", default="/dev/shm/how-to-scale.jsonl")
    parser.add_argument("--plot", default=str(ROOT / "docs/images/how-to-scale.svg"))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    arguments = parser.parse_args()
    all_nodes = [int(nodes) for nodes in arguments.nodes.split(",")]
    networks = arguments.networks.split(",")
    methods, seeds = arguments.methods.split(","), [int(seed) for seed in arguments.seeds.split(",")]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = Runs(arguments.results, pathlib.Path(folder))
        found = dict(zip(methods, pool.map(lambda method: search_all(runs, method, all_nodes), methods)))
        measured = pool.map(lambda one: measure(runs, *one, seeds), conditions_of(found, networks))
        cut = {key: pool.submit(Runs.run, *call) for key, call in after_cuts(runs, found).items()}
        checked = {key: pool.submit(check, runs, *call) for key, call in checks_of(found, networks).items()}
        measured = list(measured)
        print_tables(measured, {key: one.result() for key, one in checked.items()},
                     {key: one.result()["epochs"][-1]["accuracy"] for key, one in cut.items()})
    pathlib.Path(arguments.plot).write_text(draw({TITLES[network]: series(measured, network) for network in networks},
                                                  f"Virtual seconds to test accuracy {TARGET}, by the number of nodes"))
    print("\n" + conditions(1, f"means of seeds {arguments.seeds}"))


if __name__ == "__main__":
    main()
