#!/usr/bin/env python3
"""What failures of nodes cost each strategy, on simulated clusters.

usage: bench/failures.py goodput|accuracy [options]      --help of a part has its options
"""
import gzip
import math
import pathlib
import random
import struct

from lib.options import main, part
from lib.plot import plot
from lib.runner import ENDED_BADLY, SIMULATE, events, trained, write_job
from lib.tables import grid

# The job stands for ResNet-50 on ImageNet with a batch of 64 a node, on the Core i7-6700 of examples/clusters/lab-desktops.toml: 8.3 s a
# step, 94 MB of weights, 312 steps an epoch. It reads images of 32x32, two a step, so that the data fit a small file.
NODES, BATCH, STEPS = 64, 2, 312
EXAMPLES = NODES * BATCH * STEPS
MEMORY = 2.6e10
STEP = 8.31  # seconds, of the job for which ours stands, on one node without jitter
LONG, STEPS_OF_LONG = 10000, 600  # seconds: in periods above, nodes are so slow that these have so many steps
FAILURES = 12  # of a run, which lasts as many periods
CHECKPOINT_SPEED = 1e8  # bytes a second
SLOW = 2.8e9, 2e10  # nodes of the accuracies: a step takes 40 ms, so that recoveries are short beside the run
CLUSTER = """[[nodes]]
count = {nodes}
operations_per_second = {speed}
bytes_per_second = {memory}
jitter = {{ kind = "lognormal", sigma = 0.05 }}
[network]
latency = 2.5e-5
bytes_per_second = 1.18e9
copy_bytes_per_second = 5e9
[failures]
detection = {detection}
restart = {restart}
{more}at = [{at}]
"""
RESTART = f'recovery = "restart"\nreplacement = 60\ncheckpoint_bytes_per_second = {CHECKPOINT_SPEED}\n'
# strategy, its settings, recovery. One bucket: the exchange is short beside the step.
METHODS = {
    "allreduce, restart": ("allreduce", {"cluster.bucket_mb": 1000}, RESTART),
    "allreduce, survivors": ("allreduce", {"cluster.bucket_mb": 1000}, ""),
    "easgd_sync3, survivors": ("easgd_sync3", {}, ""),
    "gossip_pull, survivors": ("gossip_pull", {}, ""),
    "diloco, survivors": ("diloco", {"cluster.period": 50}, ""),
}


def cluster(name, folder, nodes, speed, memory, failures, more="", detection=5, restart=10):
    """The file of a cluster with these failures: (seconds, node)."""
    at = ", ".join(f"{{ node = {node}, seconds = {second:.6g} }}" for second, node in failures)
    path = folder / f"{name}-{len(failures)}.toml".replace(" ", "-")
    path.write_text(CLUSTER.format(nodes=nodes, speed=speed, memory=memory, detection=detection, restart=restart, more=more, at=at))
    return path


def simulate(job, cluster, strategy, keys, arguments, *words):
    """The run, or None where it ends with an error, such as after too many returns to a step."""
    run = trained(job, keys, arguments.runs, "--cluster", cluster, "--strategy", strategy, *words, command=SIMULATE, accept=ENDED_BADLY)
    return None if run.end["reason"] in ("none", "error") else run


