#!/usr/bin/env python3
"""Ranks that are killed under Open MPI 5 with `--with-ft ulfm`: the others go on and end well, about as accurate as an undisturbed run.

usage: survive_slow_test.py [TRIALS [STRATEGY...]]      TRIALS runs of each strategy (1); the second, fourth, ... lose two ranks
A strategy may carry an option, async_sgd:servers=1, or a device, diloco@emulated.
With served_head=true it is the head of a small convolutional network that is served, and the first run loses rank 0, where it is computed.

guards: src/comm src/strategy src/train/recovery src/train/rank src/train/leader src/train/member src/train/trainer src/train/replica (120 s)
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from faults_slow_test import check, children, goes_on, training
from launchers import launchers

MPIRUN = launchers().get("openmpi5")
SKIPPED = 77  # exit status
RANKS = 4
STRATEGIES = ["allreduce", "allreduce:all_reduce=mpi", "async_sgd", "async_msgd", "hogwild_sgd", "compute_groups", "async_sgd:servers=1", "compute_groups:servers=1", "compute_groups:served_head=true", "easgd_sync1", "easgd_sync2", "easgd_sync3", "ad_psgd", "easgd_original", "easgd_async", "easgd_async_momentum", "easgd_hogwild", "gossip_pull", "gossip_push", "gossip_push:weights=true", "sgp", "sgp:overlap=true", "local_sgd", "slowmo", "diloco", "allreduce@emulated", "easgd_sync3@emulated", "diloco@emulated"]
LONGEST_WAIT = 60  # seconds after a kill
EPOCHS = 40
JOB = f"""[data]
format = "synthetic-digits"
train_size = 6000
test_size = 3000
[model]
name = "mlp"
widths = [48]
[train]
epochs = {EPOCHS}
batch = 25
learning_rate = 0.05
evaluate_every = 4
[checkpoint]
every_epochs = 10
[cluster]
timeout = 20.0
"""
MLP = """name = "mlp"
widths = [48]
"""
CUT = """layer = [{ type = "convolution", outputs = 4, kernel = [7], stride = [3] }, { type = "relu" }, { type = "flatten" },
         { type = "linear", outputs = 32 }, { type = "relu" }, { type = "linear", outputs = 10 }]
