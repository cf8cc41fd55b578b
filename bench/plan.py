#!/usr/bin/env python3
"""What `yoke plan` and `auto` choose, against every choice and against settings that were tuned by hand.

usage: bench/plan.py sweep JOB|grid|plain|momentum [options]      --help of a part has its options
"""
import itertools
import math
import pathlib
import statistics
import sys
import tomllib

from lib.options import main, part
from lib.places import CORES, ROOT
from lib.plot import plot
from lib.runner import DIVERGED, ENDED_BADLY, SIMULATE, at_once, changes, events, first_at, from_words, last, trained, write_job
from lib.tables import print_table, say

AUTO = {"node.executor": "auto", "node.precision": "auto", "cluster.strategy": "auto"}


@part(job=..., most=60, limit="10m", cluster="", only="", set=[], quick={"most": 1, "limit": "0.5s", "only": "single,f32,allreduce"})
def sweep(arguments):
    """What `auto` costs against the best static choice: trains every candidate of a plan to the job's target, then the job with `auto`.

    JOB has a train.target and a train.learning_rate, with which all train (bench/sweeps has jobs and clusters). Candidates are those that
    `yoke plan` prices, the fastest by prediction first; those that it leaves out because they exchange too seldom come last; --only is that of the plan.
    Seconds are those of the whole command, with --cluster virtual ones. Run it on an idle machine."""
    job = pathlib.Path(arguments.job)
    place, only = (["--" + name, value] if value else [] for name, value in (("cluster", arguments.cluster), ("only", arguments.only)))
    if "learning_rate" not in job.read_text(encoding="utf-8") + " ".join(arguments.set):
        sys.exit("the job needs a train.learning_rate: all candidates train with it")
    plan = last(events("plan", job, "--trial-seconds", 0, *place, *only, *changes(from_words(arguments.set))), "plan")
    if not plan:
        raise RuntimeError("`yoke plan` ended without a plan")

    def seconds(keys):
        """To the target, with all that comes before; None if it was not reached."""
        keys = {**from_words(arguments.set), "train.time_limit": arguments.limit, **keys}
        command = {"command": SIMULATE} if arguments.cluster else {}
        run = trained(job, keys, arguments.runs, *place, **command, accept=ENDED_BADLY)
        return None if run.end["reason"] != "target" else run.end["virtual_seconds"] if arguments.cluster else run.wall

    found = []

    def rows():
        for place, one in enumerate(candidates(plan)[:arguments.most], 1):
            found.append((seconds(one["keys"]), place, one))
            yield [place, one["name"], f"{one['seconds']:.1f}", say(found[-1][0], ".1f", "not reached")]

    print_table(["place", "candidate", "predicted s", "s to the target"], rows())
    auto = seconds(AUTO)
    reached = [one for one in found if one[0] is not None]
    print(f"\nauto: {say(auto, '.1f', 'not reached')} s")
    if reached:
        best = min(reached, key=lambda one: one[0])
        print(f"best: {best[2]['name']}, {best[0]:.1f} s, at place {best[1]} of the prediction; auto / best: {say(auto and auto / best[0], '.2f')}")
        for name in ("allreduce", "async_msgd"):
            ends = [end for end, _, one in reached if auto and one["strategy"] == name]
            print(f"{name} / auto: {ends[0] / auto:.2f}" if ends else f"{name}: not reached")
    return "one run each"


def candidates(plan):
    """Those with a price, fastest first; of executors that do the same work one; what is not predicted to learn last."""
    priced = [one for one in plan["candidates"] if one["seconds"] and not (one["dropped"] or "").startswith("the same work")]
    priced.sort(key=lambda one: ((one["dropped"] or "").startswith("it exchanges"), one["seconds"]))
    alike = {(one["strategy"], one["seconds_per_update"], one["updates"]): one for one in reversed(priced)}
    return [one for one in priced if one in alike.values()]


GRID = ROOT / "bench/sweeps/grid"
GRID_RATES = {"digits": (0.1, 0.03, 0.3), "fashion": (0.03, 0.01, 0.1), "cifar": (0.01, 0.003, 0.03), "text": (10.0, 3.0, 30.0)}
GRID_STRATEGIES = {"allreduce": {}, "gossip_push": {}, "easgd_async": {}, "local_sgd": {}, "async_msgd": {}, "compute_groups": {"cluster.groups": 4}}
GRID_MOMENTA = (0.9, 0.6, 0.0)
GRID_JOBS = ["digits-equal", "fashion-lagging", "cifar-slow", "text-equal", "digits-lagging", "fashion-slow", "cifar-equal", "text-slow"]
OPEN = {"cluster.strategy": "auto", "train.learning_rate": "auto", "train.momentum": "auto"}


