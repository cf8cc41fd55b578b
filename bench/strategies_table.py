#!/usr/bin/env python3
"""Each strategy beside one replica: LeNet on Fashion-MNIST by 4 and 8 replicas on a simulated cluster, as Markdown tables.

usage: bench/strategies_table.py [--replicas 4,8] [--epochs N] [--seed N] [--only NAMES] [--gbits N] [--at-once N] [--runs DIR]

The jobs are examples/strategies/*.toml: rate 0.02 falling by a cosine, momentum 0.9, and a whole batch of 64, of which each
replica has its part; diloco has adamw at 0.001. Times are virtual: one replica a node, and computing as STEP_SECONDS says. NAMES are strategies, separated
by commas, and none. easgd_sync3 is trained twice, and the models are compared bit for bit.
"""
import explain  # noqa: F401
import argparse
import filecmp
import pathlib
import tempfile

from conditions import conditions, heading, row
from virtual_runs import GIGABIT, JOBS, MEMORY, STEP_SECONDS, Cluster, train_all

WHOLE_BATCH, EXAMPLES = 64, 60000
ORDER = ["none", "allreduce", "async_sgd", "async_msgd", "hogwild_sgd", "compute_groups", "compute_groups_head", "easgd_original",
         "easgd_sync1", "easgd_sync2", "easgd_sync3", "easgd_async", "easgd_async_momentum", "easgd_hogwild", "ad_psgd",
         "gossip_pull", "gossip_push", "local_sgd", "slowmo", "diloco", "sgp"]
COLUMNS = ["strategy", "accuracy", "points to one replica", "MB a step", "messages a step", "virtual seconds", "communicating",
           "distance of replicas"]


def request(name, replicas, arguments):
    """What train_all takes."""
    alone = name == "none"
    batch = WHOLE_BATCH // (1 if alone else replicas)
    settings = {"train.epochs": arguments.epochs, "train.seed": arguments.seed, "train.batch": batch, "node.threads": 1,
                "cluster.replicas": 1 if alone else replicas, **({"cluster.strategy": "none"} if alone else {})}
    cluster = Cluster(GIGABIT * arguments.gbits, 50e-6, STEP_SECONDS["lenet"][batch], memory=MEMORY)
    return JOBS / f"{'allreduce' if alone else name}.toml", cluster, settings


def cells(name, run, alone):
    """A row of the table."""
    steps = EXAMPLES * len(run.epochs) / WHOLE_BATCH
    exchange = run.exchange
    if not exchange:
        return ["one replica", f"{run.accuracy:.4f}", "", "", "", f"{run.seconds:.1f}", "", ""]
    return [name, f"{run.accuracy:.4f}", f"{100 * (run.accuracy - alone.accuracy):+.2f}", f"{exchange['bytes'] / steps / 1e6:.2f}",
            f"{exchange['messages'] / steps:.2f}", f"{run.seconds:.1f}", f"{100 * exchange['communicating']:.0f} %",
            f"{exchange['consensus_distance']:.2g}"]


def same_model(one, other):
    return filecmp.cmp(*(run.folder / "last/model.safetensors" for run in (one, other)), shallow=False)


def table(replicas, names, arguments):
    """Prints the table of so many replicas."""
    runs = dict(zip(names, train_all([request(name, replicas, arguments) for name in names], arguments.runs, arguments.at_once)))
    print(f"\n{replicas} replicas of batch {WHOLE_BATCH // replicas}:\n\n{heading(COLUMNS)}")
    for name, run in runs.items():
        print(row(cells(name, run, runs["none"])))
    synchronous = [name for name in names if name.startswith("easgd_sync")]
    if synchronous and not arguments.no_repeat:
        again, = train_all([request(synchronous[-1], replicas, arguments)], arguments.runs / "again")
        same = [same_model(again, runs[name]) for name in synchronous]
        print(f"\n{synchronous[-1]} once more: {'the same bits' if same[-1] else 'OTHER BITS'}; the models of {', '.join(synchronous)} "
              f"{'have the same bits' if all(same) else 'DIFFER'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", default="4,8")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gbits", type=float, default=10, help="of a node's network card")
    parser.add_argument("--only", default=",".join(ORDER))
    parser.add_argument("--no-repeat", action="store_true", help="do not train easgd_sync3 twice")
    parser.add_argument("--at-once", type=int, default=2, help="runs")
    parser.add_argument("--runs", type=pathlib.Path, help="keep the runs here, and use those that are here already")
    arguments = parser.parse_args()
    names = ["none", *(name for name in arguments.only.split(",") if name != "none")]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        arguments.runs = arguments.runs or pathlib.Path(folder)
        for replicas in map(int, arguments.replicas.split(",")):
            table(replicas, names, arguments)
    print("\n" + conditions(1, f"one run a row, seed {arguments.seed}"))


if __name__ == "__main__":
    main()
