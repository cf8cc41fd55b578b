#!/usr/bin/env python3
"""diloco beside allreduce on a network of 100 Mbit/s in virtual time: LeNet on Fashion-MNIST by 4 replicas, as a Markdown table.

usage: bench/diloco_table.py [--epochs N] [--periods 100,500] [--gbits N] [--at-once N] [--runs DIR]

The jobs are examples/strategies/*.toml with batches of 16; diloco with inner adamw at its usual rate of 0.001, allreduce with that
and with the momentum of the job. Computing is as in strategies_table.py.
"""
import explain  # noqa: F401
import argparse
import pathlib
import tempfile

from conditions import conditions, heading, row
from strategies_table import request
from virtual_runs import train_all

ADAMW = {"train.rule": "adamw", "train.learning_rate": 0.001}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--periods", default="100,500")
    parser.add_argument("--gbits", type=float, default=0.1)
    parser.add_argument("--at-once", type=int, default=2, help="runs")
    parser.add_argument("--runs", type=pathlib.Path, help="keep the runs here, and use those that are here already")
    parser.set_defaults(seed=1)
    arguments = parser.parse_args()
    rows = [("allreduce", "momentum", "allreduce", {}), ("allreduce", "adamw", "allreduce", ADAMW)]
    rows += [(f"diloco, period {period}", "adamw", "diloco", {**ADAMW, "cluster.period": int(period)}) for period in arguments.periods.split(",")]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        requests = []
        for _, _, strategy, more in rows:
            job, cluster, settings = request(strategy, 4, arguments)
            requests.append((job, cluster, {**settings, **more}))
        runs = train_all(requests, arguments.runs or pathlib.Path(folder), arguments.at_once)
        target = int(1000 * min(run.accuracy for run in runs)) / 1000
        print(heading(["", "rule", "accuracy", "GB sent", "virtual seconds", "communicating", f"virtual seconds to {target:.3f}", "GB sent by then"]))
        for (name, rule, _, _), run in zip(rows, runs):
            sent, until = run.exchange["bytes"] / 1e9, run.seconds_to(target)
            print(row([name, rule, f"{run.accuracy:.4f}", f"{sent:.3g}", f"{run.seconds:.1f}", f"{100 * run.exchange['communicating']:.0f} %",
                       f"{until:.1f}", f"{sent * until / run.seconds:.3g}"]))
    print("\n" + conditions(1, "one run a row, seed 1"))


if __name__ == "__main__":
    main()
