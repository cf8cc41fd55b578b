#!/usr/bin/env python3
"""Seconds that `yoke plan` and `yoke simulate` predict for this machine, against those of training. Run it on an idle machine.

usage: bench/predicted.py steps|ranks|devices [options]      --help of a part has its options

LeNet on drawn digits. Worlds: threads, mpi (processes under mpirun), hosts:1gbit (hosts with limited links: tools/hosts).
"""
import itertools
import statistics

from lib.options import main, part
from lib.places import ROOT
from lib.quiet import alone
from lib.runner import changes, events, from_words, last, medians, write_job
from lib.tables import print_table

BATCH = 64
OVERLAPPED = "easgd_original overlapped"  # the other words are the value of cluster.form
STRATEGIES = ["allreduce", "async_sgd", "easgd_original", OVERLAPPED, "easgd_async", "easgd_sync1", "easgd_sync3", "gossip_pull", "gossip_push", "sgp",
              "ad_psgd", "local_sgd", "diloco"]
DIGITS = {"format": "synthetic-digits", "test_size": 10}


def lenet_job(arguments):
    """One thread a rank."""
    return write_job(arguments.runs / "job.toml", {
        "data": {**DIGITS, "train_size": arguments.examples}, "model": {"name": "lenet"}, "node": {"threads": 1},
        "train": {"epochs": 3, "batch": BATCH, "learning_rate": 0.005}})


class World:
    """So many ranks that plan, train and simulate a job."""

    def __init__(self, name, ranks, job, arguments):
        kind, _, rate = name.partition(":")
        self.launcher = {"threads": [], "mpi": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks],
                         "hosts": [ROOT / "tools/hosts", ranks, *(["--rate", rate] if rate else []), "--"]}[kind]
        self.name, self.ranks, self.job, self.folder, self.runs = name, ranks, job, arguments.runs, itertools.count()
        self.replicas, self.sets = [] if self.launcher else ["--replicas", ranks], changes(from_words(arguments.set))

    def call(self, command, *words):
        """The last event of a command of all ranks."""
        return events(command, self.job, *words, *self.replicas, *self.sets, launcher=self.launcher)[-1]

    def run(self):
        return ["--run", self.folder / f"{self.name}-{self.ranks}-{next(self.runs)}"]


def words_of(strategy):
    """Words of a command line: a strategy, and its form if that follows it."""
    name, *form = strategy.split()
    return ["--strategy", name, *changes({"cluster.form": one for one in form})]


def step_seconds(end, replicas, examples):
    """Of one replica. Where each takes steps of its own, they are counted over all."""
    of_step = end["epochs"] * examples / end["step"]
    return end["exchange"]["step_seconds"] / end["step"] * (replicas if of_step < 1.5 * BATCH else 1)


FAR = 1.2  # pairs further apart have an order


def order(rows):
    """How many pairs of strategies that really differ come in the same order, of how many."""
    far = [(a, b) for a, b in itertools.combinations(rows, 2) if max(a[1], b[1]) > FAR * min(a[1], b[1])]
    return f"{sum((a[1] < b[1]) == (a[2] < b[2]) for a, b in far)} of {len(far)}"


@part(replicas=2, worlds=["threads", "mpi"], strategies=STRATEGIES, examples=9600, rounds=3, times_only=False, set=[],
      quick={"worlds": ["threads"], "strategies": ["allreduce", "gossip_pull"], "examples": 960, "rounds": 1})
def steps(arguments):
    """Simulated steps against real ones: `yoke simulate --profile` measures the machine with so many replicas, then each strategy trains for
    real, and is simulated from that file, with gradients or --times-only. Prints how many pairs that differ by more than 20 % come in the
    same order."""
    for name in arguments.worlds:
        world, cluster = World(name, arguments.replicas, lenet_job(arguments), arguments), arguments.runs / f"{name}.toml"
        world.call("simulate", "--profile", cluster)
        found = []

        def rows():
            for strategy in arguments.strategies:
                real = statistics.median(of(world.call("train", *words_of(strategy), *world.run())) for _ in range(arguments.rounds))
                predicted = of(events("simulate", world.job, "--cluster", cluster, *(["--times-only"] if arguments.times_only else []),
                                      *words_of(strategy), *world.run(), *world.sets)[-1])
                found.append((strategy, real, predicted))
                yield [strategy, f"{1e3 * real:.2f}", f"{1e3 * predicted:.2f}", f"{predicted / real:.2f}"]

        def of(end):
            return step_seconds(end, arguments.replicas, arguments.examples)

        print_table(["strategy", "measured ms", "predicted ms", "predicted / measured"], rows(), f"{name}, {arguments.replicas} replicas")
        print(f"\nwithin 15 %: {sum(abs(predicted / real - 1) <= 0.15 for _, real, predicted in found)} of {len(found)}; "
              f"same order: {order(found)} pairs that differ by more than 20 %")
    return f"medians of {arguments.rounds} runs"


GROUPS = "compute_groups"
WITHIN = {GROUPS: 0.15}  # of what is measured; others:
WITHIN_OTHERS = 0.10
PLANNED = ["allreduce", "easgd_sync3", "easgd_original", "easgd_async", "gossip_pull", "gossip_push", "sgp"]


def settings(keys):
    """Strategy, groups and whether the head is served; None if the candidate has other keys, such as a period."""
    values = {key.removeprefix("cluster."): value for key, value in keys if key != "model.algorithms"}
    strategy = values.pop("strategy", "allreduce")
    groups, served = values.pop("groups", None), values.pop("served_head", "false")
    if values or (strategy == GROUPS) != (groups is not None):
        return None
    return strategy, int(groups or 0), str(served).lower() == "true"


