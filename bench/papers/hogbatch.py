"""CPU+GPU Hogbatch (Ma and Rusu, arXiv 2004.08771, 2020): 16 CPU cores and a GPU, alone and together, in virtual time with real gradients.

usage: bench/paper.py hogbatch [options]

The jobs are examples/papers/hogbatch-*.toml, the speeds examples/devices. A method has the best of its rates. Both Hogbatches run as published.
With --torch a step of the same network by PyTorch on this CPU, beside ours. --plots DIR gets the loss and the busy fractions over time.
"""
import argparse
import importlib.util
import pathlib
import sys
import tomllib

from devices import BOTH, METHODS, best_curves, hogwild, losses_of, seconds_to, whole, write_curve
from lib.comparison import Compared, compare
from lib.options import part
from lib.places import DATA, ROOT
from lib.plot import plot
from lib.runner import Server, at_once, trained, write_job
from lib.tables import print_table, say

CPU, GPU, FIXED, ADAPTIVE = "CPU, 1 a thread", "GPU, 8192", "hogbatch, 1 and 8192", "adaptive_hogbatch"
SHORT = {FIXED: "Hogbatch", ADAPTIVE: "Adaptive"}
# Of --one-rate, found by short runs.
RATE = {CPU: "0.08/16", GPU: "0.4", FIXED: "0.4/80", ADAPTIVE: "0.64/2048"}
RATES = {"w8a": {CPU: "0.02/16", GPU: "0.05", FIXED: "0.05/40", ADAPTIVE: "0.16/2048"}}
WINDOWS = 20
SECONDS = {"covtype": 5.0, "w8a": 0.7, "delicious": 0.6}  # virtual, of a run
FULL_COVTYPE = DATA / "covtype/covtype.data.gz"
# Read off the paper's plots, ranges by their middle: of the updates, the CPU's fraction; of the time, CPU and GPU busy.
SHARES = {("k80", FIXED): 0.925, ("v100", FIXED): 0.925, ("k80", ADAPTIVE): 0.755, ("v100", ADAPTIVE): 0.56}
SLOWER, SLOWER_SECONDS = 20, 4.0  # a CPU whose threads compute so much more slowly, and how long it trains
BUSY = {FIXED: {"cpu": 0.8, "emulated:0": 0.9}, ADAPTIVE: {"cpu": 0.7, "emulated:0": 0.5}}


def gpu_file(name):
    return str(ROOT / f"examples/devices/{name}.toml")


def job_of(name, width, folder):
    """The example's data and network, without its end and its devices."""
    job = tomllib.loads((ROOT / f"examples/papers/hogbatch-{name}.toml").read_text(encoding="utf-8"))
    if name == "covtype" and FULL_COVTYPE.exists():
        job["data"]["train"] = str(FULL_COVTYPE)
    job["data"].pop("test", None)
    job["model"]["widths"] = [width] * len(job["model"]["widths"])
    job["train"] |= {"epochs": 1000000, "evaluate_every": 1000000}
    return write_job(folder / f"hogbatch-{name}-{width}.toml", job | {"node": {"threads": 1}})


def share_of(run):
    """The CPU's fraction of the updates."""
    updates = run.end["node"]["updates"]
    return updates["cpu"] / sum(updates.values())


def beside_a_slower_cpu(gpu, arguments):
    """The CPU's fraction of Adaptive's updates on covtype if its threads compute 1 / SLOWER as fast; their memory is as fast as before."""
    curve = tomllib.loads(pathlib.Path(arguments.cpu).read_text(encoding="utf-8"))
    curve["operations_per_second"] /= SLOWER
    slower = argparse.Namespace(**vars(arguments) | {"cpu": str(write_curve(arguments.runs / f"cpu-{SLOWER}-times-as-slow.toml", curve)),
                                                     "gpu": gpu_file(gpu)})
    _, run = losses_of(job_of("covtype", arguments.width, arguments.runs), ADAPTIVE, RATE[ADAPTIVE], SLOWER_SECONDS, slower)
    return share_of(run)


