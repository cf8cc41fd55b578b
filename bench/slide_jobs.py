#!/usr/bin/env python3
"""What the slide benchmarks share: write a job, run `yoke train` on it, read its epochs.

    job = xmc_job("citeulike-t", epochs=5, batch=128, learning_rate=1e-3, lsh={"hard": 512, "random": 512, "group": 32})
    run = train(job, threads=2)
    for epoch in run.epochs: print(epoch.epoch, epoch.train_seconds, epoch.test["p_at_1"])

The program is build/release/bin/yoke; YOKE_BENCH_BUILD names another build folder. Real data lies in $YOKE_DATA.
"""
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

from job_runs import DATA, ROOT

BUILD = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release"))
PROGRAM = BUILD / "bin/yoke"


@dataclasses.dataclass
class Epoch:
    """What the run's record says after an epoch."""
    epoch: int
    train_seconds: float  # Of all epochs so far, without evaluation.
    seconds: float        # The same with evaluation.
    examples_per_second: float
    train_loss: float
    test: dict            # loss, p_at_1, p_at_3, p_at_5; empty where it was not measured.


@dataclasses.dataclass
class Run:
    """A run that ended in order."""
    epochs: list
    parameters: int
    train_examples: int
    start: dict  # The record's first line: commit, cpu, features, ...
    end: dict    # Its last one.
    cpu_seconds: float = 0.0  # Of all its threads, reading and evaluation included.

    def best(self, metric="p_at_1"):
        """The epoch with the highest value of this test metric."""
        return max((e for e in self.epochs if metric in e.test), key=lambda e: e.test[metric])

    def seconds_to(self, value, metric="p_at_1"):
        """Training seconds until this metric is first reached; None when it never is."""
        return next((e.train_seconds for e in self.epochs if e.test.get(metric, -1) >= value), None)


def files_of(name):
    """The data section of one of the sets in $YOKE_DATA."""
    root = f"$YOKE_DATA/{name}/{name}"
    return {"format": "xmc", "train": f"{root}_train.txt.gz", "test": f"{root}_test.txt.gz"}


def xmc_job(data, *, epochs, batch, learning_rate, lsh=None, hidden=128, loss="softmax", precision="f32", **train_keys):
    """A job of the zoo's xmc network. data: a set's name, or a data section. lsh: options of the hashed layer, or None for
    a dense one. More keys go to [train]."""
    model = {"name": "xmc", "hidden": hidden, "loss": loss}
    if lsh is not None:
        model |= {"output": "lsh", "lsh": lsh}
    training = {"epochs": epochs, "batch": batch, "rule": "adam", "learning_rate": learning_rate} | train_keys
    return {"data": files_of(data) if isinstance(data, str) else data, "model": model, "train": training,
            "node": {"precision": precision}, "checkpoint": {"every_epochs": 0}}


def toml(value):
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(str(value) if isinstance(value, pathlib.Path) else value)


def job_text(job):
    """A job file of these sections."""
    lines = []
    for section, keys in job.items():
        lines += [f"[{section}]"] + [f"{key} = {toml(value)}" for key, value in keys.items()] + [""]
    return "\n".join(lines)


def read_run(directory):
    """The record of a finished run."""
    lines = [json.loads(line) for line in open(directory / "metrics.jsonl", encoding="utf-8")]
    start, end = lines[0], lines[-1]
    epochs, seconds = [], 0.0
    for line in lines:
        if line["event"] != "epoch":
            continue
        seconds += start["train_examples"] / line["examples_per_second"]
        epochs.append(Epoch(line["epoch"], seconds, line["seconds"], line["examples_per_second"], line["train"]["loss"],
                            line.get("test", {})))
    return Run(epochs, start["parameters"], start["train_examples"], start, end)


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def train(job, *, threads=2, seed=None, keep=None):
    """Runs a job and returns its Run. keep: a folder for job.toml and the run directory; without it nothing stays."""
    folder = pathlib.Path(keep or tempfile.mkdtemp(prefix="yoke-slide-"))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "run", ignore_errors=True)
    if seed is not None:
        job = job | {"train": job["train"] | {"seed": seed}}
    (folder / "job.toml").write_text(job_text(job), encoding="utf-8")
    command = [PROGRAM, "train", folder / "job.toml", "--run", folder / "run", "--threads", str(threads), "--quiet"]
    before = cpu_of_children()
    try:
        result = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "YOKE_DATA": str(DATA)})
        if result.returncode != 0:
            raise RuntimeError(f"yoke train {folder}/job.toml ended with {result.returncode}: {result.stderr.strip()}")
        return dataclasses.replace(read_run(folder / "run"), cpu_seconds=cpu_of_children() - before)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
