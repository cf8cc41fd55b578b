#!/usr/bin/env python3
"""Sets a step of two of our replicas against one of PyTorch's DistributedDataParallel over Gloo, on one machine.

usage: tools/bench bench/ddp.py [--rounds N] [--epochs N] [--only mlp,lenet,alexnet-cifar]

Two ranks of one thread each, f32, momentum: ours as `yoke train --strategy allreduce` over threads, Open MPI and MPICH (drawn
digits, or random bytes as CIFAR's records), PyTorch's as two processes with random tensors in memory, in the faster of its
layouts. A run is some epochs of a fixed number of steps, of which the first does not count and the median of the others does;
all run in turn, and medians over the rounds count. So does a step without exchange: of one rank alone, and of two that run at
the same time and know nothing of each other. What a step of two ranks takes beyond the latter is the exchange, which is set against
the bytes that both send.
"""
import json
import os
import shutil
import statistics
import sys
import time

from lib.options import main, part
from lib.runner import Server, at_once, median, trained, write_job
from lib.tables import print_table
from step import GREY, SMALL
from strategies import random_cifar

BATCH = {"mlp": 64, "lenet": 64, "alexnet-cifar": 128}  # of a rank
STEPS = {"mlp": 500, "lenet": 60, "alexnet-cifar": 10}  # of an epoch
SHAPES = {"mlp": GREY, "lenet": GREY, "alexnet-cifar": SMALL}
WORLDS = {"threads": [], "Open MPI": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"],
          "MPICH": ["mpirun.mpich", "-n", "2"]}
LAYOUTS = ["eager", "channels-last"]


def our_job(model, ranks, arguments):
    """A job file of one model and number of replicas."""
    count = BATCH[model] * STEPS[model] * ranks
    data = {"format": "synthetic-digits", "train_size": count, "test_size": 0}
    if SHAPES[model] != GREY:
        data = random_cifar(arguments.runs / f"random-{ranks}.bin", count)
    train = {"epochs": arguments.epochs, "batch": BATCH[model], "rule": "momentum", "learning_rate": 0.001}
    return write_job(arguments.runs / f"{model}-{ranks}.toml", {"data": data, "model": {"name": model}, "train": train, "node": {"threads": 1},
                                                                "cluster": {"replicas": 2, "strategy": "allreduce"} if ranks == 2 else {}})


def our_run(job, folder, launcher=()):
    """(seconds a step, bytes a step that all ranks send)."""
    folder.mkdir(exist_ok=True)
    run = trained(job, {}, folder, launcher=launcher)
    steps = run.end["step"] / len(run.epochs)
    rates = [epoch["examples_per_second"] for epoch in run.epochs[1:]]
    return run.start["train_examples"] / steps / statistics.median(rates), run.end.get("exchange", {}).get("bytes", 0) / run.end["step"]


class PyTorch:
    """Its two processes."""

    def __init__(self, folder):
        (folder / "meeting").unlink(missing_ok=True)  # of a run before
        self.ranks = [Server(sys.executable, __file__, "--worker", rank, folder / "meeting") for rank in range(2)]

    def step(self, model, layout, how, epochs):
        """Seconds a step: `how` is alone (one rank), apart or joined."""
        (channels, *size), classes = map(int, SHAPES[model][0].split("x")), SHAPES[model][1]
        request = json.dumps({"model": model, "shape": [BATCH[model], channels, *size], "classes": classes, "layout": layout,
                              "joined": how == "joined", "steps": STEPS[model], "epochs": epochs})
        answers = at_once(lambda rank: rank.measure(request), self.ranks[:1] if how == "alone" else self.ranks)
        return statistics.fmean(statistics.median(answer["seconds"][1:]) for answer in answers)

    def best_layout(self, model):
        return min(LAYOUTS, key=lambda layout: self.step(model, layout, "joined", 2))

    def end(self):
        for rank in self.ranks:
            rank.end()


