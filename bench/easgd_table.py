#!/usr/bin/env python3
"""Elastic averaging in virtual time: Original -> Sync1 -> Sync2 -> Sync3, and the asynchronous ones beside their plain twins.

usage: bench/easgd_table.py [--part steps|twins] [--models lenet,alexnet-cifar] [--replicas 4,8] [--at-once N] [--runs DIR]

Part steps: LeNet on Fashion-MNIST and AlexNet-CIFAR on CIFAR-10 (a fifth held out), a whole batch of 64, on four clusters: the
paper's, whose computing is set so that easgd_original communicates for 87 % of its time, and this machine's cores behind networks
of 0.1, 1 and 10 Gbit/s. What a synchronous strategy computes does not depend on times, so each is trained once (easgd_sync1, 2 and
3 have the same bits), and its seconds a step are those of a short run on each cluster. Part twins: each run whole.
"""
import explain  # noqa: F401
import argparse
import dataclasses
import os
import pathlib
import tempfile

from conditions import conditions, heading, row
from slide_jobs import job_text
from strategies_table import WHOLE_BATCH, request
from virtual_runs import GIGABIT, MEMORY, STEP_SECONDS, Cluster, train, train_all

LINK = 12e9  # bytes a second: PCI Express 3, 16 lanes
# FDR InfiniBand, whose cards copy messages themselves, and a GPU's memory.
PAPER = {"bandwidth": 56 * GIGABIT, "latency": 2e-6, "copies": 1e18, "memory": 2.88e11, "device_link": LINK}
PAPERS_SHARE = 0.87
EVERYWHERE = "easgd_sync3, centre_everywhere"
SYNCHRONOUS = ["easgd_original", "easgd_sync1", "easgd_sync2", "easgd_sync3", EVERYWHERE]
TWINS = [("easgd_async", "async_sgd", {"train.rule": "sgd", "train.learning_rate": 0.1}),
         ("easgd_async_momentum", "async_msgd", {}), ("easgd_hogwild", "hogwild_sgd", {})]
SHORT_STEPS = 40  # of an epoch of a run that is only timed


def short_job(model, replicas, folder):
    """A job of two epochs of random data. Batches of one: the clusters say how long a batch takes."""
    count = replicas * SHORT_STEPS
    data = {"format": "synthetic-digits", "train_size": count, "test_size": 0}
    if model == "alexnet-cifar":
        records = bytearray(os.urandom(3073 * count))
        records[::3073] = bytes(i % 10 for i in range(count))
        (folder / f"random-{replicas}.bin").write_bytes(records)
        data = {"format": "cifar", "train": str(folder / f"random-{replicas}.bin")}
    path = folder / f"short-{model}-{replicas}.toml"
    path.write_text(job_text({"data": data, "model": {"name": model}, "checkpoint": {"every_epochs": 0}, "node": {"threads": 1},
                              "train": {"epochs": 2, "batch": 1, "learning_rate": 1e-4}, "cluster": {"replicas": replicas}}),
                    encoding="utf-8")
    return path


def timing(model, strategy, replicas, cluster, folder):
    """(seconds a step, fraction communicating) of a short run."""
    settings = {"cluster.strategy": "easgd_sync3", "cluster.centre_everywhere": "true"} if strategy == EVERYWHERE else {"cluster.strategy": strategy}
    run = train(short_job(model, replicas, folder), cluster, settings, folder)
    first, last = (epoch["exchange"]["step_seconds"] for epoch in run.epochs)
    return (last - first) / SHORT_STEPS, run.exchange["communicating"]


def calibrated(model, replicas, folder):
    """The paper's cluster, with the computing that lets easgd_original communicate for its share."""
    seconds = 1e-3
    for _ in range(4):  # what it communicates hardly depends on what it computes
        step, share = timing(model, "easgd_original", replicas, Cluster(step_seconds=seconds, **PAPER), folder)
        seconds = max(1e-6, seconds + step * (share / PAPERS_SHARE - 1))  # 0: virtual_run computes at its own rate
    return Cluster(step_seconds=seconds, **PAPER)


