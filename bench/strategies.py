#!/usr/bin/env python3
"""Strategies beside each other: on simulated clusters in virtual time (bench/virtual_run.cc), and at many rates and batches.

usage: bench/strategies.py table|settings|diloco|steps|whole|twins|forms [options]      --help of a part has its options

The jobs in virtual time are examples/strategies/*.toml: LeNet on Fashion-MNIST, rate 0.02 falling by a cosine, momentum 0.9, and a
whole batch of 64, of which each replica has its part. One replica a node; computing is as STEP_SECONDS says.
"""
import filecmp
import os
import tomllib
import zlib

from lib.options import main, part
from lib.places import ROOT
from lib.runner import DIVERGED, SIMULATE, at_once, from_words, trained, virtual, write_job
from lib.tables import listed, print_table, say

WHOLE_BATCH = 64
LEARNING_RATE = 0.02  # of the jobs
GIGABIT = 1.25e8  # bytes a second
LINK = 12e9  # bytes a second: PCI Express 3, 16 lanes
# A core of an Intel Xeon with AVX-512, by model and batch: `yoke bench JOB --set node.threads=1 --with train.batch=N
# --rounds 3` at commit 06f69f9, the fastest round, less the update of the rule momentum at MEMORY.
MEMORY = 2.5e10  # bytes a second of arithmetic on values
STEP_SECONDS = {"lenet": {64: 11.39e-3, 16: 2.105e-3, 8: 1.043e-3}, "alexnet-cifar": {64: 23.9e-3, 16: 5.658e-3, 8: 2.904e-3}}
OVERLAPPED, EVERYWHERE = "easgd_original, overlapped", "easgd_sync3, centre_everywhere"
VARIANTS = {OVERLAPPED: {"cluster.form": "overlapped"}, EVERYWHERE: {"cluster.centre_everywhere": True}}  # of the strategy before the comma
ALL = ["none", "allreduce", "async_sgd", "async_msgd", "hogwild_sgd", "compute_groups", "compute_groups_head", OVERLAPPED,
       "easgd_sync1", "easgd_sync2", "easgd_sync3", "easgd_async", "easgd_async_momentum", "easgd_hogwild", "ad_psgd",
       "gossip_pull", "gossip_push", "local_sgd", "slowmo", "diloco", "sgp"]
ADAMW = {"train.rule": "adamw", "train.learning_rate": 0.001}


def job_of(name):
    return ROOT / f"examples/strategies/{'allreduce' if name == 'none' else strategy_of(name)}.toml"


def strategy_of(name):
    return name.partition(",")[0] if name in VARIANTS else name


def strategy_keys(name):
    """The settings of a strategy or variant."""
    return {"cluster.strategy": strategy_of(name), **VARIANTS.get(name, {})}


def run(name, replicas, arguments, more=None, cluster=None, job=None, model="lenet", runs=None, **options):
    """The run of a strategy by so many replicas; `none`: one. On a network of `arguments.gbits`, or the cluster given."""
    replicas = 1 if name == "none" else replicas
    batch = WHOLE_BATCH // replicas
    cluster = cluster or {"bandwidth": GIGABIT * arguments.gbits, "latency": 50e-6, "step_seconds": STEP_SECONDS[model][batch], "memory": MEMORY}
    strategy = strategy_keys(name) if name == "none" or job else VARIANTS.get(name, {})
    settings = {"train.epochs": arguments.epochs, "train.seed": 1, "train.batch": batch, "node.threads": 1, "cluster.replicas": replicas}
    settings |= {**strategy, **(more or {}), **from_words(arguments.set)}
    return virtual(job or job_of(name), cluster, settings, runs or arguments.runs, **options)


def both(values, form):
    """Of each number of replicas: "0.9005/0.9018"."""
    return "/".join(say(value, form, "diverges") for value in values) if any(values) else ""


def cells(name, runs):
    """A row of the table: a run for each number of replicas."""
    ended = [None if one.diverged else one for one in runs]
    exchange = [one.exchange if one else {} for one in ended]
    steps = [one.start["train_examples"] * len(one.epochs) / WHOLE_BATCH for one in runs]
    percents, sent = [[one.get(key) and one[key] * factor for one, factor in zip(exchange, factors)]
                      for key, factors in (("communicating", [100] * len(steps)), ("bytes", [1e-6 / of for of in steps]))]
    return ["one replica" if name == "none" else name, both([one and one.accuracy for one in ended], ".4f"),
            both([one and one.seconds for one in ended], ".1f"), both(percents, ".0f"), both(sent, ".2f"),
            both([one.get("consensus_distance") for one in exchange], ".2g")]


