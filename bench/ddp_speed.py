#!/usr/bin/env python3
"""Sets a step of two of our replicas against one of PyTorch's DistributedDataParallel over Gloo, on one machine.

usage: tools/bench bench/ddp_speed.py [--rounds N] [--epochs N] [--only mlp,lenet,alexnet-cifar] [--json FILE]

Two ranks of one thread each, f32, momentum: ours as `yoke train --strategy allreduce` over threads, Open MPI and MPICH (drawn
digits, or random bytes as CIFAR's records), PyTorch's as two processes with random tensors in memory, in the faster of its
layouts. A run is some epochs of a fixed number of steps, of which the first does not count and the median of the others does;
all run in turn, and medians over the rounds count. So does a step without exchange: of one rank alone, and of two that run at
the same time and know nothing of each other. What a step of two ranks takes beyond the latter is set against the bytes that both
send. The program is build/bin/yoke; YOKE names another.
"""
import explain  # noqa: F401
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from conditions import conditions, cpu_name, heading, row as table_row, version
from job_runs import PROGRAM
from run import GREY, SMALL, Server
from slide_jobs import job_text, read_run

BATCH = {"mlp": 64, "lenet": 64, "alexnet-cifar": 128}  # of a rank
STEPS = {"mlp": 500, "lenet": 60, "alexnet-cifar": 10}  # of an epoch
SHAPES = {"mlp": GREY, "lenet": GREY, "alexnet-cifar": SMALL}
WORLDS = {"threads": [], "Open MPI": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"],
          "MPICH": ["mpirun.mpich", "-n", "2"]}
LAYOUTS = ["eager", "channels-last"]


def data_section(model, ranks, folder):
    """Training data for an epoch, which `folder` gets where it has to be a file."""
    count = BATCH[model] * STEPS[model] * ranks
    if SHAPES[model] == GREY:
        return {"format": "synthetic-digits", "train_size": count, "test_size": 0}
    records = bytearray(os.urandom(3073 * count))
    records[::3073] = bytes(i % 10 for i in range(count))
    (folder / f"random-{ranks}.bin").write_bytes(records)
    return {"format": "cifar", "train": str(folder / f"random-{ranks}.bin")}


def write_job(model, ranks, epochs, folder):
    """A job file of one model and number of replicas."""
    cluster = {"replicas": 2, "strategy": "allreduce"} if ranks == 2 else {}
    job = {"data": data_section(model, ranks, folder), "model": {"name": model},
           "train": {"epochs": epochs, "batch": BATCH[model], "rule": "momentum", "learning_rate": 0.001},
           "node": {"threads": 1}, "checkpoint": {"every_epochs": 0}, "cluster": cluster}
    path = folder / f"{model}-{ranks}.toml"
    path.write_text(job_text(job), encoding="utf-8")
    return path


def our_run(job, launcher=()):
    """(seconds a step, bytes a step that all ranks send)."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        command = [*launcher, PROGRAM, "train", job, "--run", run, "--quiet"]
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr.strip()}")
        record = read_run(run)
    steps = record.end["step"] / len(record.epochs)
    rates = [epoch.examples_per_second for epoch in record.epochs[1:]]
    return record.train_examples / steps / statistics.median(rates), record.end.get("exchange", {}).get("bytes", 0) / record.end["step"]


def together(works):
    """What each of these functions returns, all called at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(work) for work in works]]


class PyTorch:
    """Its two processes."""

    def __init__(self, folder):
        self.ranks = [Server(sys.executable, __file__, "--worker", rank, folder / "meeting") for rank in range(2)]

    def step(self, model, layout, how, epochs):
        """Seconds a step: `how` is alone (one rank), apart or joined."""
        (channels, *size), classes = map(int, SHAPES[model][0].split("x")), SHAPES[model][1]
        request = json.dumps({"model": model, "shape": [BATCH[model], channels, *size], "classes": classes, "layout": layout,
                              "joined": how == "joined", "steps": STEPS[model], "epochs": epochs})
        asked = self.ranks[:1] if how == "alone" else self.ranks
        answers = together([lambda one=one: one.measure(request) for one in asked])
        return statistics.fmean(statistics.median(answer["seconds"][1:]) for answer in answers)

    def best_layout(self, model):
        return min(LAYOUTS, key=lambda layout: self.step(model, layout, "joined", 2))

    def end(self):
        for rank in self.ranks:
            rank.end()


