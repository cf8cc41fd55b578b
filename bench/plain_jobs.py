#!/usr/bin/env python3
"""Jobs of data and model alone against tuned ones: what a new user gets without a word on training.

usage: bench/plain_jobs.py [--jobs w8a,covtype,...] [--epochs 10] [--runs 3]

Takes [data] and [model] of each file in examples/. The plain job has nothing else. The tuned one is the best, by the test metric, of the rules
momentum and adam with five rates each and a cosine schedule, and of the example's own [train]; all have the same epochs. Prints both metrics, and the
median of each one's whole time, with the plain job's trials. Run it on an idle machine.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from conditions import conditions, heading, row
from job_runs import DATA, PROGRAM, ROOT, require_accepted

JOBS = "sector,rcv1,w8a,covtype,delicious,kdd99,mlp-fashion-mnist"
RATES = {"momentum": (1, 0.3, 0.1, 0.03, 0.01), "adam": (0.01, 0.003, 0.001, 0.0003, 0.0001)}
TUNED = [[f"train.rule={rule}", f"train.learning_rate={rate}", "train.schedule={name='cosine'}"] for rule, rates in RATES.items() for rate in rates]


def train(job, folder, changes):
    """Seconds in all, and the test metric of the last weights."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as run:
        done = subprocess.run([str(PROGRAM), "train", str(job), "--json", "--run", run + "/run", *(f"--set={change}" for change in changes)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "YOKE_DATA": str(DATA)})
    require_accepted(done)
    seconds = time.monotonic() - began
    end = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    metrics = end.get("test", {}) if end.get("reason") == "finished" else {}
    return seconds, metrics.get("accuracy", metrics.get("p_at_1", 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default=JOBS)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(conditions(len(os.sched_getaffinity(0)), f"{arguments.epochs} epochs, median of {arguments.runs}"))
    print("\n" + heading(["job", "plain", "tuned", "points", "tuned by", "plain s", "tuned s", "ratio"]))
    epochs = [f"train.epochs={arguments.epochs}"]
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.jobs.split(","):
            example = ROOT / f"examples/{name}.toml"
            plain = pathlib.Path(folder) / f"{name}.toml"
            plain.write_text(example.read_text().split("[train]")[0])
            found = [(train(plain, folder, change + epochs)[1], plain, change) for change in TUNED]
            found.append((train(example, folder, epochs)[1], example, []))
            metric, job, change = max(found, key=lambda each: each[0])
            ours = [train(plain, folder, epochs) for _ in range(arguments.runs)]
            theirs = [train(job, folder, change + epochs) for _ in range(arguments.runs)]
            seconds, tuned_seconds = (statistics.median(each[0] for each in runs) for runs in (ours, theirs))
            how = " ".join(key.split("=")[1] for key in change[:2]) or "the example"
            print(row([name, f"{ours[0][1]:.4f}", f"{metric:.4f}", f"{100 * (ours[0][1] - metric):+.2f}", how, f"{seconds:.1f}", f"{tuned_seconds:.1f}",
                       f"{seconds / tuned_seconds:.2f}"]), flush=True)


if __name__ == "__main__":
    main()
