#!/usr/bin/env python3
"""Ranks that die, stop or are told to stop, under real launchers: the job ends soon, its last checkpoint is good, and it goes on.

usage: faults_slow_test.py [TRIALS [STRATEGY]]      TRIALS kills for each launcher (1), each at another moment

guards: src/comm src/cli/signals src/train/rounds src/train/rank src/train/leader (120 s)
"""
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))
LAUNCHERS = {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe"], "mpirun.mpich": [],
             "srun --mpi=pmi2 --kill-on-bad-exit": ["--overcommit"], "srun --mpi=pmix": ["--overcommit"]}  # where a Slurm runs
OVER_TCP = {"mpirun.openmpi": ["--mca", "btl", "tcp,self"],
            "mpirun.mpich": ["-genv", "UCX_TLS", "tcp,self", "-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv", "FI_PROVIDER", "tcp"]}
TIMEOUT = 5  # seconds of cluster.timeout
JOB = f"""[data]
format = "synthetic-digits"
train_size = 2000
test_size = 200
[model]
name = "mlp"
widths = [32]
[train]
epochs = 100000
batch = 20
learning_rate = 0.02
[checkpoint]
every_steps = 10
[cluster]
timeout = {TIMEOUT}.0
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def here(launcher):
    """Why a launcher cannot be tried, or nothing."""
    program, *option = launcher.split()
    if not shutil.which(program):
        return "is not installed"
    if option and subprocess.run([program, *option, "true"], capture_output=True, timeout=20).returncode:
        return "starts nothing: no Slurm runs here, or without this way to meet"
    return ""


def rank_in(environment):
    words = dict(word.split("=", 1) for word in environment.split("\0") if "=" in word)
    return int(next((words[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") if name in words), -1))


def children(process):
    """The ranks of a launcher, by rank, wherever they hang (Slurm's not below it): they hold the words that come after its own. Under mpirun a guard does too, and its child is the rank."""
    own, found = "\0".join([*process.args[process.args.index(YOKE):], ""]).encode(), {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == own and os.path.samefile(entry / "cwd", f"/proc/{process.pid}/cwd"):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                found[int(entry.name)] = (parent, rank_in((entry / "environ").read_text()))
        except OSError:
            continue
    guarded = "mpirun" in process.args[0]
    return {rank: pid for pid, (parent, rank) in found.items() if not guarded or parent in found}


def training(run, strategy):
    """The command of a rank; `strategy` is NAME or NAME:KEY=VALUE, a key of [cluster]; NAME@emulated computes on that device."""
    name, *keys = strategy.split(":")
    name, _, device = name.partition("@")
    return [YOKE, "train", "job.toml", "--run", run, "--strategy", name, "--json", *(f"--set=cluster.{key}" for key in keys),
            *([f"--set=node.devices={device}:0"] if device else [])]


def words(launcher, run, strategy, options=()):
    """The command of a job of three ranks."""
    return [*launcher.split(), *LAUNCHERS[launcher], *options, "-n", "3", *training(run, strategy)]


def start(launcher, folder, run, strategy, options=()):
    """A job of three ranks that has written a checkpoint."""
    process = subprocess.Popen(words(launcher, run, strategy, options), cwd=folder, stdout=open(f"{folder}/{run}.out", "w"), stderr=open(f"{folder}/{run}.err", "w"),
                               env=dict(os.environ, SLURM_JOB_NAME=os.path.basename(folder)))
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{folder}/{run}/last"):
        check(time.monotonic() < deadline and process.poll() is None, f"{launcher}: no checkpoint: {pathlib.Path(folder, run + '.err').read_text()[-300:]}")
        time.sleep(0.05)
    return process


def goes_on(folder, run):
    """The run resumes in one process, from a good checkpoint."""
    position = json.loads(pathlib.Path(folder, run, "last/checkpoint.json").read_text())["position"]
    done = subprocess.run([YOKE, "train", "--resume", run, "--set", f"train.epochs={position['epoch'] + 1}", "--json"], cwd=folder, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"resume ended with {done.returncode}: {done.stderr.strip()}")
    check(json.loads(done.stdout.splitlines()[-1])["reason"] == "finished", "resume did not finish")


def killed(launcher, folder, run, strategy, moment):
    process = start(launcher, folder, run, strategy)
    time.sleep(moment.uniform(0, 1))
    victim = moment.choice([0, 1, 2])
    os.kill(children(process)[victim], signal.SIGKILL)
    began = time.monotonic()
    status = process.wait(timeout=4 * TIMEOUT)
    lasted = time.monotonic() - began
    check(status != 0, f"{launcher}: exit 0 after a rank was killed")
    check(lasted < 2 * TIMEOUT, f"{launcher}: {lasted:.1f} s after a rank was killed")
    goes_on(folder, run)
    return lasted


def stopped(launcher, folder, run, strategy):
    """A rank that stands still is named within the timeout, and the job ends."""
    process = start(launcher, folder, run, strategy)
    victim = children(process)[1]
    os.kill(victim, signal.SIGSTOP)
    began = time.monotonic()
    try:
        status = process.wait(timeout=6 * TIMEOUT)
    finally:
        if os.path.exists(f"/proc/{victim}"):
            os.kill(victim, signal.SIGKILL)
    check(status != 0, f"{launcher}: exit 0 with a rank that stands still")
    said = pathlib.Path(folder, run + ".err").read_text()
    check("rank 1" in said and "waited" in said, f"{launcher}: nobody named rank 1: {said[:400]!r}")
    lasted = time.monotonic() - began
    goes_on(folder, run)
    return lasted


def connections(pid):
    """Another process's TCP connections, by their ends: copies of its sockets, to be closed. Needs the rights of a debugger."""
    found, process = {}, os.pidfd_open(pid)
    for number in os.listdir(f"/proc/{pid}/fd"):
        if "socket:" not in os.path.realpath(f"/proc/{pid}/fd/{number}"):  # a copy of a file would keep its lock
            continue
        copy = ctypes.CDLL(None, use_errno=True).syscall(438, process, int(number), 0)  # pidfd_getfd
        if copy < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        one = socket.socket(fileno=copy)
        try:
            if one.family in (socket.AF_INET, socket.AF_INET6):
                found[one.getsockname(), one.getpeername()] = one
        except OSError:  # it is not connected
            continue
    os.close(process)
    return found


def deafen(one):
    """Nothing reaches the socket any more: a filter of one instruction, which keeps 0 bytes of whatever arrives."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
    one.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 1, ctypes.addressof(program)))  # SO_ATTACH_FILTER


def cut_off(ranks, victim):
    """Whatever a rank and the others send each other is lost from now on; how many connections that were."""
    ends = {rank: connections(pid) for rank, pid in ranks.items()}
    lost = [(one, ends[other][there, here]) for (here, there), one in ends[victim].items() for other in ends if other != victim and (there, here) in ends[other]]
    for pair in lost:
        for one in pair:
            deafen(one)
    for one in (one for all_of_it in ends.values() for one in all_of_it.values()):
        one.close()
    return len(lost)


def unplugged(launcher, folder, run, strategy):
    """A rank whose connections are lost: the wait is named, with both ranks, and the job ends. Returns the seconds, or why it was not tried."""
    process = start(launcher, folder, run, strategy, OVER_TCP[launcher])
    try:
        lost = cut_off(children(process), victim=1)
    except OSError as error:
        process.terminate()
        process.wait(timeout=60)
        return f"this machine lets nobody take another process's sockets ({error})"
    began = time.monotonic()
    status = process.wait(timeout=6 * TIMEOUT)
    lasted = time.monotonic() - began
    check(lost, f"{launcher}: found no TCP connection between its ranks")
    check(status != 0, f"{launcher}: exit 0 after the connections of a rank were lost")
    said = pathlib.Path(folder, run + ".err").read_text()
    check(re.search(r"yoke: rank (1 waited [0-9.]+ s for rank [02]|[02] waited [0-9.]+ s for rank 1) ", said), f"{launcher}: nobody named rank 1 and another: {said[:400]!r}")
    goes_on(folder, run)
    return lasted


def never_joins(launcher, folder, run, strategy):
    """A rank that stands still before it has joined: the others end within the timeout and say why."""
    with open(f"{folder}/{run}.err", "w") as errors:
        process = subprocess.Popen(words(launcher, run, strategy), cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
    found = {}
    while 1 not in found:
        found = children(process)
    os.kill(found[1], signal.SIGSTOP)
    try:
        status = process.wait(timeout=6 * TIMEOUT)
    finally:
        if os.path.exists(f"/proc/{found[1]}"):
            os.kill(found[1], signal.SIGKILL)
    check(status != 0, f"{launcher}: exit 0 with a rank that never joined")
    check("waited" in pathlib.Path(folder, run + ".err").read_text(), f"{launcher}: nobody said why")


def told_to_stop(launcher, folder, run, strategy):
    """SIGTERM to the launcher (Slurm's kills its tasks then, so to the job): one agreed checkpoint, a clean end."""
    process = start(launcher, folder, run, strategy)
    if launcher.startswith("srun"):
        subprocess.run(["scancel", "--signal=TERM", "--name=" + os.path.basename(folder)], check=True)
    else:
        process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    end = json.loads(pathlib.Path(folder, run + ".out").read_text().splitlines()[-1])
    check((end["event"], end["reason"]) == ("end", "interrupted"), f"{launcher}: {end}")
    position = json.loads(pathlib.Path(folder, run, "last/checkpoint.json").read_text())["position"]
    check(position["step"] == end["step"], f"{launcher}: the checkpoint is of step {position['step']}, the end of {end['step']}")
    goes_on(folder, run)


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    strategy = sys.argv[2] if len(sys.argv) > 2 else "allreduce"
    moment = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="yoke-") as folder:
        pathlib.Path(folder, "job.toml").write_text(JOB)
        for launcher in LAUNCHERS:
            if missing := here(launcher):
                print(f"{launcher} {missing}: left out")
                continue
            told_to_stop(launcher, folder, f"{launcher}-term", strategy)
            print(f"{launcher}: SIGTERM: ended in order", flush=True)
            for trial in range(trials):
                lasted = killed(launcher, folder, f"{launcher}-{trial}", strategy, moment)
                print(f"{launcher}: SIGKILL {trial + 1} of {trials}: over after {lasted:.1f} s, resumed", flush=True)
            never_joins(launcher, folder, f"{launcher}-join", strategy)
            print(f"{launcher}: SIGSTOP at the start: over in time", flush=True)
            lasted = stopped(launcher, folder, f"{launcher}-stop", strategy)
            print(f"{launcher}: SIGSTOP: named and over after {lasted:.1f} s, resumed", flush=True)
            if launcher in OVER_TCP:
                lasted = unplugged(launcher, folder, f"{launcher}-lost", strategy)
                print(f"{launcher}: a lost connection: " + (f"left out: {lasted}" if isinstance(lasted, str) else f"named and over after {lasted:.1f} s, resumed"), flush=True)


if __name__ == "__main__":
    main()
