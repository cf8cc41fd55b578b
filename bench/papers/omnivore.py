"""Omnivore (Hadjis, Zhang, Mitliagkas, Ré, 2016, arXiv 1606.04487): lowering, a CPU beside a GPU, compute groups and their momentum.

usage: bench/paper.py omnivore [--quick] [--only lowering,devices,...]

`lowering` and `team` are in real time, everything else in virtual time: the machine may be busy. Jobs and clusters: examples/papers/omnivore-*.toml.
"""
import itertools
import pathlib
import re
import tarfile
import tomllib

from devices import on_devices, write_curve
from lib.build import program
from lib.comparison import Compared, compare
from lib.options import part
from lib.places import CORES, DATA, ROOT
from lib.runner import DIVERGED, SIMULATE, at_once, changes, events, execute, first_at, last, medians, trained, write_job
from lib.tables import print_table, say
from plan import MOMENTA, formula, tuned_momenta

JOBS = ROOT / "examples/papers"
CAFFENET = JOBS / "omnivore-caffenet.toml"
NODES = JOBS / "omnivore-32-nodes.toml"
FEW_NODES = JOBS / "omnivore-8-nodes.toml"
RUNS = itertools.count()


# The first table: lowering on one node.

def lowering(arguments):
    """CaffeNet's five convolutions, forward and backward: partitions of the batch and images lowered together, against an image at a time."""
    bench, batch = program("convolution_bench"), arguments.batch
    image = ("lower_image", 1, 1)

    def seconds(case):
        threads, algorithm, partitions, images = case
        return float(execute([bench, "lowering", threads, batch, algorithm, partitions, images]))

    cases = [(threads, *image) for threads in {1, CORES}] + [(1, "lower_batch", 1, 0)]
    cases += [(CORES, "lower_batch", partitions, 0) for partitions in (1, CORES)]
    cases += [(CORES, "lower_batch", CORES, images) for images in (1, 8) if not arguments.quick]
    found = medians(list(dict.fromkeys(cases)), arguments.rounds, seconds)

    def name(threads, algorithm, partitions, images):
        return [threads, "an image at a time" if algorithm == "lower_image" else partitions, images or "all"]

    print_table(["threads", "partitions", "images together", "seconds", "of an image at a time"],
                ([*name(*case), f"{time:.2f}", f"{time / found[case[0], *image]:.2f}"] for case, time in found.items()),
                f"Lowering, CaffeNet's convolutions, batch {batch}")
    whole, on = found[CORES, "lower_batch", CORES, 0], f"{CORES} cores, batch {batch}"
    yield Compared("lowered batch, times an image at a time", PAPER_IMAGE / PAPER_MANY, found[CORES, *image] / whole, note=f"AlexNet, 16 virtual CPUs; here {on}")
    yield Compared("the same on one core", PAPER_IMAGE / PAPER_MANY, found[1, *image] / found[1, "lower_batch", 1, 0], note=f"batch {batch}")
    yield Compared("2 partitions, times 1", PAPER_ONE / 7.9, found[CORES, "lower_batch", 1, 0] / whole, note=f"one lowers alone; here {on}")


TEAM = 16  # the paper's virtual CPUs
PAPER_IMAGE, PAPER_ONE, PAPER_MANY = 16.5, 13.8, 3.8  # its seconds of an iteration: an image at a time, 1 partition, 16
PAPER_LOWERING = (PAPER_ONE - PAPER_MANY) * TEAM / (TEAM - 1)  # of one thread, while the others wait


def team(arguments):
    """Lowering by 16 threads, computed from what one thread of them does: an image at a time, and in one partition, one lowers alone."""
    batch = max(TEAM, arguments.batch)
    parts = execute([program("convolution_bench"), "parts", TEAM, batch])
    layers = [list(map(float, line.split())) for line in parts.splitlines()]

    def computed(image, lowering, products, part, whole, whole_lowering, partition, _):
        """Seconds with a core for each thread: an image at a time, one partition, one for each thread."""
        return lowering + (image - lowering) * part / products, whole_lowering + (whole - whole_lowering) / TEAM, partition

    def row(name, layer, times):
        image, lowering, products, part, *_, peak = layer
        return [name, f"{image:.2f}", f"{100 * lowering / image:.0f}", f"{100 * peak / products:.0f}", f"{100 * peak / TEAM / part:.0f}",
                *(f"{time:.3f}" for time in times), f"{times[0] / times[2]:.1f}"]

    each = [computed(*layer) for layer in layers]
    all_layers, times = list(map(sum, zip(*layers))), list(map(sum, zip(*each)))
    print_table(["convolution", "an image at a time, 1 thread: s", "of it lowering, %", "its products, % of the peak", f"a {TEAM}th of each",
                 f"{TEAM} threads: an image at a time", "1 partition", f"{TEAM} partitions", "times"],
                [*(row(number, *both) for number, both in enumerate(zip(layers, each), 1)), row("all", all_layers, times)],
                f"Lowering by {TEAM} threads, CaffeNet's convolutions, computed from one thread's seconds")
    image, lowering, (alone, one, many) = *all_layers[:2], times
    print(f"\nLowering, % of one thread's seconds: {100 * lowering / image:.1f}, by the paper's seconds {100 * PAPER_LOWERING / TEAM / PAPER_MANY:.1f}. "
          f"An image's products, divided among {TEAM} threads, times a {TEAM}th: {TEAM * (alone - lowering) / (image - lowering):.2f}, "
          f"by the paper's {(PAPER_IMAGE - PAPER_LOWERING) / (PAPER_ONE - PAPER_LOWERING):.2f}.")
    yield Compared(f"the first with {TEAM} threads, computed", PAPER_IMAGE / PAPER_MANY, alone / many, note=f"batch {batch}")
    yield Compared(f"{TEAM} partitions, times 1, computed", PAPER_ONE / PAPER_MANY, one / many, note=f"batch {batch}")