@part(jobs=GRID_JOBS, most=math.inf, seeds=[2, 3, 4], quick={"jobs": GRID_JOBS[:2], "most": 6, "seeds": [2]})
def grid(arguments):
    """`auto` against a grid of strategies, momenta and learning rates, and against the job as it is, in virtual seconds to a target.

    A job of bench/sweeps/grid on one of its clusters, such as digits-slow, has neither strategy nor momentum nor rate: as it is, yoke trains
    it by allreduce with momentum 0.9 and rate 0.01. "all-reduce" is that with the best rate of the grid. `auto` chooses all three; its trials
    are counted. One seed finds the best of the grid, whose runs end when they take longer than 1.25 times the best one so far; others time
    it and the rest, by their median, because the luckiest of many runs is not the best. The target is a test loss. --most: runs of the grid."""
    def seconds(name, keys, limit=math.inf):
        """To the target, linear between two evaluations."""
        data, cluster = name.split("-")
        keys = {**keys, **({"train.time_limit": f"{limit:.6f}s"} if limit < math.inf else {})}
        run = trained(GRID / f"{data}.toml", {"checkpoint.every_epochs": 0, **keys}, arguments.runs, "--cluster", GRID / f"{cluster}.toml",
                      command=SIMULATE, accept=ENDED_BADLY)
        if run.end["reason"] != "target":
            return math.inf
        target = tomllib.loads((GRID / f"{data}.toml").read_text(encoding="utf-8"))["train"]["target"]["at_most"]
        curve = run.virtual_curve("loss") if OPEN.items() <= keys.items() else run.curve(metric="loss")
        return first_at([(x, -loss) for x, loss in curve], -target)

    def median_of(name, keys):  # None: no run of the grid has reached the target
        return math.inf if keys is None else statistics.median(seconds(name, {**keys, "train.seed": seed}) for seed in arguments.seeds)

    def best_of(name, cases):
        best = (math.inf, None)
        for rate, momentum, (strategy, keys) in cases:
            keys = {**keys, "cluster.strategy": strategy, "train.momentum": momentum, "train.learning_rate": rate}
            best = min(best, (seconds(name, keys, 1.25 * best[0]), keys), key=lambda one: one[0])
        return best[1]

    def rows():
        for name in arguments.jobs:
            rates = GRID_RATES[name.split("-")[0]]
            default = median_of(name, best_of(name, itertools.product(rates, GRID_MOMENTA[:1], [("allreduce", {})])))
            keys = best_of(name, itertools.islice(itertools.product(rates, GRID_MOMENTA, GRID_STRATEGIES.items()), int(min(arguments.most, 54))))
            best, auto, plain = median_of(name, keys), median_of(name, OPEN), median_of(name, {})
            what = f"`{keys['cluster.strategy']}`, momentum {keys['train.momentum']}, rate {keys['train.learning_rate']:g}" if keys else "none"
            yield [name, what, *(f"{one:.3g}" if one < math.inf else "not reached" for one in (best, default, plain, auto)),
                   *(f"{auto / one:.2f}" if max(auto, one) < math.inf else "" for one in (best, default))]

    print_table(["job", "best of the grid", "its seconds", "all-reduce", "as it is", "auto", "auto / best", "auto / all-reduce"], rows())
    return f"medians of {len(arguments.seeds)} seeds"


PLAIN = ["sector", "rcv1", "w8a", "covtype", "delicious", "kdd99", "mlp-fashion-mnist"]
RATES = {"momentum": (1, 0.3, 0.1, 0.03, 0.01), "adam": (0.01, 0.003, 0.001, 0.0003, 0.0001)}
TUNED = [{"train.rule": rule, "train.learning_rate": rate, "train.schedule": {"name": "cosine"}} for rule, rates in RATES.items() for rate in rates]