@part(replicas=[4, 8], epochs=4, gbits=10.0, only=ALL, at_once=2, set=[], quick={"replicas": [4], "epochs": 1, "only": ["none", "easgd_sync3"]})
def table(arguments):
    """Each strategy beside one replica. easgd_sync3 is trained twice, and the models of easgd_sync* are compared bit for bit."""
    def runs_of(name):
        runs = [run(name, replicas, arguments, keep=True, accept=[DIVERGED]) for replicas in arguments.replicas]
        return name, runs[:1] if name == "none" else runs

    found = dict(at_once(runs_of, arguments.only, arguments.at_once))
    print_table(["strategy", "accuracy", "virtual seconds", "communicating, %", "MB a step", "distance of replicas"],
                (cells(name, runs) for name, runs in found.items()))
    for name in (name for name in found if name.startswith("easgd_sync")):
        (arguments.runs / "again").mkdir(exist_ok=True)
        again = [run("easgd_sync3", replicas, arguments, runs=arguments.runs / "again", keep=True) for replicas in arguments.replicas]
        same = all(filecmp.cmp(*(each.folder / "last/model.safetensors" for each in pair), shallow=False) for pair in zip(again, found[name]))
        print(f"\n{name}: {'the same bits as' if same else 'OTHER BITS than'} easgd_sync3 trained once more")
    return f"{listed(arguments.replicas)} replicas, one run a row, seed 1"


MODELS = {"mlp": {"model.name": "mlp", "model.widths": [128]}, "lenet": {"model.name": "lenet"}}
SETTINGS = ["sgd:0.005", "sgd:0.02", "sgd:0.1", "momentum:0.005", "momentum:0.02", "momentum:0.1", "adam:0.001"]
OF_SETTINGS = ["none", "allreduce", OVERLAPPED, "easgd_async", "easgd_async_momentum", "easgd_hogwild", "gossip_pull", "gossip_push",
               "sgp", "local_sgd", "slowmo", "diloco"]


@part(model="mlp", replicas=4, batches=[8, 64], settings=SETTINGS, only=OF_SETTINGS, epochs=2, set=[],
      quick={"settings": ["sgd:0.1"], "only": ["none", "gossip_pull"], "batches": [64], "epochs": 1})
def settings(arguments):
    """Test accuracy in percent at other rates, rules and batches: a perceptron (784-128-10) or lenet on the digits of examples/demo.toml.

    A cell has an accuracy for each batch of a replica. `allreduce` stands for one replica whose batch is as large as all together."""
    def accuracy(strategy, setting, batch):
        rule, rate = setting.split(":")
        keys = {**MODELS[arguments.model], "train.batch": batch, "train.rule": rule, "train.learning_rate": rate, "train.epochs": arguments.epochs,
                "train.seed": 1, "cluster.replicas": 1 if strategy == "none" else arguments.replicas, **strategy_keys(strategy)}
        one = trained(ROOT / "examples/demo.toml", {**keys, **from_words(arguments.set)}, arguments.runs, "--threads", arguments.threads,
                      accept=[DIVERGED])
        return "diverged" if one.diverged else f"{100 * one.accuracy:.1f}"

    print_table(["strategy", *(setting.replace(":", " ") for setting in arguments.settings)],
                (["one replica" if name == "none" else name,
                  *("/".join(accuracy(name, setting, batch) for batch in arguments.batches) for setting in arguments.settings)]
                 for name in arguments.only))
    return f"{arguments.model}, {arguments.replicas} replicas of batch {listed(arguments.batches)}, {arguments.epochs} epochs, one run a cell"


@part(periods=[100, 500], epochs=4, gbits=0.1, at_once=2, set=[], quick={"periods": [100], "epochs": 1})
def diloco(arguments):
    """diloco beside allreduce on a network of 100 Mbit/s, by 4 replicas with batch 16; inner adamw at its usual rate of 0.001."""
    rows = [("allreduce", "momentum", "allreduce", {}), ("allreduce", "adamw", "allreduce", ADAMW)]
    rows += [(f"diloco, period {period}", "adamw", "diloco", {**ADAMW, "cluster.period": period}) for period in arguments.periods]
    runs = at_once(lambda one: run(one[2], 4, arguments, one[3]), rows, arguments.at_once)
    target = least_accuracy(runs)
    print_table(["", "rule", "accuracy", "GB sent", "virtual seconds", "communicating", f"virtual seconds to {target:.3f}"],
                ([name, rule, f"{one.accuracy:.4f}", f"{one.exchange['bytes'] / 1e9:.3g}", f"{one.seconds:.1f}",
                  f"{100 * one.exchange['communicating']:.0f} %", f"{one.reaches(target):.1f}"] for (name, rule, *_), one in zip(rows, runs)))
    return "one run a row, seed 1"