class Trained:
    """All methods on one set of data beside one GPU: each at its best rate."""

    def __init__(self, name, gpu, arguments):
        arguments.gpu = gpu_file(gpu)
        self.threads = tomllib.loads(pathlib.Path(arguments.cpu).read_text(encoding="utf-8"))["threads"]
        job, seconds = job_of(name, arguments.width, arguments.runs), arguments.seconds or SECONDS[name]
        one = RATES.get(name, RATE)
        keys = [(method, rate) for method in (CPU, GPU, FIXED, ADAPTIVE)
                for rate in sorted({one[method], *([] if arguments.one_rate else METHODS[method][2])})]
        results = dict(zip(keys, at_once(lambda key: losses_of(job, *key, seconds, arguments), keys, arguments.jobs)))
        self.goal, rates, self.curves = best_curves(results)
        self.seconds = {method: seconds_to(curve, self.goal) for method, curve in self.curves.items()}
        rates = {method: rate for (method, rate), (_, run) in results.items() if not run.diverged} | rates
        self.points = {method: results[method, rate][0] for method, rate in rates.items()}
        self.runs = {method: results[method, rate][1] for method, rate in rates.items()}

    def node(self, method, measure):
        return self.runs[method].end["node"][measure]

    def share(self, method):
        return share_of(self.runs[method])

    def updates(self, method):
        """Of each device: mean examples of an update, and milliseconds that one takes: of one thread, where it has several."""
        node, seconds = self.runs[method].end["node"], self.runs[method].end["seconds"]
        for device, workers in zip(BOTH, (self.threads, 1)):
            yield node["examples"][device] / node["updates"][device]
            yield 1e3 * workers * node["busy"][device] * seconds / node["updates"][device]

    def busy_curves(self, method):
        """Of each device, its busy fraction over the virtual seconds, in WINDOWS parts of the run."""
        points = self.points[method]
        window, began, busy, curves = points[-1][0] / WINDOWS, 0.0, [0.0, 0.0], [[], []]
        for now, _, _, *more in points:
            busy = [sum(pair) for pair in zip(busy, more)]
            if now - began >= window:
                for curve, seconds in zip(curves, busy):
                    curve.append((now, min(1, seconds / (now - began))))
                began, busy = now, [0.0, 0.0]
        return dict(zip((f"{method}: {device}" for device in BOTH), curves))

    def first(self, *methods):
        """Seconds to the goal of the best of these, and whether that is only how long it trained without reaching it."""
        return min(((self.seconds[one] or self.curves[one][-1][0], not self.seconds[one]) for one in methods if one in self.curves),
                   default=(None, False))

    def faster(self, method, *than):
        """How many times as fast it is as the best of these, which may not have reached the goal; None if it has not itself."""
        seconds, _ = self.first(*than)
        return seconds / self.seconds[method] if seconds and self.seconds.get(method) else None


def cell(one, method):
    if method not in one.curves:
        return "diverged"
    return say(one.seconds[method], ".3f") or f"> {one.curves[method][-1][0]:.2f}"


def figures(found, arguments):
    """The paper's figures beside ours."""
    for (name, gpu), one in found.items():
        if (name, gpu) == ("covtype", "k80"):
            for method, than, paper in (FIXED, (CPU, GPU), 40 / 4.5), (FIXED, (ADAPTIVE,), 8.8 / 4.5), (ADAPTIVE, (CPU, GPU), 40 / 8.8):
                title = f"covtype, K80: {SHORT[method]}, times as fast as {SHORT.get(than[0], 'a device alone')}"
                ours = one.faster(method, *than)
                yield Compared(title + ", at least" * bool(ours and one.first(*than)[1]), paper, ours)
        for method in (FIXED, ADAPTIVE):
            title = f"{name}, {gpu.upper()}, {SHORT[method]}"
            yield Compared(f"{title}: CPU's share of updates", SHARES[gpu, method], one.share(method))
            if (name, gpu) == ("covtype", "k80"):
                for device, busy in BUSY[method].items():
                    yield Compared(f"{title}: {device} busy", busy, one.node(method, "busy")[device])
        if name == "covtype":
            yield Compared(f"{title}, CPU computes {SLOWER} times slower: its share", SHARES[gpu, ADAPTIVE], beside_a_slower_cpu(gpu, arguments))