# A CPU beside a GPU.

PAPER_GPU, PAPER_BOTH = 2.75, 2.35  # seconds of an iteration
PAPER_CPU = 1 / (1 / PAPER_BOTH - 1 / PAPER_GPU)  # of a CPU that adds so much
CAFFENET_VALUES = 60965224


def devices(arguments):
    """A batch split over an emulated CPU and GPU, each as fast on the job as the paper's on AlexNet, and each split in steps of 5 %."""
    job = write_job(arguments.runs / "devices.toml", {"data": {"format": "synthetic-digits", "train_size": 2560, "test_size": 10}, "model": {"name": "lenet"},
                                                      "train": {"epochs": 2, "batch": 128 if arguments.quick else 256, "learning_rate": 0.01},
                                                      "node": {"threads": 1}})
    info = last(events("info", job), "info")
    operations = 256 * info["operations"]

    def curve(name, seconds, **link):
        return write_curve(arguments.runs / f"{name}.toml", {"title": name, "source": "the paper's seconds", "operations_per_second": operations / seconds,
                                                             "half_batch": 0, "bytes_per_second": 1e15, **link})

    link = 1e10 * info["parameters"] / CAFFENET_VALUES  # as long a copy as CaffeNet's over PCIe 3
    curves = {"cpu": curve("cpu", PAPER_CPU, threads=1), "emulated:0": curve("gpu", PAPER_GPU, link_bytes_per_second=link)}

    def run(*devices, **keys):
        executor = "split" if len(devices) > 1 else "single"
        return on_devices(job, {device: curves[device] for device in devices}, {"node.executor": executor, **keys}, arguments.runs)

    def seconds(run):
        first, second = (epoch["seconds"] for epoch in run.epochs)  # in the first, split finds the devices' speeds
        return 256 * (second - first) / run.start["train_examples"]

    def of_cpu(run):
        before, after = (epoch["node"]["examples"]["cpu"] for epoch in run.epochs)
        return (after - before) / run.start["train_examples"]

    both = run(*curves)
    parts = [percent / 100 for percent in range(5, 35 if arguments.quick else 100, 5)]
    by_part = dict(zip(parts, at_once(lambda part: seconds(run(*curves, **{"node.split_fractions": [part, 1 - part]})), parts, CORES)))
    best = min(by_part, key=by_part.get)
    print_table(["the CPU's part, %", "seconds an iteration"], ([f"{100 * part:.0f}", f"{time:.3f}"] for part, time in by_part.items()),
                "CPU and GPU on one batch of 256, by the part of the CPU")
    gpu, cpu = seconds(run("emulated:0")), seconds(run("cpu"))
    yield Compared("GPU alone, times CPU and GPU", PAPER_GPU / PAPER_BOTH, gpu / seconds(both), note="emulated at the paper's rates")
    yield Compared("CPU and GPU, times 1 / (1/cpu + 1/gpu)", 1, seconds(both) * (1 / cpu + 1 / gpu), note="at most 1.10")
    yield Compared("the CPU's part, %", 100 * PAPER_BOTH / PAPER_CPU, 100 * of_cpu(both), ".0f", f"best of the sweep: {100 * best:.0f}")


# Compute groups.

def cluster_of(nodes, folder):
    file = folder / f"{nodes}-nodes.toml"
    file.write_text(re.sub(r"count = \d+", f"count = {nodes}", NODES.read_text(encoding="utf-8")))
    return file


