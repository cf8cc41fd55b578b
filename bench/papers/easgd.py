"""EASGD on clusters (You, Buluç, Demmel, SC17, arXiv 1708.02983): its ratios and shares in virtual time, beside ours.

The network is that of examples/clusters/easgd-fdr.toml, the many-core nodes are those of easgd-knl.toml. Jobs: examples/papers/easgd-*.toml.
"""
import math
from statistics import correlation

from lib.comparison import Compared, compare
from lib.options import part
from lib.places import ROOT
from lib.runner import SIMULATE, trained, write_job
from lib.tables import listed, print_table
from simulate import PAPER_NODES, STEPS, knl, simulate
from strategies import EVERYWHERE, GIGABIT, ORIGINAL, PAPER, TWINS, papers_cluster, print_twins, seconds_alone, short_run, timing, with_computing

LADDER = [ORIGINAL, "easgd_sync1", "easgd_sync2", "easgd_sync3"]
INSTANT = {"bandwidth": 1e18, "latency": 0}
ETHERNET = {"bandwidth": 10 * GIGABIT, "latency": 50e-6}
PARTS = {1: 1605, 4: 1025, 8: 823, 16: 490}  # seconds of the paper to accuracy 0.625
TOO_MANY = 32  # parts, whose data exceed near memory
CHIP_JOB = {"model": {"name": "alexnet-cifar"}, "train": {"batch": 128, "learning_rate": 0.02}, "node": {"executor": "split"}}
CIFAR_RECORD, CIFAR_IMAGES = 3073, 50_000
WEAK = 91.5  # % on about 4,300 cores


def ladder(model, replicas, cluster, folder, strategies):
    """{strategy: (seconds a step, fraction communicating)}."""
    return {name: timing(model, name, replicas, cluster, folder) for name in strategies}


def steps_of(model, replicas, folder):
    """The figures of Original -> Sync1 -> Sync2 -> Sync3."""
    found = ladder(model, replicas, papers_cluster(model, replicas, folder), folder, LADDER)
    seconds, shares = zip(*found.values())
    what = f"{model}, {replicas} nodes: "
    yield Compared(what + "Original to Sync1, times as fast", 3.7, seconds[0] / seconds[1])
    yield Compared(what + "Sync1 to Sync2", 1.3, seconds[1] / seconds[2])
    yield Compared(what + "Sync2 to Sync3", 1.1, seconds[2] / seconds[3])
    yield Compared(what + "in all", 5.3, seconds[0] / seconds[3])
    yield Compared(what + "Original communicates, %", 87, 100 * shares[0], ".0f", "set, by the computing")
    yield Compared(what + "Sync3 communicates, %", 14, 100 * shares[3], ".0f")


