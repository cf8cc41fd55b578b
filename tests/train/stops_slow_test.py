#!/usr/bin/env python3
"""Stops under mpirun: whatever reaches it, a checkpoint of the last step exists, the run goes on from there, and the reason is told; a killed rank is named.

usage: stops_slow_test.py [TRIALS [LAUNCHER...]]      TRIALS of each launcher and signal (1), each at another moment
The steps take longer than Open MPI gives its processes after a stop: half a second (5) or two (4).

guards: src/cli/signals src/cli/train src/comm/launcher src/comm/wire src/train/rounds src/train/recovery/peers src/train/rank src/train/leader src/train/member src/train/trainer (60 s)
"""
import fcntl
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from faults_slow_test import LAUNCHERS as ALL_LAUNCHERS
from faults_slow_test import YOKE, check, children, here
from survive_slow_test import MPIRUN

AS_ROOT = ALL_LAUNCHERS["mpirun.openmpi"]
LAUNCHERS = {"mpirun.openmpi": AS_ROOT, "mpirun.mpich": [], MPIRUN: AS_ROOT, f"{MPIRUN} --with-ft ulfm": AS_ROOT}
LONGEST_WAIT = 120  # seconds: the machine may be busy
JOB = """[data]
format = "synthetic-digits"
train_size = 12000
test_size = 100
[model]
name = "mlp"
widths = [1500, 1500]
[train]
epochs = 100000
batch = 6000
learning_rate = 0.001
[node]
threads = 1
"""


class Run:
    """A job of two ranks, one step an epoch, that has saved its first."""

    def __init__(self, launcher, folder, name):
        self.launcher, self.path = launcher, pathlib.Path(folder, name)
        self.said, self.errors = pathlib.Path(folder, name + ".out"), pathlib.Path(folder, name + ".err")
        command = [*launcher.split(), *LAUNCHERS[launcher], "-n", "2", YOKE, "train", "job.toml", "--run", name, "--json"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=open(self.said, "a"), stderr=open(self.errors, "w"))
        deadline = time.monotonic() + LONGEST_WAIT
        while not (self.path / "last").exists():
            check(time.monotonic() < deadline and self.process.poll() is None, f"{launcher}: no checkpoint: {self.error()}")
            time.sleep(0.05)

    def error(self):
        return self.errors.read_text()[-500:]

    def events(self):
        """Those of yoke: the mpirun of MPICH says something too."""
        return [json.loads(line) for line in self.said.read_text().splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")]

    def ended(self):
        """Waits for the launcher, and for ranks that outlive it."""
        self.process.wait(timeout=LONGEST_WAIT)
        with open(self.path / "lock") as lock:
            deadline = time.monotonic() + LONGEST_WAIT
            while True:
                try:
                    return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    check(time.monotonic() < deadline, f"{self.launcher}: rank 0 goes on for {LONGEST_WAIT} s after a stop")
                    time.sleep(0.05)

    def goes_on(self):
        """Where it goes on from."""
        epoch = json.loads((self.path / "last/checkpoint.json").read_text())["position"]["epoch"]
        done = subprocess.run([YOKE, "train", "--resume", self.path.name, "--replicas", "2", "--set", f"train.epochs={epoch + 1}", "--json"],
                              cwd=self.path.parent, capture_output=True, text=True, timeout=LONGEST_WAIT)
        check(done.returncode == 0, f"{self.launcher}: resume ended with {done.returncode}: {done.stderr}")
        return next(event["message"] for event in map(json.loads, done.stdout.splitlines()) if "resumed from" in event.get("message", ""))


def stopped(launcher, folder, name, number, moment):
    """Returns whether the end came in time for the launcher to pass it on."""
    run = Run(launcher, folder, name)
    time.sleep(moment.uniform(0, 2))
    before = max(event["step"] for event in run.events() if event["event"] == "epoch")
    run.process.send_signal(number)
    run.ended()
    summary = json.loads((run.path / "summary.json").read_text())
    check(summary["reason"] == "interrupted", f"{launcher}: {summary}")
    check(summary["step"] >= before, f"{launcher}: stopped at step {summary['step']}, told of {before} before")
    check(f"at step {summary['step']}" in run.goes_on(), f"{launcher}: went on elsewhere than at step {summary['step']}: {run.goes_on()}")
    check("ended: interrupted" in (run.path / "log.txt").read_text(), f"{launcher}: log.txt does not say how it ended")
    in_time = run.events()[-1]["event"] == "end"
    told = in_time or any("stopping" in event.get("message", "") for event in run.events()) or number == signal.SIGKILL
    check(told, f"{launcher}: nothing said of the stop: {run.events()[-2:]}")
    return in_time


def killed(launcher, folder, name, victim):
    """A rank that is killed is named with its process, once; returns the sentence."""
    run = Run(launcher, folder, name)
    process = children(run.process)[victim]
    os.kill(process, signal.SIGKILL)
    run.ended()
    said = [line for line in run.errors.read_text().splitlines() if "was killed by signal 9" in line]
    check(len(said) == 1 and f"rank {victim} of 2 (process {process} on " in said[0], f"{launcher}: {run.error()!r}")
    if victim == 1:
        check(f"rank 1: process {process} on " in (run.path / "log.txt").read_text(), f"{launcher}: log.txt does not say where rank 1 ran")
    run.goes_on()
    return said[0]


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    moment = random.Random(trials)
    with tempfile.TemporaryDirectory(prefix="yoke-") as folder:
        pathlib.Path(folder, "job.toml").write_text(JOB)
        for i, launcher in enumerate(sys.argv[2:] or LAUNCHERS):
            if missing := here(launcher.split()[0]):
                print(f"{launcher} {missing}: left out")
                continue
            signals = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1] + ([] if "mpich" in launcher else [signal.SIGKILL])
            for number in signals:
                in_time = [stopped(launcher, folder, f"{i}-{number.name}-{trial}", number, moment) for trial in range(trials)]
                print(f"{launcher}: {number.name} to mpirun: saved and resumed {len(in_time)} of {trials} times, of these {sum(in_time)} while mpirun was there", flush=True)
            if "ulfm" not in launcher:
                for victim in (0, 1):
                    print(f"{launcher}: {killed(launcher, folder, f'{i}-killed-{victim}', victim)}", flush=True)


if __name__ == "__main__":
    main()