def measure_round(jobs, theirs, layout, model, arguments, turn):
    """One run of everything in turn: seconds a step by name, and the bytes of ours."""
    def ours(ranks, name, launcher=()):
        return our_run(jobs[ranks], arguments.runs / f"{model}-{turn}-{name}".replace(" ", "-"), launcher)

    seconds, sent = {}, 0
    for name, launcher in WORLDS.items():
        if not launcher or shutil.which(launcher[0]):
            seconds[name], sent = ours(2, name, launcher)
        if name == "threads" and theirs:
            seconds["PyTorch"] = theirs.step(model, layout, "joined", arguments.epochs)
            seconds["PyTorch apart"], seconds["PyTorch alone"] = (theirs.step(model, layout, how, arguments.epochs) for how in ("apart", "alone"))
    seconds["apart"] = statistics.fmean(one for one, _ in at_once(lambda rank: ours(1, f"apart-{rank}"), range(2)))
    seconds["alone"] = ours(1, "alone")[0]
    return seconds, sent


def rows_of(model, theirs, arguments):
    """The lines of the table that belong to one model."""
    jobs, layout = {ranks: our_job(model, ranks, arguments) for ranks in (1, 2)}, theirs and theirs.best_layout(model)
    rounds = [measure_round(jobs, theirs, layout, model, arguments, turn) for turn in range(arguments.rounds)]
    seconds, sent = [one for one, _ in rounds], rounds[0][1]
    times = {name: median([one[name] for one in seconds]) for name in seconds[0]}
    for name in [*(world for world in WORLDS if world in times), *(["PyTorch"] if theirs else [])]:
        prefix = "PyTorch " if name == "PyTorch" else ""
        ratio = f"{median([one['PyTorch'] / one[name] for one in seconds]):.2f}x" if theirs and not prefix else ""
        beyond = times[name] - times[f"{prefix}apart"]
        who = f"PyTorch DDP, Gloo ({layout})" if prefix else f"yoke, {name}"
        yield [model, BATCH[model], who, ratio, *(f"{1e3 * value:.2f}" for value in (times[name], times[f"{prefix}apart"], times[f"{prefix}alone"], beyond)),
               f"{sent / 1e6:.2f}", f"{sent / beyond / 1e9:.1f}" if beyond > 0 else "-"]


@part(rounds=3, epochs=5, only=list(BATCH), no_torch=False, quick={"rounds": 1, "epochs": 2, "only": ["lenet"], "no_torch": True})
def ddp(arguments):
    """Medians of the rounds; of each run the first epoch does not count."""
    theirs = None if arguments.no_torch else PyTorch(arguments.runs)
    print_table(["model", "batch a rank", "two ranks of", "ratio", "step, ms", "two apart, ms", "one alone, ms", "step - apart, ms", "MB a step", "GB/s"],
                (row for model in arguments.only for row in rows_of(model, theirs, arguments)))
    if theirs:
        theirs.end()
    return f"medians of {arguments.rounds} runs of {arguments.epochs - 1} counted epochs"


def serve(rank, meeting):
    """A process of PyTorch: answers each line of standard input, a request, by a line of JSON."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # read when the ranks meet
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    import torch_step
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(rank), world_size=2)

    def join(model):
        return DistributedDataParallel(model, gradient_as_bucket_view=True)

    steps = {}
    for line in sys.stdin:
        request = json.loads(line)
        which = (request["model"], request["layout"], request["joined"])
        if which not in steps:
            steps[which] = torch_step.make_step(request["model"], request["shape"], request["classes"], request["layout"],
                                                wrap=join if request["joined"] else None)
        seconds = []
        for _ in range(request["epochs"]):
            begin = time.perf_counter()
            for _ in range(request["steps"]):
                steps[which]()
            seconds.append((time.perf_counter() - begin) / request["steps"])
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        serve(*sys.argv[2:])
    else:
        main(__doc__)