@part(ranks=[4, 8], world="mpi", strategies=PLANNED, examples=7680, rounds=3, plans=1, set=[],
      quick={"ranks": [2], "world": "threads", "strategies": ["allreduce"], "examples": 640, "rounds": 1})
def ranks(arguments):
    """Seconds an update that `yoke plan` predicts, against those of real ranks: by strategy, number of groups and served head.

    `yoke plan` prices the candidates on the ranks of this world, and each then trains with the keys of its candidate. An update is, as in
    the plan, train.batch examples on each replica that trains. Where ranks share cores, so do they in the plan. Repeats what other
    programs have disturbed."""
    for count in arguments.ranks:
        compare(World(arguments.world, count, lenet_job(arguments), arguments), arguments)
    return f"batch {BATCH}; medians of {arguments.plans} plans, {arguments.rounds} runs"


def compare(world, arguments):
    """The table of one world."""
    def prices():
        plan = alone(lambda: world.call("plan", "--trial-seconds", 0, "--only", ",".join(["single", "f32", *arguments.strategies, GROUPS])))
        return {tuple(one["keys"].items()): one["seconds_per_update"] for one in plan["candidates"] if one["seconds_per_update"]}

    def update_seconds(keys):
        end = alone(lambda: world.call("train", *world.run(), *changes(dict(keys))))
        return end["exchange"]["step_seconds"] * BATCH * world.ranks / (end["epochs"] * arguments.examples)

    plans, good = [prices() for _ in range(arguments.plans)], []

    def rows():
        for what, keys in sorted((what, keys) for keys in plans[0] if (what := settings(keys))):
            predicted, runs = statistics.median(plan[keys] for plan in plans), sorted(update_seconds(keys) for _ in range(arguments.rounds))
            measured = statistics.median(runs)
            good.append(abs(predicted / measured - 1) <= WITHIN.get(what[0], WITHIN_OTHERS))
            yield [what[0] + (f" groups={what[1]}" if what[1] else "") + (" served_head" if what[2] else ""),
                   *(f"{1e3 * one:.2f}" for one in (predicted, measured, runs[0], runs[-1])), f"{predicted / measured:.2f}"]

    print_table(["candidate", "predicted ms/update", "measured", "least", "most", "predicted / measured"], rows(), f"{world.name}, {world.ranks} ranks")
    print(f"\n{sum(good)} of {len(good)} within 10 % (groups: 15 %)")


DEEP = {"data": {"format": "libsvm", "train": "$YOKE_DATA/w8a/w8a.gz", "test": "$YOKE_DATA/w8a/w8a.gz"}, "model": {"name": "mlp", "widths": [512] * 8},
        "train": {"batch": 256, "rule": "sgd", "learning_rate": 0.01}}
ON_DEVICES = {"lenet": {"data": {**DIGITS, "train_size": 9600}, "model": {"name": "lenet"}, "train": {"batch": 64, "learning_rate": 0.005}}, "w8a": DEEP}


@part(jobs=list(ON_DEVICES), executors=["split", "hogbatch", "adaptive_hogbatch"], rounds=3, epochs=3, priority=0, set=[],
      quick={"jobs": ["lenet"], "executors": ["split"], "rounds": 1, "epochs": 2, "set": ["data.train_size=960"]})
def devices(arguments):
    """What `yoke plan` predicts for a CPU and an emulated device together: LeNet on drawn digits, batch 64, and an MLP of 8 x 512 on w8a,
    batch 256. Predicted, measured (of the epochs after the first, in which devices are measured and plans compiled), and their ratio.
    Needs a core for each device; --priority goes before the ordinary programs of a machine (chrt -f)."""
    before, runs = ["chrt", "-f", arguments.priority] if arguments.priority else [], itertools.count()
    words = ["--threads", arguments.threads, *changes({"train.epochs": arguments.epochs, **from_words(arguments.set)})]

    def pair(job, executor):
        """Milliseconds of a batch, predicted and measured."""
        plan = last(events("plan", job, "--trial-seconds", 0, "--only", f"f32,{executor}", *words, launcher=before), "plan")
        price = next(one["seconds_per_update"] for one in plan["candidates"] if one["executor"] == executor and one["precision"] == "f32")
        told = events("train", job, "--executor", executor, "--run", arguments.runs / f"run-{next(runs)}", *words, launcher=before)
        rates = [event["examples_per_second"] for event in told if event["event"] == "epoch"]
        return 1e3 * price, statistics.median(1e3 * ON_DEVICES[job.stem]["train"]["batch"] / rate for rate in rates[1:])

    for name in arguments.jobs:
        job, sections = arguments.runs / f"{name}.toml", ON_DEVICES[name]
        write_job(job, {**sections, "train": {**sections["train"], "evaluate_every": 1000}, "node": {"devices": ["cpu", "emulated:0"]}})
        found = medians(arguments.executors, arguments.rounds, lambda executor: pair(job, executor))
        print_table(["executor", "predicted ms", "measured ms", "predicted / measured"],
                    ([executor, f"{ours:.2f}", f"{real:.2f}", f"{ours / real:.2f}"] for executor, (ours, real) in found.items()), name)
    return f"priority {arguments.priority}; medians of {arguments.rounds} runs"


if __name__ == "__main__":
    main(__doc__)
