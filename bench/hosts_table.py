#!/usr/bin/env python3
"""Step times between "hosts" of this machine (tools/hosts: TCP over limited links), measured and predicted, as a Markdown table.

usage: bench/hosts_table.py [--hosts 2,4] [--rates 100mbit,1gbit] [--only NAMES] [--parts calibrate,measure,predict] [--keep FILE.json]

LeNet on a part of Fashion-MNIST, batch 64 of each replica, one thread each. The prediction is the virtual clock of bench/virtual_run.cc
for as many nodes, which share this machine's cores, and whose messages share a card that several use at once. What it is given is
measured apart: a step where each core computes one (yoke bench), latency and bandwidth between two hosts with and without the limit (yoke doctor
--network), the speed of arithmetic on values (step_bench), and the part of a core that a waiting rank takes. A step's time is that of
all ranks together: batch x replicas / examples per second, without the first epoch. --keep stores what was found and uses what is
there, so that the parts can run at different times; only calibrate and measure need an otherwise idle machine.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile

from conditions import conditions, heading, row
from job_runs import DATA, PROGRAM, ROOT, events, yoke
from virtual_runs import VIRTUAL_RUN

STRATEGIES = "allreduce,easgd_sync1,easgd_sync3,easgd_original,gossip_pull,local_sgd,async_sgd"
HOSTS = ROOT / "tools/hosts"
BENCH = ROOT / "build/release/bench"
BATCH = 64
EPOCHS = 3
PARAMETERS = 431_080
PERIOD = 8  # of local_sgd; an epoch is a multiple of it
BITS = {"mbit": 1e6, "gbit": 1e9}
JOB = f"""[data]
format = "idx"
train = ["train-images", "train-labels"]
test = ["test-images", "test-labels"]
[model]
name = "lenet"
[train]
epochs = {EPOCHS}
batch = {BATCH}
learning_rate = 0.01
[node]
threads = 1
"""


def write_job(folder, examples):
    """The job, with the first examples of Fashion-MNIST."""
    for part, source, count in (("train", "train", examples), ("test", "t10k", BATCH)):
        for kind, bytes_each, header in (("images-idx3", 784, 16), ("labels-idx1", 1, 8)):
            with gzip.open(DATA / f"fashion-mnist/{source}-{kind}-ubyte.gz") as file:
                head, data = file.read(header), file.read(count * bytes_each)
            (folder / f"{part}-{kind.split('-')[0]}").write_bytes(head[:4] + struct.pack(">I", count) + head[8:] + data)
    job = folder / "job.toml"
    job.write_text(JOB)
    return job


def lines_of(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout.splitlines()


def calibrate(rate, folder):
    """What the simulation is told of this machine, and of its links at this rate (none: as fast as they are)."""
    if rate:
        network = json.loads(lines_of(HOSTS, 2, "--rate", rate, "--", PROGRAM, "doctor", "--network", "--json")[-1])["network"]
        return {"latency": network["median_latency"], "bandwidth": network["median_bytes_per_second"]}
    network = json.loads(lines_of(HOSTS, 2, "--", PROGRAM, "doctor", "--network", "--json")[-1])["network"]
    short, long = waited(2, folder), waited(10, folder)
    return {"step": step_of_each(len(os.sched_getaffinity(0)), folder),
            "memory": json.loads(lines_of(BENCH / "step_bench", "limits", 1)[-1])["cache_bandwidth"],
            "bandwidth": network["median_bytes_per_second"],
            "polling": (long[0] - short[0]) / (long[1] - short[1])}


def step_of_each(ranks, folder):
    """Seconds of a step where a rank on each core computes at once: they share caches and memory."""
    job = write_job(folder, 100 * BATCH)
    words = [str(word) for word in (PROGRAM, "bench", job, "--with", "node.threads=1", "--rounds", 9, "--json")]
    side_by_side = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(ranks)]
    benches = [json.loads(one.communicate()[0].splitlines()[-1])["choices"][0] for one in side_by_side]
    return statistics.mean(BATCH / bench["examples_per_second"] for bench in benches)


def waited(steps, folder):
    """CPU seconds and seconds of a rank that waits for so many long steps of another: a server of gradients that rarely come."""
    job, run = write_job(folder, 4096 * steps), folder / f"waited-{steps}"
    script = 'date +%s.%N; "$@" >/dev/null; date +%s.%N; [ "$OMPI_COMM_WORLD_RANK" = 1 ] || times'
    settings = [f"--set={one}" for one in ("cluster.strategy=async_sgd", "cluster.servers=1", "train.batch=4096", "train.epochs=1")]
    out = lines_of(HOSTS, 2, "--", "bash", "-c", script, "bash", PROGRAM, "train", job, "--run", run, *settings)
    clock = [float(line) for line in out if re.fullmatch(r"[0-9.]+", line)]
    used = re.findall(r"(\d+)m([0-9.]+)s", "\n".join(out))
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in used), max(clock) - min(clock)


def cluster(machine, link):
    """Options of virtual_run. Without a limit a message takes the time of its two copies alone, with one that of the card as well."""
    card = 1 / (1 / link["bandwidth"] - 1 / machine["bandwidth"])
    update = 20 * PARAMETERS / machine["memory"]  # of the step that was measured; strategies charge it themselves
    return ["--latency", link["latency"], "--bandwidth", card, "--copies", 2 * machine["bandwidth"], "--memory", machine["memory"],
            "--step-seconds", machine["step"] - update, "--polling", machine["polling"], "--shared-cores", len(os.sched_getaffinity(0)),
            "--fair-links"]


def examples(hosts, rate):
    """Of an epoch: about two seconds of steps that send the model twice for each rank; at least one period."""
    step = 2 * hosts * 4 * PARAMETERS * 8 / (float(rate[:-4]) * BITS[rate[-4:]])
    return BATCH * hosts * PERIOD * max(1, min(12, round(2 / step / PERIOD)))


def seconds_per_step(run, hosts):
    return statistics.mean(BATCH * hosts / epoch["examples_per_second"] for epoch in events(run, "epoch")[1:])


def trained(kind, case, folder, words, settings=()):
    """Seconds per step of this case under `words`, which train the job."""
    hosts, rate, name = case
    job, run = write_job(folder, examples(hosts, rate)), folder / f"{kind}-{hosts}-{rate}-{name}"
    period = [f"--set=cluster.period={PERIOD}"] if name == "local_sgd" else []
    lines_of(*words, job, "--run", run, f"--set=cluster.strategy={name}", *settings, *period)
    return seconds_per_step(run, hosts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="2,4")
    parser.add_argument("--rates", default="100mbit,1gbit")
    parser.add_argument("--only", default=STRATEGIES)
    parser.add_argument("--parts", default="calibrate,measure,predict")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    rates, parts = arguments.rates.split(","), arguments.parts.split(",")
    cases = [(int(hosts), rate, name) for rate in rates for hosts in arguments.hosts.split(",") for name in arguments.only.split(",")]
    found = json.loads(arguments.keep.read_text()) if arguments.keep and arguments.keep.exists() else {}

    def once(part, key, work):
        if part in parts and key not in found:
            found[key] = work()
            if arguments.keep:
                arguments.keep.write_text(json.dumps(found, indent=1))
        return found.get(key)

    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        machine = once("calibrate", "machine", lambda: calibrate(None, folder))
        links = {rate: once("calibrate", rate, lambda rate=rate: calibrate(rate, folder)) for rate in rates}
        print(heading(["link", "hosts", "strategy", "measured ms", "predicted ms", "predicted / measured"]))
        for case in cases:
            hosts, rate, strategy = case
            label = f"{rate} {hosts} {strategy}"
            measured = once("measure", f"measured {label}",
                            lambda: trained("real", case, folder, [HOSTS, hosts, "--rate", rate, "--", PROGRAM, "train"]))
            predicted = once("predict", f"predicted {label}",
                             lambda: trained("virtual", case, folder, [VIRTUAL_RUN],
                                             [*cluster(machine, links[rate]), f"--set=cluster.replicas={hosts}"]))
            shown = [f"{1e3 * value:.1f}" if value else "" for value in (measured, predicted)]
            print(row([rate, hosts, strategy, *shown, f"{predicted / measured:.2f}" if measured and predicted else ""]), flush=True)
    given = {key: found[key] for key in ("machine", *rates) if key in found}
    print("\n" + conditions(1, f"one run of {EPOCHS} epochs a cell; calibration: {json.dumps(given)}"))


if __name__ == "__main__":
    main()