def measure_round(jobs, theirs, layout, model, arguments):
    """One run of everything in turn: seconds a step by name, and the bytes of ours."""
    worlds = {name: launcher for name, launcher in WORLDS.items() if not launcher or shutil.which(launcher[0])}
    seconds, sent = {}, 0
    for name, launcher in worlds.items():
        seconds[name], sent = our_run(jobs[2], launcher)
        if name == "threads":
            seconds["PyTorch"] = theirs.step(model, layout, "joined", arguments.epochs)
    seconds["PyTorch apart"] = theirs.step(model, layout, "apart", arguments.epochs)
    seconds["apart"] = statistics.fmean(one for one, _ in together([lambda: our_run(jobs[1])] * 2))
    seconds["PyTorch alone"] = theirs.step(model, layout, "alone", arguments.epochs)
    seconds["alone"] = our_run(jobs[1])[0]
    return seconds, sent


def measure(model, theirs, arguments):
    """All rounds of one model."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = {ranks: write_job(model, ranks, arguments.epochs, pathlib.Path(folder)) for ranks in (1, 2)}
        layout = theirs.best_layout(model)
        rounds = [measure_round(jobs, theirs, layout, model, arguments) for _ in range(arguments.rounds)]
    return {"model": model, "layout": layout, "bytes": rounds[0][1], "rounds": [seconds for seconds, _ in rounds]}


def lines_of(row):
    """The lines of the table that belong to one model."""
    median = {name: statistics.median(seconds[name] for seconds in row["rounds"]) for name in row["rounds"][0]}
    lines = []
    for name in [*(world for world in WORLDS if world in median), "PyTorch"]:
        prefix = "PyTorch " if name == "PyTorch" else ""
        ratio = statistics.median(seconds["PyTorch"] / seconds[name] for seconds in row["rounds"])
        beyond = median[name] - median[f"{prefix}apart"]
        speed = f"{row['bytes'] / beyond / 1e9:.1f}" if beyond > 0 else "-"
        who = f"PyTorch DDP, Gloo ({row['layout']})" if prefix else f"yoke, {name}"
        times = [f"{1e3 * value:.2f}" for value in (median[name], median[f"{prefix}apart"], median[f"{prefix}alone"], beyond)]
        lines.append(table_row([row["model"], BATCH[row["model"]], who, len(row["rounds"]), "" if prefix else f"{ratio:.2f}x", *times,
                                f"{row['bytes'] / 1e6:.2f}", speed]))
    return lines


def worker(rank, meeting):
    """A process of PyTorch: answers requests, one a line."""
    import ddp_torch
    ddp_torch.serve(int(rank), meeting)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5, help="of a run; the first does not count")
    parser.add_argument("--only", default=",".join(BATCH), help="models, separated by commas")
    parser.add_argument("--json", help="write all rounds to this file too")
    return parser.parse_args()


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    arguments = parse_arguments()
    if shutil.disk_usage("/dev/shm").free > 1e9:
        tempfile.tempdir = "/dev/shm"
    print(heading(["model", "batch a rank", "two ranks of", "runs", "ratio", "step, ms", "two apart, ms", "one alone, ms", "step - apart, ms",
                   "MB a step", "GB/s"]), flush=True)
    begin, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        theirs = PyTorch(pathlib.Path(folder))
        for model in arguments.only.split(","):
            rows.append(measure(model, theirs, arguments))
            print("\n".join(lines_of(rows[-1])), flush=True)
            if arguments.json:
                record = {"version": version(), "cpu": cpu_name(), "rows": rows}
                pathlib.Path(arguments.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        theirs.end()
    runs = f"medians of {arguments.rounds} runs of {arguments.epochs - 1} counted epochs"
    print(f"\n{conditions(1, runs)}; {(time.monotonic() - begin) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