def draw(found, folder):
    for (name, gpu), one in found.items():
        losses = {method: curve[::max(1, len(curve) // 300)] for method, curve in one.curves.items()}
        busy = {key: curve for method in (FIXED, ADAPTIVE) for key, curve in one.busy_curves(method).items()}
        for kind, title, lines in (("loss", "Loss", losses), ("busy", "Fraction of the time busy", busy)):
            pathlib.Path(folder, f"hogbatch-{name}-{gpu}-{kind}.svg").write_text(
                plot({f"{name}, {gpu}": lines}, title, x_log=False, low=None if kind == "loss" else 0.0, below="virtual seconds"), encoding="utf-8")


@part(sets=list(SECONDS), gpus=["k80", "v100"], one_rate=False, seconds=0.0, width=512, jobs=1, cpu=str(ROOT / "examples/devices/cpu-16-cores.toml"),
      plots="", torch=False, quick={"sets": ["covtype"], "gpus": ["k80"], "one_rate": True, "seconds": 0.3})
def hogbatch(arguments):
    """Virtual seconds until the loss has gone 0.95 of the way from the first to the lowest of all four, shares of the updates, busy fractions."""
    found = {(name, gpu): Trained(name, gpu, arguments) for name in arguments.sets for gpu in arguments.gpus}
    print_table(["", *(f"{name}, {gpu.upper()}" for name, gpu in found)],
                [["goal", *(f"{one.goal:.3f}" for one in found.values())],
                 *([method, *(cell(one, method) for one in found.values())] for method in (CPU, GPU, FIXED, ADAPTIVE)),
                 ["better of both / better alone", *(better(one) for one in found.values())]],
                "Virtual seconds to the goal")
    compare(figures(found, arguments), "The paper's figures, read off its plots", notes=False)
    print_table(["Adaptive's updates", "a thread's", "the GPU's", "CPU's share"],
                [[f"{name}, {gpu.upper()}", *balance(one)] for (name, gpu), one in found.items()], "Examples in time, on average, and what follows")
    if arguments.plots:
        draw(found, arguments.plots)
    if arguments.torch:
        beside_pytorch(arguments)
    return "virtual times, one run each"


def balance(one):
    """Cells: examples and milliseconds of an update, and the CPU's share that follows from the times."""
    if ADAPTIVE not in one.runs:
        return ["diverged"] * 3
    small, thread, large, gpu = one.updates(ADAPTIVE)
    return [f"{small:.0f} in {thread:.1f} ms", f"{large:.0f} in {gpu:.1f} ms", f"{one.threads / thread / (one.threads / thread + 1 / gpu):.2f}"]


def better(one):
    """A cell: how many times as fast the better Hogbatch is as the better device alone."""
    times = max(filter(None, [one.faster(method, CPU, GPU) for method in (FIXED, ADAPTIVE)]), default=None)
    return ">= " * bool(times and one.first(CPU, GPU)[1]) + say(times, ".2f", "none")


def beside_pytorch(arguments):
    """Examples a second of this CPU on covtype's network, ours and PyTorch's: they take the same steps, so it is their ratio to any loss."""
    if not importlib.util.find_spec("torch"):
        print("\nPyTorch is missing, so ours is not compared with it: tools/bench bench/paper.py hogbatch --torch installs it.")
        return
    job, layers = job_of("covtype", arguments.width, arguments.runs), 6

    def row(batch):
        executor = hogwild(1) if batch == 1 else whole("single", batch)
        run = trained(job, {**executor, "train.learning_rate": 0.01}, arguments.runs, "--threads", arguments.threads, "--time-limit", "5s")
        words = [f"sigmoid-{layers}x{arguments.width}", batch, arguments.threads, "f32", "1x1x54", 7, "eager-flush"]
        server = Server(sys.executable, ROOT / "bench/torch_step.py", *words)
        ours, theirs = run.end["epochs"] * run.start["train_examples"] / run.end["seconds"], server.measure(5)["images_per_second"]
        server.end()
        return [batch, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"]

    print_table(["batch", "yoke, examples/s", "PyTorch, examples/s", "ratio"], map(row, (1, 64, 512, 8192)), "covtype on this CPU")