def least_accuracy(runs):
    """The lowest accuracy at the end, rounded down: all of them reach it."""
    return int(1000 * min(one.accuracy for one in runs)) / 1000


FDR = tomllib.loads((ROOT / "examples/clusters/easgd-fdr.toml").read_text(encoding="utf-8"))["network"]
# The network of the elastic paper, whose cards copy messages themselves, and a GPU's memory.
PAPER = {"bandwidth": FDR["bytes_per_second"], "latency": FDR["latency"], "copies": 1e18, "memory": 2.88e11, "device_link": LINK}
PAPERS_FRACTION = 0.87  # of the time, in which ORIGINAL communicates
ORIGINAL = "easgd_original"
SYNCHRONOUS = [ORIGINAL, "easgd_sync1", "easgd_sync2", "easgd_sync3", EVERYWHERE, OVERLAPPED]
SHORT_STEPS = 100  # of a replica in a run of times only
ON_DEMAND = ["easgd_async", "easgd_async_momentum", "easgd_hogwild"]  # whose steps are counted over all replicas
STATE = 20  # bytes an element that the update of rule momentum moves


def short_job(model, folder):
    """A job of times only, whose data give an image's size. Batches of one: the cluster says how long a batch takes."""
    data = {"format": "synthetic-digits", "train_size": 20, "test_size": 0}
    if model == "alexnet-cifar":
        data = random_cifar(folder / "random.bin", 20)
    return write_job(folder / f"short-{model}.toml", {"data": data, "model": {"name": model}, "train": {"epochs": 2, "batch": 1, "learning_rate": 1e-4}})


def random_cifar(path, count):
    """A data section of so many images without content."""
    if not path.exists():
        records = bytearray(os.urandom(3073 * count))
        records[::3073] = bytes(i % 10 for i in range(count))
        path.write_bytes(records)
    return {"format": "cifar", "train": str(path)}


def cluster_file(place, replicas, folder):
    """So many nodes with a device behind a link, which takes place["launch"] seconds for each kernel of a gradient."""
    text = f"""[[nodes]]
count = {replicas}
[nodes.curve]
title = "device"
source = "bench/strategies.py"
operations_per_second = 1e30
bytes_per_second = {place["memory"]}
launch_seconds = {place["launch"]}
link_bytes_per_second = {place["device_link"]}
[network]
latency = {place["latency"]}
bytes_per_second = {place["bandwidth"]}
copy_bytes_per_second = {place.get("copies", 1e10)}
"""
    path = folder / f"cluster-{zlib.crc32(text.encode()):08x}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def short_run(model, strategy, replicas, place, folder, more=None):
    """The Run of times only. more: further settings."""
    steps = SHORT_STEPS * (replicas if strategy in ON_DEMAND else 1)
    return trained(short_job(model, folder), {**strategy_keys(strategy), **(more or {})}, folder, "--cluster", cluster_file(place, replicas, folder),
                   "--times-only", "--steps", steps, command=SIMULATE)


def timing(model, strategy, replicas, place, folder, more=None):
    """(seconds a step, fraction of it that is not the time of a replica alone) of a short run. In easgd_original's turns all have theirs."""
    one = short_run(model, strategy, replicas, place, folder, more)
    step, alone = one.step_seconds() * (replicas if strategy in ON_DEMAND else 1), seconds_alone(model, place, folder)
    return step, 1 - (replicas if strategy == ORIGINAL else 1) * alone / step


def seconds_alone(model, place, folder):
    """A step of one replica."""
    return short_run(model, "none", 1, place, folder).step_seconds()


def with_computing(model, seconds, place, folder):
    """The place whose replicas alone take so many seconds a step, if their memory lets them."""
    least, more = (seconds_alone(model, {**place, "launch": launch}, folder) for launch in (0, 1))
    return {**place, "launch": max(0, seconds - least) / (more - least)}


def papers_cluster(model, replicas, folder):
    """The paper's cluster, with the computing that lets ORIGINAL communicate for its fraction of the time."""
    place = {**PAPER, "launch": 0}
    for _ in range(2):  # what it communicates hardly depends on what it computes
        step, fraction = timing(model, ORIGINAL, replicas, place, folder)
        place = with_computing(model, fraction * step * (1 / PAPERS_FRACTION - 1) / replicas, PAPER, folder)
    return place