@part(jobs=PLAIN, epochs=10, rounds=3, threads=CORES, quick={"jobs": ["w8a"], "epochs": 1, "rounds": 1})
def plain(arguments):
    """Jobs of data and model alone against tuned ones: what a new user gets without a word on training.

    The plain job has [data] and [model] of an example. The tuned one is the best, by the test metric, of the rules momentum and adam with
    five rates each and a cosine schedule, and of the example's own [train]; all have the same epochs. The seconds are the median of each
    one's whole time, with the plain job's trials. Run it on an idle machine."""
    def run(job, keys):
        return trained(job, {**keys, "train.epochs": arguments.epochs}, arguments.runs, accept=[DIVERGED])

    def metric(job, keys):
        end = run(job, keys).end
        test = end["test"] if end["reason"] == "finished" else {}
        return test.get("accuracy", test.get("p_at_1", 0))

    def seconds(job, keys):
        return statistics.median(run(job, {**keys, "train.seed": seed}).wall for seed in range(2, arguments.rounds + 2))

    def rows():
        for name in arguments.jobs:
            example, bare = ROOT / f"examples/{name}.toml", arguments.runs / f"{name}.toml"
            bare.write_text(example.read_text(encoding="utf-8").split("[train]")[0])
            tried = [(metric(bare, keys), bare, keys) for keys in TUNED[:2 if arguments.quick else None]] + [(metric(example, {}), example, {})]
            best, job, keys = max(tried, key=lambda one: one[0])
            how = f"{keys['train.rule']} {keys['train.learning_rate']}" if keys else "the example"
            yield [name, f"{metric(bare, {}):.4f}", f"{best:.4f}", how, f"{seconds(bare, {}):.1f}/{seconds(job, keys):.1f}"]

    print_table(["job", "plain", "tuned", "tuned by", "seconds, plain/tuned"], rows())
    return f"{arguments.epochs} epochs, median seconds of {arguments.rounds} runs"


MOMENTA = (0, 0.3, 0.6, 0.9)
CLUSTER = """[[nodes]]
count = {groups}
operations_per_second = 1e11
bytes_per_second = 5e10
jitter = {{ kind = "exponential" }}
[network]
latency = 1e-6
bytes_per_second = 1e11
"""


def formula(groups, total):
    """The explicit momentum with which asynchronous updates reach as far as one with the momentum `total` alone."""
    return max(0, 1 - (1 - total) * groups)


def tuned_momenta(arguments):
    """{(groups, momentum): (loss, rate)} at the best rate, and {groups: momentum} of the lowest loss; see `momentum`."""
    job = write_job(arguments.runs / "momentum.toml", {
        "data": {"format": "synthetic-digits", "train_size": 4000, "test_size": 10}, "model": {"name": "mlp", "widths": [64]},
        "train": {"epochs": arguments.epochs, "batch": 32}, "node": {"threads": 1}})
    published = {"cluster.strategy": "compute_groups", "cluster.form": "paper"}

    def loss(case):
        groups, momentum, rate, seed = case
        cluster = arguments.runs / f"{groups}-groups.toml"
        cluster.write_text(CLUSTER.format(groups=groups))
        keys = {"train.momentum": float(momentum), "train.learning_rate": rate, "train.seed": seed}
        keys |= {**published, "cluster.groups": groups} if groups > 1 else {}
        run = trained(job, keys, arguments.runs, "--cluster", cluster, command=SIMULATE, accept=[DIVERGED])
        return math.inf if run.diverged else run.epochs[-1]["train"]["loss"] or math.inf

    cases = list(itertools.product(arguments.groups, MOMENTA, arguments.rates))
    losses = at_once(lambda case: statistics.mean(loss((*case, seed)) for seed in arguments.seeds), cases, CORES)
    best = {}  # by groups and momentum: loss and rate
    for (groups, momentum, rate), found in zip(cases, losses):
        best[groups, momentum] = min(best.get((groups, momentum), (math.inf, 0)), (found, rate))
    tuned = {groups: min(MOMENTA, key=lambda momentum: best[groups, momentum][0]) for groups in arguments.groups}
    return best, tuned


@part(groups=[1, 2, 4, 8, 16], seeds=[1, 2], rates=[0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006, 0.003], epochs=8, plot="",
      quick={"groups": [1, 2], "seeds": [1], "rates": [0.1], "epochs": 1})
def momentum(arguments):
    """The tuned explicit momentum against the number of asynchronous groups, with the paper's formula beside it (Omnivore, figure 6).

    A perceptron of 64 hidden units on drawn digits, 1,000 updates of 32 examples. Each group is a replica with exponential service times,
    and compute_groups has the paper's form. Prints the training loss of the last epoch with each momentum at its best rate. Virtual time: the
    machine may be busy."""
    best, tuned = tuned_momenta(arguments)
    by_formula = {groups: formula(groups, tuned[arguments.groups[0]]) for groups in arguments.groups}
    print_table(["groups", *(f"momentum {momentum}" for momentum in MOMENTA), "tuned", "the formula"],
                ([groups, *("{:.4f} (rate {})".format(*best[groups, momentum]) for momentum in MOMENTA), tuned[groups], f"{by_formula[groups]:.2f}"]
                 for groups in arguments.groups))
    if arguments.plot:
        series = {"tuned explicit momentum": list(tuned.items()), "the formula": list(by_formula.items())}
        pathlib.Path(arguments.plot).write_text(plot({"": series}, "A perceptron on drawn digits, updates of 32 examples", low=-0.02,
                                                     x_ticks=arguments.groups, below="groups"))
    return f"mean of {len(arguments.seeds)} seeds"


if __name__ == "__main__":
    main(__doc__)