def causes(model, replicas, folder):
    """What Sync3's share depends on: the computing of a synchronous step beside that of a turn, and the exchange."""
    cluster = papers_cluster(model, replicas, folder)
    turn, original = seconds_alone(model, cluster, folder), timing(model, ORIGINAL, replicas, cluster, folder)[0]
    for times in (1, replicas, 7 * replicas // 4, 2 * replicas):
        for name in ("easgd_sync3", EVERYWHERE):
            step, share = timing(model, name, replicas, with_computing(model, times * turn, PAPER, folder), folder)
            yield [f"{1e3 * times * turn:.3g} ({times} turns)", name, f"{original / step:.2f}", f"{100 * share:.0f}"]


def message_seconds(model, replicas, network, packed, folder):
    """Seconds that the messages of a step of Sync1 take, and the run."""
    cluster, keys = {**PAPER, "launch": 0}, {"cluster.packed": packed}
    step, instant = (timing(model, "easgd_sync1", replicas, {**cluster, **one}, folder, keys)[0] for one in (network, INSTANT))
    return step - instant, short_run(model, "easgd_sync1", replicas, {**cluster, **network}, folder, keys)


def packing(models, replicas, folder):
    """Layer by layer beside packed; in the place of the paper's value its law (L a + |W| b) / (a + |W| b)."""
    for model in models:
        for name, network in {"FDR": {"bandwidth": PAPER["bandwidth"], "latency": PAPER["latency"]}, "10 Gbit/s": ETHERNET}.items():
            (layers, sliced), (packed, whole) = (message_seconds(model, replicas, network, one, folder) for one in (False, True))
            one, many = (run.end["exchange"] for run in (whole, sliced))
            pieces, latency, bytes_ = many["messages"] / one["messages"], network["latency"], one["bytes"] / one["messages"]
            law = (pieces * latency + bytes_ / network["bandwidth"]) / (latency + bytes_ / network["bandwidth"])
            yield Compared(f"{model}, {name}: layer by layer / packed, seconds of messages", law, layers / packed, ".3f", f"{pieces:.0f} pieces")


def exchanges(counts, folder):
    """{replicas: seconds of the messages of Sync1's broadcast and reduction} on the paper's network."""
    network = {"bandwidth": PAPER["bandwidth"], "latency": PAPER["latency"]}
    return {count: message_seconds("lenet", count, network, True, folder)[0] for count in counts}


def cifar(folder):
    """As many black images as CIFAR-10 has, in a file with a hole."""
    path = folder / "black.bin"
    with open(path, "wb") as file:
        for label in range(10):
            file.seek(CIFAR_RECORD * label)
            file.write(bytes([label]))
        file.truncate(CIFAR_RECORD * CIFAR_IMAGES)
    return {"format": "cifar", "train": str(path)}


def chip_seconds(parts, folder):
    """A step of AlexNet-CIFAR on one node of easgd-knl.toml without jitter."""
    cluster = folder / "chip.toml"
    cluster.write_text(knl(1, equal=True), encoding="utf-8")
    job = write_job(folder / "chip-job.toml", {"data": cifar(folder), **CHIP_JOB})
    return trained(job, {"node.parts": parts}, folder, "--cluster", cluster, "--times-only", "--steps", STEPS, command=SIMULATE).step_seconds()


def chip(folder):
    """The gain of 4, 8 and 16 parts: the same gradients, so times to an accuracy are as times of a step."""
    whole = chip_seconds(1, folder)
    for parts, seconds in list(PARTS.items())[1:]:
        yield Compared(f"one chip in {parts} parts, times as fast", PARTS[1] / seconds, whole / chip_seconds(parts, folder), note="fitted by one constant")
    spilled = chip_seconds(16, folder) / chip_seconds(TOO_MANY, folder)
    print(f"\n{TOO_MANY} parts hold more than the near memory: {spilled:.2f} times as fast as 16.")


def weak(nodes, arguments):
    alone, together = (simulate("googlenet", 64, knl(count), "easgd_sync3", STEPS, arguments).step_seconds() for count in (1, nodes))
    yield Compared(f"weak scaling, GoogLeNet, {nodes} nodes of 68 cores, %", WEAK, 100 * alone / together, ".1f")


@part(models=["lenet", "alexnet-cifar"], replicas=[4, 8], counts=[2, 4, 8, 16, 32], nodes=PAPER_NODES, workers=4, pairs=list(TWINS),
      rates=[1.0, 0.25], level=0.87, epochs=4, gbits=10.0, at_once=1, set=[],
      quick={"models": ["lenet"], "replicas": [8], "counts": [2, 4, 8], "pairs": ["Hogwild"], "rates": [1.0], "epochs": 1, "level": 0.5})
def easgd(arguments):
    """Steps and shares from Original to Sync3, packing, growth with the nodes, parts of a chip, weak scaling, asynchronous pairs."""
    folder = arguments.runs
    compare((figure for model in arguments.models for replicas in arguments.replicas for figure in steps_of(model, replicas, folder)),
            "Original to Sync3")
    most = max(arguments.replicas)
    print_table(["computing of a synchronous step, ms", "strategy", "in all", "communicates, %"], causes("lenet", most, folder),
                f"What the last share depends on: LeNet, {most} nodes")
    compare(packing(arguments.models, most, folder), "One message or one a layer")
    found = exchanges(arguments.counts, folder)
    print_table(["nodes", "ms"], ([count, f"{1e3 * seconds:.3f}"] for count, seconds in found.items()), "Broadcast and reduction of LeNet")
    fits = [correlation([form(count) for count in found], list(found.values())) ** 2 for form in (math.log2, float)]  # R squared of a line
    print(f"\nR squared of a + b log2 P: {fits[0]:.4f}, of a + b P: {fits[1]:.4f}.")
    compare(chip(folder), "Parts of one chip")
    compare(weak(arguments.nodes, arguments), "Weak scaling")
    print_twins(["paper's"], [arguments.workers], arguments, ROOT / "examples/papers/easgd-lenet.toml", "Elastic against plain, seconds divided")
    hogwild = ladder("lenet", most, papers_cluster("lenet", most, folder), folder, ["easgd_hogwild", "easgd_sync3"])
    print(f"\nHogwild EASGD takes {hogwild['easgd_hogwild'][0] / hogwild['easgd_sync3'][0]:.2f} times as long as Sync EASGD3 for a step of each worker.")
    return f"virtual time, {listed(arguments.replicas)} nodes, one run each, seed 1"