"""


def serves_head(strategy):
    return "served_head=true" in strategy


def start(folder, run, strategy):
    pathlib.Path(folder, "job.toml").write_text(JOB.replace(MLP, CUT) if serves_head(strategy) else JOB)
    return subprocess.Popen([*MPIRUN, "--with-ft", "ulfm", "-n", str(RANKS), *training(run, strategy)], cwd=folder, text=True,
                            stdout=open(f"{folder}/{run}.out", "w"), stderr=open(f"{folder}/{run}.err", "w"))


def events(folder, run):
    return [json.loads(line) for line in pathlib.Path(folder, f"{run}.out").read_text().splitlines() if line.startswith("{")]


def ended(process, folder, run):
    """The end event of a run, whose processes all go."""
    try:
        process.wait(timeout=LONGEST_WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{run} hangs: {events(folder, run)[-3:]} {pathlib.Path(folder, run + '.err').read_text()[-500:]!r}") from None
    said = pathlib.Path(folder, f"{run}.err").read_text()
    check(process.returncode == 0, f"{run}: mpirun ended with {process.returncode}: {said[-800:]!r}")
    end = events(folder, run)[-1:]
    check(end and end[0]["event"] == "end", f"{run} did not end: {end} {said[-800:]!r}")
    return end[0]


def kill_one(process, folder, run, epochs, moment, victim=None):
    """Kills a rank (any, unless one is wanted) some time after so many epochs, at once without `moment`; returns its number among those that live."""
    while sum(event["event"] == "epoch" for event in events(folder, run)) < epochs:
        check(process.poll() is None, f"{run} ended early: {pathlib.Path(folder, run + '.err').read_text()[-500:]!r}")
        time.sleep(0.02)
    if moment:
        time.sleep(moment.uniform(0, 0.3))
    living = sorted(children(process).items())
    victim = moment.randrange(len(living)) if victim is None else victim
    os.kill(living[victim][1], signal.SIGKILL)
    return victim


def killed(folder, run, strategy, kills, moment, first=None):
    """So many ranks, one after the other, `first` if one is wanted. Returns who, the seconds from the last kill to the end, and the end."""
    process = start(folder, run, strategy)
    victims = [kill_one(process, folder, run, moment.choice(range(1, 4)) + 3 * i, moment, None if i else first) for i in range(kills)]
    began = time.monotonic()
    end = ended(process, folder, run)
    lasted = time.monotonic() - began
    said = [event["message"] for event in events(folder, run) if event["event"] == "message" and "is lost" in event["message"]]
    for i, victim in enumerate(victims):
        wanted = f"rank {victim} of {RANKS - i} is lost: {RANKS - i - 1} continue"
        check(len(said) == kills and wanted in said[i], f"{run}: said {said}, not {wanted!r}")
    check(end["reason"] == "finished" and end["epochs"] == EPOCHS, f"{run}: {end}")
    told_once(folder, run)
    goes_on(folder, run)
    return victims, lasted, end


def told_once(folder, run):
    """Each epoch, to who reads the events and in the record."""
    for lines in (events(folder, run), [json.loads(line) for line in pathlib.Path(folder, run, "metrics.jsonl").read_text().splitlines()]):
        told = [event["epoch"] for event in lines if event["event"] == "epoch"]
        check(told == list(range(1, EPOCHS + 1)), f"{run}: epochs {told} were told")


def killed_at_an_epochs_end(folder, run):
    """Rank 0, as soon as it has told of an epoch: it saves then, and the next to lead comes to the end of the same epoch."""
    process = start(folder, run, "allreduce")
    kill_one(process, folder, run, 10, None, 0)  # epochs between checkpoints
    ended(process, folder, run)
    told_once(folder, run)


def killed_at_the_start(folder, run):
    """A rank, while data are read."""
    process = start(folder, run, "allreduce")
    while not os.path.exists(f"{folder}/{run}/job.toml"):
        check(process.poll() is None, f"{run} ended early: {pathlib.Path(folder, run + '.err').read_text()[-500:]!r}")
        time.sleep(0.01)
    os.kill(children(process)[2], signal.SIGKILL)
    check(ended(process, folder, run)["reason"] == "finished", f"{run} did not finish")
    said = [event["message"] for event in events(folder, run) if event["event"] == "message"]
    check(f"rank 2 of {RANKS} is lost before the first step: {RANKS - 1} continue from step 0" in said, f"{run}: said {said}")


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    moment = random.Random(trials)
    if not MPIRUN:
        print("skipped: no library for Open MPI 5 in this build")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="yoke-") as folder:
        for trial in range(trials):
            killed_at_the_start(folder, f"start-{trial}")
            killed_at_an_epochs_end(folder, f"end-{trial}")
            print(f"run {trial + 1} of {trials}: a rank killed while data are read is named; each epoch is told once when rank 0 is killed at the end of one", flush=True)
        for strategy in sys.argv[2:] or STRATEGIES:
            calm = ended(start(folder, f"{strategy}-calm", strategy), folder, f"{strategy}-calm")["test"]["accuracy"]
            for trial in range(trials):
                victims, lasted, end = killed(folder, f"{strategy}-{trial}", strategy, 1 + trial % 2, moment, 0 if trial == 0 and serves_head(strategy) else None)
                accuracy = end["test"]["accuracy"]
                print(f"{strategy}: run {trial + 1} of {trials}, killed {victims} of {RANKS} ranks: ended {lasted:.1f} s later, resumed; "
                      f"accuracy {accuracy:.4f} (undisturbed {calm:.4f})", flush=True)
                check(accuracy > calm - 0.01, f"{strategy}: accuracy {accuracy} after a loss, {calm} without")


if __name__ == "__main__":
    main()