def images(folder):
    """Grey images without content: only their shape and number matter."""
    for name, sizes, data in (("images", (EXAMPLES, 32, 32), bytes(EXAMPLES * 1024)), ("labels", (EXAMPLES,), bytes(range(10)) * (EXAMPLES // 10 + 1))):
        head = struct.pack(f">BBBB{len(sizes)}I", 0, 0, 8, len(sizes), *sizes)
        (folder / f"{name}.gz").write_bytes(gzip.compress(head + data[:math.prod(sizes)], 1, mtime=0))
    return [folder / "images.gz", folder / "labels.gz"]


def drawn(number, end, seed=1):
    """Failures of different nodes: a Poisson process between 0 and `end`, given its number."""
    source = random.Random(seed)
    return list(zip(sorted(source.uniform(0, end) for _ in range(number)), source.sample(range(NODES), number)))


def young(period, write):
    """Seconds between checkpoints: J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974."""
    return math.sqrt(2 * write * period)


def operations(job):
    """Floating-point operations and bytes of a checkpoint of the job: values and one average."""
    info, = events("info", job)
    return info["operations"], 8 * info["parameters"]


def named(period):
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if period >= size)
    return f"{period / size:g} {unit}"


@part(periods=[60, 300, 1800, 7200, 28800, 86400], methods=list(METHODS), plot="", quick={"periods": [60], "methods": ["allreduce, survivors"]})
def goodput(arguments):
    """Useful examples a second with failures over those without, of all nodes and for each living node, by the mean time between failures of
    the whole cluster; then batches an hour of a living node. Times only."""
    files = images(arguments.runs)
    job = write_job(arguments.runs / "resnet50.toml", {"data": {"format": "idx", "train": files, "test": files}, "model": {"name": "resnet50"},
                                                       "train": {"epochs": 10**9, "batch": BATCH}})
    work, checkpoint = operations(job)
    write, found = checkpoint / CHECKPOINT_SPEED, {}
    print(f"{BATCH * work / 1e9:.3g} G operations a step; a checkpoint of {checkpoint / 1e6:.0f} MB takes {write:.2f} s")

    def rate(period, method, failures, limit, step):
        """Steps a second of each node, and the run."""
        strategy, settings, more = METHODS[method]
        keys = {**settings, "train.time_limit": f"{limit:.0f}s", **({"cluster.timeout": 3600} if step > STEP else {})}
        if more and failures:
            keys["checkpoint.every_minutes"] = round(young(period, write) / 60, 4)
        place = cluster(f"{method}-{period}", arguments.runs, NODES, BATCH * work / step, MEMORY, failures, more)
        run = simulate(job, place, strategy, keys, arguments, "--times-only")
        return run and run.end["epochs"] * EXAMPLES / BATCH / run.end["virtual_seconds"], run

    def cell(period, method):
        end, step = FAILURES * period, STEP if period < LONG else period / STEPS_OF_LONG
        failures = drawn(FAILURES, end)
        whole, _ = rate(period, method, [], min(end, 14400 if step == STEP else 1600 * step), step)
        lossy, run = rate(period, method, failures, end, step)
        if not lossy:
            return "error"
        seconds = run.end["virtual_seconds"]
        living = NODES if METHODS[method][2] else NODES - sum(seconds - second for second, _ in failures if second < seconds) / seconds
        found.setdefault(method, []).append((period, lossy / whole * NODES / living))
        return f"{lossy / whole:.3f}, {lossy / whole * NODES / living:.3f}; {lossy * 3600 / living:.1f}"

    grid("mean time between failures", arguments.methods, [named(period) for period in arguments.periods],
         lambda period, method: cell(dict(zip(map(named, arguments.periods), arguments.periods))[period], method))
    if arguments.plot:
        pathlib.Path(arguments.plot).write_text(plot({"": found}, "Goodput with failures, for each living node: fraction of that without", low=0,
                                                     x_ticks=arguments.periods, x_name=named,
                                                     below=f"mean time between failures of the cluster of {NODES} nodes"))
    return "times only, one run a cell"


@part(nodes=32, epochs=6, failures=[0, 1, 4, 16], seeds=[1], examples=12000, methods=[name for name, (*_, more) in METHODS.items() if not more],
      quick={"failures": [0, 1], "epochs": 1, "examples": 1024, "methods": ["gossip_pull, survivors"]})
def accuracy(arguments):
    """Final test accuracy of LeNet with real gradients, and virtual seconds, with nodes lost evenly over the run."""
    job = write_job(arguments.runs / "lenet.toml", {
        "data": {"format": "synthetic-digits", "train_size": arguments.examples, "test_size": 2000}, "model": {"name": "lenet"},
        "train": {"batch": 8, "learning_rate": 0.02, "schedule": {"name": "cosine"}, "epochs": arguments.epochs}})

    def run(method, seed, failures):
        strategy = METHODS[method][0]
        keys = {"train.seed": seed, **({"cluster.period": 12} if strategy == "diloco" else {})}
        place = cluster(f"{method}-{seed}", arguments.runs, arguments.nodes, *SLOW, failures, "", 0.01, 0)
        return simulate(job, place, strategy, keys, arguments)

    def cell(method, number):
        words = []
        for seed in arguments.seeds:
            end = run(method, seed, []).end["virtual_seconds"]
            # Evenly over the time of the run without failures. Of 16 failures on 32 nodes one is that of node 0, which leads.
            nodes = [arguments.nodes - 1 - (i * 7) % arguments.nodes for i in range(number)]
            one = run(method, seed, [((i + 1) / (number + 1) * end, node) for i, node in enumerate(nodes)])
            words.append(f"{one.end['test']['accuracy']:.4f}, {one.end['virtual_seconds']:.3g} s" if one else "error")
        return "; ".join(words)

    grid("method", arguments.failures, arguments.methods, cell)
    return f"{arguments.nodes} nodes, {arguments.epochs} epochs, seeds {arguments.seeds}"


if __name__ == "__main__":
    main(__doc__)