def cluster_of(place, model, replicas, folder):
    """The paper's, or this machine's cores behind a network of so many Gbit/s."""
    if place == "paper's":
        return papers_cluster(model, replicas, folder)
    network = {"bandwidth": GIGABIT * float(place.split()[0]), "latency": 50e-6, "device_link": LINK, "memory": MEMORY}
    update = STATE * short_run(model, "none", 1, {**network, "launch": 0}, folder).start["parameters"] / MEMORY
    return with_computing(model, STEP_SECONDS[model][WHOLE_BATCH // replicas] + update, network, folder)


def virtual_place(model, place, folder):
    """The same place for virtual_run, whose step_seconds are without the update."""
    alone, update = seconds_alone(model, place, folder), STATE * short_run(model, "none", 1, place, folder).start["parameters"] / place["memory"]
    return {"step_seconds": alone - update, **{key: value for key, value in place.items() if key != "launch"}}


def cifar_job(folder):
    """AlexNet-CIFAR on 40,000 of CIFAR-10's images."""
    files = [f"$YOKE_DATA/cifar10/data_batch_{i}.bin.xz" for i in range(1, 6)]
    return write_job(folder / "alexnet-cifar10.toml", {
        "data": {"format": "cifar", "train": files, "test_share": 0.2, "normalize": "standard"}, "model": {"name": "alexnet-cifar"},
        "train": {"learning_rate": 0.02, "schedule": {"name": "cosine"}}})


@part(models=["lenet", "alexnet-cifar"], replicas=[4, 8], places=["paper's", "0.1 Gbit/s", "1 Gbit/s", "10 Gbit/s"],
      quick={"models": ["lenet"], "replicas": [4], "places": ["10 Gbit/s"]})
def steps(arguments):
    """Elastic averaging, Original -> Sync1 -> Sync2 -> Sync3, on four clusters: the paper's, whose computing is set so that Original
    communicates for 87 % of its time, and this machine's cores behind networks of 0.1, 1 and 10 Gbit/s.

    A step's time is that of a run of times only."""
    def rows():
        for model in arguments.models:
            for replicas in arguments.replicas:
                for place in arguments.places:
                    cluster = cluster_of(place, model, replicas, arguments.runs)
                    times, fractions = zip(*(timing(model, name, replicas, cluster, arguments.runs) for name in SYNCHRONOUS))
                    yield [model, replicas, place, f"{1e3 * seconds_alone(model, cluster, arguments.runs):.3g}",
                           f"{1e3 * times[0]:.3g}",
                           *(f"{times[0] / one:.2f}" for one in times[1:]), f"{100 * fractions[0]:.0f} to {100 * fractions[3]:.0f} %"]

    print_table(["model", "replicas", "cluster", "computing, ms", "`easgd_original`, ms", "`sync1`", "`sync2`", "`sync3`",
                 "`sync3`, centre everywhere", "`easgd_original`, overlapped", "communicating, Original to `sync3`"], rows())
    return f"times only, means of {SHORT_STEPS} steps"


@part(models=["lenet", "alexnet-cifar"], replicas=[4, 8], epochs=4, gbits=10.0, at_once=2, set=[],
      quick={"models": ["lenet"], "replicas": [4], "epochs": 1})
def whole(arguments):
    """Whole runs of easgd_original and easgd_sync3: what synchronous strategies compute does not depend on times, and easgd_sync1, 2 and 3
    have the same bits."""
    for model in arguments.models:
        for replicas in arguments.replicas:
            job = {"job": cifar_job(arguments.runs), "model": model} if model == "alexnet-cifar" else {}
            names = [ORIGINAL, "easgd_sync3"]
            runs = at_once(lambda name: run(name, replicas, arguments, **job), names, arguments.at_once)
            target = least_accuracy(runs)
            print(f"\n{model}, {replicas} replicas on {arguments.gbits:g} Gbit/s, virtual seconds to accuracy {target:.3f}: " +
                  ", ".join(f"{name} {one.reaches(target):.2f} (at the end {one.accuracy:.4f})" for name, one in zip(names, runs)), flush=True)
    return "one run each, seed 1"


SGD = {"train.rule": "sgd", "train.learning_rate": 0.1}
TWINS = {"async, momentum": ("easgd_async", "async_sgd", {}), "async, `sgd`": ("easgd_async", "async_sgd", SGD),
         "async momentum": ("easgd_async_momentum", "async_msgd", {}), "Hogwild": ("easgd_hogwild", "hogwild_sgd", {})}
FORMS = ["paper", "yoke"]  # of a twin


@part(places=["10 Gbit/s", "paper's"], replicas=[4, 8], pairs=list(TWINS), rates=[1.0, 0.25], level=0.87, epochs=4, gbits=10.0, at_once=2, set=[],
      quick={"places": ["10 Gbit/s"], "replicas": [4], "pairs": ["Hogwild"], "rates": [1.0], "epochs": 1, "level": 0.5})
def twins(arguments):
    """Asynchronous elastic methods beside their plain twins in each form: seconds to --level, and to the highest accuracy of both, divided.

    Each has the best of --rates times its job's."""
    print_twins(arguments.places, arguments.replicas, arguments)
    return "one run each, seed 1"


def print_twins(places, counts, arguments, job=None, title=""):
    print_table(["cluster", "replicas", "pair", "form of the twin", "rates: elastic, twin", f"{arguments.level:.3f}", "highest",
                 "ends: elastic, twin"],
                (row for place in places for replicas in counts for row in twin_rows(place, replicas, arguments, job)), title)


def twin_rows(place, replicas, arguments, job=None):
    """A row for each pair and each form of its plain twin; the elastic method has one form."""
    cluster = None
    if place == "paper's":
        cluster = virtual_place("lenet", papers_cluster("lenet", replicas, arguments.runs), arguments.runs)
    for name in arguments.pairs:
        elastic, twin, more = TWINS[name]
        ours, *plain = (best_rate(one, replicas, arguments, {**more, **form}, cluster, job)
                        for one, form in [(elastic, {}), *((twin, {"cluster.form": form}) for form in FORMS)])
        for form, other in zip(FORMS, plain):
            yield [place, replicas, name, form, f"{ours[0]:g}, {other[0]:g}", *beside(ours[1], other[1], arguments.level)]


def best_rate(name, replicas, arguments, more, cluster=None, job=None):
    """The rate, of arguments.rates times its job's, that reaches arguments.level first, or ends highest; and its run."""
    given = more.get("train.learning_rate", LEARNING_RATE)

    def one(factor):
        keys = {} if factor == 1 else {"train.learning_rate": factor * given}
        return run(name, replicas, arguments, {**more, **keys}, cluster, job, accept=[DIVERGED])

    def rank(of):
        its = of[1]
        return (1, 0, 0) if its.diverged else (0, its.reaches(arguments.level) or float("inf"), -its.accuracy)

    factor, best = min(zip(arguments.rates, at_once(one, arguments.rates, arguments.at_once)), key=rank)
    return factor * given, best


def beside(ours, plain, level):
    """Seconds to a level and to the highest accuracy of both, divided, and both ends."""
    if ours.diverged or plain.diverged:
        return ["", "", ", ".join("diverges" if one.diverged else f"{one.accuracy:.4f}" for one in (ours, plain))]
    highest = least_accuracy([ours, plain])
    ratios = [ours.reaches(value) / plain.reaches(value) for value in (min(level, highest), highest)]
    return [f"{ratios[0]:.2f}", f"{ratios[1]:.2f} at {highest:.3f}", f"{ours.accuracy:.4f}, {plain.accuracy:.4f}"]


# Of compute_groups as published train.batch is a group's, of two replicas here.
BOTH_FORMS = {"async_sgd": {}, "async_msgd": {}, "hogwild_sgd": {}, "compute_groups": {"cluster.groups": 2}}
MORE_OF_FORM = {("compute_groups", "paper"): {"train.batch": WHOLE_BATCH // 2}}


@part(strategies=list(BOTH_FORMS), replicas=4, rates=[1.0, 0.25], level=0.87, epochs=4, gbits=10.0, at_once=2, set=[],
      quick={"strategies": ["hogwild_sgd"], "rates": [1.0], "epochs": 1, "level": 0.5})
def forms(arguments):
    """Strategies as published and in the default form, each with the best of --rates times its job's: accuracy and seconds to --level."""
    def rows():
        for name in arguments.strategies:
            found = [best_rate(name, arguments.replicas, arguments, {**BOTH_FORMS[name], "cluster.form": form, **MORE_OF_FORM.get((name, form), {})})
                     for form in FORMS]
            cells = [cell for rate, one in found for cell in ([f"{rate:g}", "diverges"] if one.diverged else [f"{rate:g}", f"{one.accuracy:.4f}"])]
            slow, fast = (None if one.diverged else one.reaches(arguments.level) for _, one in found)
            yield [f"`{name}`", *cells, say(slow, ".2f"), say(fast, ".2f"), say(slow and fast and slow / fast, ".2f")]

    print_table(["strategy", "as published: rate", "accuracy", "default form: rate", "accuracy", f"s to {arguments.level}, published", "default",
                 "times"], rows())
    return f"{arguments.replicas} replicas, one run each, seed 1"


if __name__ == "__main__":
    main(__doc__)
