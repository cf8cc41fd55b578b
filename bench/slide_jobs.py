"""What the slide benchmarks share: jobs of the zoo's xmc network, trained, and their times."""
import math
import statistics
import sys
import time

from lib.runner import trained, write_job

DECAY = {"name": "polynomial"}  # linear, to zero after the last epoch
SAMPLERS = ("lsh", "uniform")


def files_of(name):
    """The data section of one of the sets in $YOKE_DATA."""
    return {"format": "xmc", **{part: f"$YOKE_DATA/{name}/{name}_{part}.txt.gz" for part in ("train", "test")}}


def synthetic(labels, examples, test=0, features=135909):
    """A data section in the shape of Amazon-670K, with this many labels."""
    return {"format": "synthetic-xmc", "features": features, "labels": labels, "train_size": examples, "test_size": test,
            "nonzeros": 75, "labels_per_example": 5}


def xmc_job(data, *, lsh=None, hidden=128, precision="f32", **train_keys):
    """The sections of a job. lsh: options of the hashed layer, or None for a dense one. More keys go to [train]."""
    hashed = {} if lsh is None else {"output": "lsh", "lsh": lsh}
    return {"data": data, "model": {"name": "xmc", "hidden": hidden, "loss": "softmax", **hashed}, "train": {"rule": "adam", **train_keys},
            "node": {"precision": precision}}


def train(name, job, arguments, seed=1, threads=None, **more):
    """The run of a job, which the person who waits is told."""
    file = write_job(arguments.runs / "slide.toml", job)
    run = trained(file, {"train.seed": seed}, arguments.runs, "--threads", threads or arguments.threads, **more)
    points = [f"{value:.4f}" for _, value in run.curve(metric="p_at_1")]
    told(f"{name}, seed {seed}: {microseconds(run):.1f} us an example, P@1 {' '.join(points)}")
    return run


def cpu_of_epoch(name, job, arguments):
    """CPU seconds of an epoch's training: of two epochs less those of one, each evaluated once."""
    one, two = (train(name, {**job, "train": {**job["train"], "epochs": epochs, "evaluate_every": epochs}}, arguments).processor
                for epochs in (1, 2))
    return two - one


def told(words):
    """Progress, apart from the tables."""
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def microseconds(run):
    """Training time of an example: the median over the epochs after the first, which builds the first tables too."""
    return statistics.median(1e6 / epoch["examples_per_second"] for epoch in run.epochs[1:] or run.epochs)


def p_at_1(run):
    return [value for _, value in run.curve(metric="p_at_1")]


def seconds_to(run, value):
    """Training seconds until an epoch reaches this P@1; None if none does."""
    return next((seconds for seconds, reached in run.curve("train_seconds", "p_at_1") if reached >= value), None)


def best_rate(make_job, rates, arguments, name):
    """({rate: run}, the rate with the highest P@1 of any epoch)."""
    runs = {rate: train(f"{name}, rate {rate:g}", make_job(rate), arguments) for rate in rates}
    return runs, max(rates, key=lambda rate: max(p_at_1(runs[rate]), default=-math.inf))