def one_image_a_class(to):
    """A folder with one of the job's images a class: times only looks at their size."""
    with tarfile.open(DATA / "sign-digits-jpeg/sign-digits.tar.xz") as archive:
        seen = set()
        for member in archive:
            folder = pathlib.PurePath(member.name).parent
            if member.isfile() and folder not in seen:
                archive.extract(member, to)
                seen.add(folder)
    return to


def update_seconds(nodes, groups, arguments, **keys):
    """Virtual seconds an update, without the beginning of the run."""
    keys = {"data.train": arguments.images, "cluster.groups": groups, **keys}

    def end(updates):
        words = ("--cluster", cluster_of(nodes, arguments.runs), "--times-only", "--steps", updates, "--run", arguments.runs / f"times-{next(RUNS)}")
        return last(events("simulate", CAFFENET, *words, *changes(keys)), "end")

    first, second = end(5 * groups), end(15 * groups)
    return (second["virtual_seconds"] - first["virtual_seconds"]) / (second["step"] - first["step"])


def groups(arguments):
    """HE(g) = max(t_fc, (t_conv(N / g) + t_fc) / g) of CaffeNet on 32 nodes: predicted from one group alone, and simulated."""
    arguments.images = str(one_image_a_class(arguments.runs / "images"))
    nodes, head = 32, head_seconds()
    numbers = [2 ** i for i in range(6)]
    alone = {g: update_seconds(nodes // g, 1, arguments) for g in numbers}  # t_conv + t_fc of a group of its own
    predicted = {g: max(head, alone[g] / g) for g in numbers}
    simulated = {g: alone[g] if g == 1 else update_seconds(nodes, g, arguments) for g in numbers}
    print_table(["groups", "nodes each", "predicted s an update", "simulated", "predicted / simulated"],
                ([g, nodes // g, f"{predicted[g]:.3f}", f"{simulated[g]:.3f}", f"{predicted[g] / simulated[g]:.2f}"] for g in numbers),
                "Seconds an update of CaffeNet, batch 256, 32 simulated nodes on 1 Gbit/s, served head")
    whole = update_seconds(nodes, 1, arguments, **{"cluster.bucket_mb": 1000.0})
    print(f"\n1 group without overlap, the whole model at once: {whole:.3f} s, {whole / simulated[1]:.2f} times layer by layer.")
    worst = max((predicted[g] / simulated[g] for g in numbers), key=lambda ratio: max(ratio, 1 / ratio))
    yield Compared("HE predicted, times simulated: the worst of all g", 1, worst, note="within 15 %")
    yield Compared("groups that saturate the head: predicted, times simulated", 1, saturated(predicted) / saturated(simulated), note="within one halving")


def head_seconds():
    """Of the head on a batch: its operations, and its update in memory."""
    layers = {layer["name"]: layer for layer in last(events("info", CAFFENET), "info")["layers"]}
    head = [layers[name] for name in ("fc6", "fc7", "fc8")]
    node = NODES.read_text(encoding="utf-8")
    operations, memory = (float(re.search(rf"{key} = (\S+)", node)[1]) for key in ("operations_per_second", "bytes_per_second"))
    return 256 * sum(layer["operations"] for layer in head) / operations + 20 * sum(layer["parameters"] for layer in head) / memory


def saturated(seconds):
    """The fewest groups from which on more of them gain less than 10 %."""
    numbers = sorted(seconds)
    return next((g for g, more in zip(numbers, numbers[1:]) if seconds[g] < 1.1 * seconds[more]), numbers[-1])


# Momentum.

def law(arguments):
    """E[w(t+1) - w(t)] = (1 - 1/g) E[w(t) - w(t-1)] - ...: the momentum fitted to runs with exponential service (tests/strategy/laws_test.cc)."""
    file = arguments.runs / "laws.xml"
    execute([program("strategy_test", "tests"), "--gtest_filter=Laws.AsynchronyIsMomentum", "--gtest_brief=1", f"--gtest_output=xml:{file}"])
    fitted = dict(re.findall(r'momentum_of_(\d+)_paper" value="([\d.]+)"', file.read_text(encoding="utf-8")))
    for g, momentum in fitted.items():
        yield Compared(f"momentum of {g} groups", 1 - 1 / int(g), float(momentum), ".3f", "the law 1 - 1/g")


def tuned(arguments):
    """The best explicit momentum of each number of groups."""
    best, momenta = tuned_momenta(arguments)
    print_table(["groups", *(f"momentum {momentum}" for momentum in MOMENTA), "tuned", "1 - 0.1 g"],
                ([g, *(f"{best[g, momentum][0]:.4f}" for momentum in MOMENTA), tuned, f"{formula(g, momenta[1]):.2f}"] for g, tuned in momenta.items()),
                "Training loss at the best rate")
    order = list(momenta.values())
    yield Compared("tuned momentum falls or stays with each g", 1, float(order == sorted(order, reverse=True)), ".0f", "1: it does")


# The optimizer.

def run_to_target(job, keys, limit, arguments):
    keys = {**data_of(job), "train.time_limit": f"{limit}s", **keys}
    return trained(job, keys, arguments.runs, "--cluster", FEW_NODES, command=SIMULATE, accept=[DIVERGED])


def data_of(job):
    """The sizes of drawn data, which --quick would make too small for the target."""
    data = tomllib.loads(job.read_text(encoding="utf-8"))["data"]
    return {f"data.{key}": data[key] for key in ("train_size", "test_size") if key in data}


def optimizer(arguments):
    """Omnivore's optimizer, its searches included, against each static choice of groups, momentum and rate."""
    for name in arguments.jobs:
        yield from optimizer_on(JOBS / f"omnivore-{name}.toml", arguments)


def optimizer_on(job, arguments):
    groups, limit = (1, 2, 4, 8), arguments.limit
    momenta = (0.0, 0.9) if arguments.quick else MOMENTA
    rates = (0.1, 0.01)  # lower ones are later
    static = list(itertools.product(groups, momenta, rates))

    def run(case):
        return run_to_target(job, dict(zip(("cluster.groups", "train.momentum", "train.learning_rate"), case)), limit, arguments)

    runs = dict(zip(static, at_once(run, static, CORES)))
    auto = run_to_target(job, {"cluster.strategy": "auto", "train.planner": "omnivore", "train.optimizer_epoch": f"{arguments.epoch}s"},
                         4 * limit, arguments)
    ours = run_to_target(job, {"cluster.strategy": "auto", "train.learning_rate": "auto", "train.momentum": "auto"}, 4 * limit, arguments)

    def compared(accuracy):
        """The best static choice, its seconds, the optimizer's, and those of the worse of 1 and 8 groups at momentum 0.9; None: not reached."""
        found = {case: seconds for case in static if (seconds := first_at(runs[case].virtual_curve(), accuracy))}
        best = min(found, key=found.get, default=None)
        worse = max(min((found.get((g, 0.9, rate), limit) for rate in rates)) for g in (1, 8))
        return best, found.get(best), first_at(auto.virtual_curve(), accuracy), worse

    target = tomllib.loads(job.read_text(encoding="utf-8"))["train"]["target"]["at_least"]
    last = {accuracy: compared(accuracy) for accuracy in [*(one for one in arguments.targets if one < target), target]}
    trials = auto.searched(auto.start)
    print_table(["accuracy", "groups, momentum, rate", "best static s", "times the cold start", "optimizer s", "times the best", "our `auto` s"],
                ([accuracy, best and ", ".join(map(str, best)), say(seconds, ".1f"), say(seconds and trials and seconds / trials, ".1f"), say(own, ".1f"),
                  say(own and seconds and own / seconds, ".2f"), say(first_at(ours.virtual_curve(), accuracy), ".1f")]
                 for accuracy, (best, seconds, own, _) in last.items()),
                f"Virtual seconds to an accuracy, {job.stem}; the cold start: {say(trials, '.1f', 'not ended')}; `auto` chose {ours.start['strategy']}")
    best, own, worse = last[target][1:]
    name = job.stem.removeprefix("omnivore-")
    yield Compared(f"{name}: the optimizer, times the best static choice", 1.1, own and best and own / best, note="at most 1.1")
    yield Compared(f"{name}: the worse of 1 and 8 groups at momentum 0.9, times the optimizer", 1.9, own and worse / own,
                   note="1.9 to 12" if worse < limit else "1.9 to 12; ours at least")


PARTS = [lowering, team, devices, groups, law, tuned, optimizer]
PROGRAMS = {"lowering": ("convolution_bench",), "team": ("convolution_bench",), "law": ("strategy_test", "tests")}


@part(only=[one.__name__ for one in PARTS], jobs=["digits", "fashion"], targets=[0.85, 0.87], batch=256, rounds=3, epoch=30.0,
      limit=120.0, groups=[1, 2, 4, 8, 16], seeds=[1, 2],
      rates=[0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006], epochs=4,
      quick={"jobs": ["digits"], "batch": 16, "rounds": 1, "limit": 15.0, "groups": [1, 4], "seeds": [1], "rates": [0.1, 0.02], "epochs": 4})
def omnivore(arguments):
    """Omnivore's tables and figures."""
    for words in [PROGRAMS[one] for one in arguments.only if one in PROGRAMS]:
        program(*words)  # before anything is measured
    compare([figure for one in PARTS if one.__name__ in arguments.only for figure in one(arguments)], "Omnivore's figures")
    return "lowering and team in real time, the rest in virtual time"