def clusters(model, replicas, folder):
    """{name: cluster}"""
    seconds = STEP_SECONDS[model][WHOLE_BATCH // replicas]
    yield "the paper's share", calibrated(model, replicas, folder)
    for gbits in (0.1, 1, 10):
        yield f"{gbits:g} Gbit/s", Cluster(GIGABIT * gbits, 50e-6, seconds, LINK, MEMORY)


def cifar_job(folder):
    """AlexNet-CIFAR on 40,000 of CIFAR-10's images."""
    path = folder / "alexnet-cifar10.toml"
    files = [f"$YOKE_DATA/cifar10/data_batch_{i}.bin.xz" for i in range(1, 6)]
    path.write_text(job_text({"data": {"format": "cifar", "train": files, "test_share": 0.2, "normalize": "standard"},
                              "model": {"name": "alexnet-cifar"}, "train": {"learning_rate": 0.02, "schedule": {"name": "cosine"}}}),
                    encoding="utf-8")
    return path


def trained(model, names, replicas, arguments, cluster=None, more=None):
    """The whole runs of these strategies; without a cluster on strategies_table's."""
    requests = []
    for name in names:
        job, place, settings = request(name, replicas, arguments)
        if model == "alexnet-cifar":
            job, place = cifar_job(arguments.runs), dataclasses.replace(place, step_seconds=STEP_SECONDS[model][WHOLE_BATCH // replicas])
            settings = {**settings, "cluster.strategy": name}
        requests.append((job, cluster or place, {**settings, **(more or {})}))
    return train_all(requests, arguments.runs, arguments.at_once)


def steps_table(model, replicas, arguments):
    """Original -> Sync1 -> Sync2 -> Sync3 on each cluster."""
    chosen = dict(clusters(model, replicas, arguments.runs))
    whole = trained(model, ["easgd_original", "easgd_sync3"], replicas, arguments)
    target = int(1000 * min(run.accuracy for run in whole)) / 1000
    epochs = {name: whole[0 if name == "easgd_original" else 1].epochs_to(target) for name in SYNCHRONOUS}
    steps_an_epoch = whole[0].steps / len(whole[0].epochs)
    print(f"\n{model}, {replicas} replicas, to accuracy {target:.3f} (at the end: Original {whole[0].accuracy:.4f}, Sync {whole[1].accuracy:.4f}):\n")
    print(heading(["cluster", "strategy", "ms a step", "communicating", "virtual seconds to the accuracy", "gain on the row above", "in all"]))
    for place, cluster in chosen.items():
        seconds = {}
        for name in SYNCHRONOUS:
            step, share = timing(model, name, replicas, cluster, arguments.runs)
            seconds[name] = step * steps_an_epoch * epochs[name]
            gain = list(seconds.values())[-2] / seconds[name] if len(seconds) > 1 else 1
            print(row([f"{place}, {1e3 * cluster.step_seconds:.3g} ms of computing" if len(seconds) == 1 else "", name, f"{1e3 * step:.2f}",
                       f"{100 * share:.0f} %", f"{seconds[name]:.2f}", *((f"{gain:.2f}x", f"{seconds['easgd_original'] / seconds[name]:.2f}x")
                                                                         if len(seconds) > 1 else ("", ""))]), flush=True)


def twins_table(replicas, arguments):
    """Each asynchronous elastic method beside its plain twin, LeNet."""
    for place in arguments.places.split(","):
        cluster = calibrated("lenet", replicas, arguments.runs) if place == "paper" else None
        print(f"\nlenet, {replicas} replicas, {'the paper' + chr(39) + 's share' if cluster else '10 Gbit/s'}:\n")
        print(heading(["", "rule", "accuracy at the end", "twin", "accuracy at the end", "to accuracy", "virtual seconds", "the twin's", "ratio"]))
        for elastic, plain, more in TWINS:
            ours, twin = trained("lenet", [elastic, plain], replicas, arguments, cluster, more)
            target = int(1000 * min(ours.accuracy, twin.accuracy)) / 1000
            a, b = ours.seconds_to(target), twin.seconds_to(target)
            print(row([elastic, "sgd" if more else "momentum", f"{ours.accuracy:.4f}", plain, f"{twin.accuracy:.4f}", f"{target:.3f}",
                       f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["steps", "twins"], default="steps")
    parser.add_argument("--models", default="lenet,alexnet-cifar")
    parser.add_argument("--replicas", default="4,8")
    parser.add_argument("--places", default="measured,paper", help="clusters of the twins: 10 Gbit/s, and the paper's share")
    parser.add_argument("--epochs", type=int, default=4)
    parser.set_defaults(seed=1, gbits=10)
    parser.add_argument("--at-once", type=int, default=2, help="runs")
    parser.add_argument("--runs", type=pathlib.Path, help="keep the runs here, and use those that are here already")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        arguments.runs = arguments.runs or pathlib.Path(folder)
        arguments.runs.mkdir(parents=True, exist_ok=True)
        for replicas in map(int, arguments.replicas.split(",")):
            if arguments.part == "twins":
                twins_table(replicas, arguments)
            for model in arguments.models.split(",") if arguments.part == "steps" else []:
                steps_table(model, replicas, arguments)
    print("\n" + conditions(1, "one run each, seed 1"))


if __name__ == "__main__":
    main()
