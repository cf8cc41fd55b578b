"""The parts of bench/gpu.py: what each measures, unit by unit, and the table that it makes of them.

A unit is what is measured at once: at most LIMIT seconds, kept under its key. A part is a class with units(setting), a list of (key, what
to call for a dictionary of figures), and table(setting, found), columns and rows of the figures {key: dictionary} that there are so far.
"""
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

from devices import METHODS, SETS, fit, seconds_to, set_job, smooth
from lib.places import CORES, ROOT
from lib.random_images import image_data
from lib.runner import changes, toml, write_job

LIMIT = 90  # seconds of a unit
FORMS = ("eager", "graph", "compiled")  # PyTorch's
PRECISIONS = ("tf32", "bf16")


class TooLittleTime(Exception):
    """A unit needs more seconds than the part has left: the next call measures it."""


class Setting(NamedTuple):
    """What all units are measured with."""
    yoke: pathlib.Path
    device: str
    folder: pathlib.Path  # for data
    left: object  # a function: seconds of this call
    quick: bool = False  # a try of seconds, not a measurement
    doctor: dict = {}  # what `yoke doctor` says


def run(command, setting, **environment):
    """A command's standard output and "", or None and why it failed."""
    limit = min(LIMIT, setting.left())
    environment = {**os.environ, **environment}
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=max(limit, 1), check=False, env=environment)
    except subprocess.TimeoutExpired:
        if limit < LIMIT:
            raise TooLittleTime from None
        return None, f"more than {LIMIT} s"
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return done.stdout, ""


def trained(job, settings, setting, *words, precision="tf32"):
    """The events of a training run, by name, and why there are none."""
    run_folder = setting.folder / "run"
    subprocess.run(["rm", "-rf", run_folder], check=True)
    out, why = run([setting.yoke, "train", job, "--json", "--run", run_folder, *words, *changes(settings)], setting,
                   YOKE_TF32="1" if precision == "tf32" else "0")
    events = list(map(json.loads, (out or "").splitlines()))
    return {name: [event for event in events if event["event"] == name] for name in ("start", "epoch", "end")}, why


def torch_rate(model, batch, precision, image, classes, form, setting):
    device = setting.device if setting.device.startswith("cuda") else "cpu"
    out, why = run([sys.executable, ROOT / "bench/gpu_torch.py", model, batch, precision, "x".join(map(str, image)), classes, device, form,
                    0.2 if setting.quick else 3], setting)
    return {"rate": json.loads(out.splitlines()[-1])["examples_per_second"] if out else None, "why": why}


def count(rate):
    return f"{rate:,.0f}" if rate else "-"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours and theirs else ""


class Network:
    """Training steps of a network of the zoo against PyTorch's best form, in examples a second."""

    def __init__(self, name, image, classes, batches, keys=None):
        self.name, self.image, self.classes, self.batches = name, image, classes, batches
        self.model = {"name": name, **(keys or {})}

    def rows(self, setting):
        return [(min(self.batches[0], 2), PRECISIONS[0])] if setting.quick else itertools.product(self.batches, PRECISIONS)

    def units(self, setting):
        for batch, precision in self.rows(setting):
            yield f"{batch} {precision} yoke", functools.partial(self.ours, batch, precision, setting)
            for form in FORMS[:1] if setting.quick else FORMS:
                yield f"{batch} {precision} {form}", functools.partial(torch_rate, self.name, batch, precision, self.image, self.classes, form, setting)

    def ours(self, batch, precision, setting):
        job = write_job(setting.folder / "job.toml", {
            "data": self.data(batch, setting), "model": self.model,
            "train": {"batch": batch, "epochs": 1 if setting.quick else 3, "evaluate_every": 1000000, "learning_rate": 0.001},
            "node": {"devices": [setting.device], "precision": "bf16" if precision == "bf16" else "f32"}})
        events, why = trained(job, {}, setting, precision=precision)
        return {"rate": events["epoch"][-1]["examples_per_second"] if events["epoch"] else None, "why": why}

    def data(self, batch, setting):
        """Digits, or random images that are drawn once."""
        if self.image == (1, 28, 28):
            size = max(batch * 2000 // (1 + batch // 64), 10 * batch)
            return {"format": "synthetic-digits", "train_size": 20 * batch if setting.quick else size, "test_size": 10}
        images = 2 * batch if setting.quick else max(16 * batch, 2048)
        return image_data(setting.folder, self.image, images, self.classes)

    def table(self, setting, found):
        def row(batch, precision):
            of = lambda who: found.get(f"{batch} {precision} {who}", {})  # noqa: E731
            theirs = {form: of(form)["rate"] for form in FORMS if of(form).get("rate")}
            best = max(theirs, key=theirs.get, default="")
            ours, notes = of("yoke").get("rate"), [f"{who}: {of(who)['why']}" for who in ("yoke", *FORMS) if of(who).get("why")]
            return [batch, precision, count(ours), count(theirs.get(best)), ratio(ours, theirs.get(best)), best, "; ".join(notes)]

        return ["batch", "precision", "yoke", "PyTorch", "ratio", "its form", ""], [row(*key) for key in self.rows(setting)]


class DataSet:
    """A CPU and a GPU together on a set of docs/executors/cpu-and-gpu.md: seconds until the loss has gone 0.95 of the way to the lowest of all
    runs, at the best of some rates; the GPU's fraction of the updates, and how busy both are."""
    SECONDS = 4.0  # of training

    def __init__(self, name):
        self.name = name

    def units(self, setting):
        for method, (_, _, rates) in METHODS.items():
            for rate in rates[:1] if setting.quick else rates:
                yield f"{method} at {rate}", functools.partial(self.ours, method, rate, setting)
        yield "PyTorch", functools.partial(self.theirs, setting)

    def width(self, setting):
        return 16 if setting.quick else 512

    def ours(self, method, rate, setting):
        devices, keys, _ = METHODS[method]
        value, _, examples = rate.partition("/")
        settings = {"node.devices": [setting.device if name == "emulated:0" else name for name in devices], "node.threads": CORES,
                    "train.batch": int(examples or 1), **keys, "train.learning_rate": float(value)}
        seconds = 0.3 if setting.quick else self.SECONDS
        events, why = trained(set_job(self.name, self.width(setting), setting.folder), settings, setting, "--time-limit", f"{seconds}s")
        epochs = events["epoch"]
        if not epochs:
            return {"why": why or "no epoch in its time"}
        size, last = events["start"][0]["train_examples"], events["end"][-1].get("node", {})
        curve = smooth([(epoch["seconds"], size, epoch["train"]["loss"]) for epoch in epochs])
        return {"curve": curve[::max(1, len(curve) // 200)], "rate": epochs[-1]["examples_per_second"], "node": last, "why": why}

    def theirs(self, setting):
        """Of the same network with dense input: a step that gives the curve of `GPU, 512`."""
        job = set_job(self.name, self.width(setting), setting.folder)
        out, why = run([setting.yoke, "info", job, "--json"], setting)
        if not out:
            return {"rate": None, "why": why}
        network, form = json.loads(out.splitlines()[0]), "eager" if setting.quick else "graph"
        return torch_rate(f"sigmoid-{SETS[self.name][1]}x{self.width(setting)}", 512, "tf32", network["input"], network["outputs"], form, setting)

    def table(self, setting, found):
        curves = {key: one["curve"] for key, one in found.items() if one.get("curve")}
        if not curves:
            return ["", ""], [[key, one.get("why", "")] for key, one in found.items()]
        first = max(curve[0][1] for curve in curves.values())
        aim = first - 0.95 * (first - min(loss for curve in curves.values() for _, loss in curve))

        def row(method):
            keys = [key for key in curves if key.startswith(f"{method} at ")]
            if not keys:
                return [method, "", next((one["why"] for key, one in found.items() if key.startswith(f"{method} at ")), "-"), "", "", ""]
            best = min(keys, key=lambda key: (seconds_to(curves[key], aim) or 1e9, curves[key][-1][1]))
            reached, node = seconds_to(curves[best], aim), found[best]["node"]
            busy = " ".join(f"{100 * part:.0f}" for part in node.get("busy", {}).values())
            updates = node.get("updates", {})
            gpu = f"{100 * list(updates.values())[-1] / sum(updates.values()):.0f}" if len(updates) > 1 and sum(updates.values()) else ""
            return [method, best.rpartition(" ")[2], f"{reached:.3f}" if reached else f"> {curves[best][-1][0]:.2f}", count(found[best]["rate"]), busy, gpu]

        rows = [["goal", "", f"{aim:.3f}", "", "", ""], *map(row, METHODS)]
        theirs = found.get("PyTorch", {})
        rows.append(["PyTorch, 512, by its rate", "", self.by_rate(found, curves, aim), count(theirs.get("rate")), "", ""])
        return ["", "rate", "seconds to the goal", "examples/s", "busy, %", "GPU's updates, %"], rows

    @staticmethod
    def by_rate(found, curves, aim):
        """PyTorch's seconds for the curve of `GPU, 512`."""
        theirs, ours = found.get("PyTorch", {}).get("rate"), [key for key in curves if key.startswith("GPU, 512 at ")]
        times = [(seconds_to(curves[key], aim), found[key]["rate"]) for key in ours]
        reached = [seconds * rate / theirs for seconds, rate in times if seconds and theirs]
        return f"{min(reached):.3f}" if reached else "-"


class Easgd:
    """Two ranks with weights and centre on one GPU, LeNet: steps a second of each, and how many times those of the one before."""
    STRATEGIES = {"easgd_original": 1.0, "easgd_sync1": 3.7, "easgd_sync2": 1.3, "easgd_sync3": 1.1}  # the paper's factors

    def units(self, setting):
        for strategy in self.STRATEGIES:
            yield strategy, functools.partial(self.ours, strategy, setting)

    @staticmethod
    def ours(strategy, setting):
        job = write_job(setting.folder / "job.toml", {
            "data": {"format": "synthetic-digits", "train_size": 640 if setting.quick else 60000, "test_size": 10}, "model": {"name": "lenet"},
            "train": {"batch": 64, "epochs": 3, "evaluate_every": 1000000, "learning_rate": 0.001}, "node": {"devices": [setting.device]},
            "cluster": {"strategy": strategy, "replicas": 2}})
        events, why = trained(job, {}, setting)
        return {"rate": events["epoch"][-1]["examples_per_second"] / 64 if events["epoch"] else None, "why": why}

    def table(self, setting, found):
        rates = [found.get(name, {}).get("rate") for name in self.STRATEGIES]
        return ["strategy", "steps/s", "times", "the paper", ""], [
            [name, count(now), ratio(now, before), paper, found.get(name, {}).get("why", "")]
            for (name, paper), now, before in zip(self.STRATEGIES.items(), rates, [None, *rates])]


class Curve:
    """The GPU's speed curve for examples/devices, from steps of 6 layers of 512 on covtype and what `yoke doctor` measured."""
    BATCHES = (64, 256, 1024, 4096, 8192)
    WIDTHS = (54, *[512] * 6, 7)

    def units(self, setting):
        for batch in self.BATCHES[:2] if setting.quick else self.BATCHES:
            yield str(batch), functools.partial(self.ours, batch, setting)

    def ours(self, batch, setting):
        settings = {"node.devices": [setting.device], "train.batch": batch, "train.learning_rate": 1e-4, "train.epochs": 2 if setting.quick else 40}
        events, why = trained(set_job("covtype", 16 if setting.quick else 512, setting.folder), settings, setting, precision="f32")
        return {"rate": events["epoch"][-1]["examples_per_second"] if events["epoch"] else None, "why": why}

    def table(self, setting, found):
        rows = [[key, count(one["rate"]), one["why"]] for key, one in found.items()]
        points = [(int(key), int(key) / one["rate"]) for key, one in found.items() if one["rate"]]
        if len(points) > 1:
            constant, slope = fit(points)
            peak = 6 * sum(i * o for i, o in zip(self.WIDTHS, self.WIDTHS[1:])) / slope
            gpu = next((gpu for gpu in setting.doctor.get("cuda", []) if gpu["device"] == setting.device), {})
            measured = gpu.get("measured", {})
            curve = {"title": gpu.get("name", setting.device), "source": "make gpu-bench PART=curve", "operations_per_second": peak,
                     "half_batch": max(constant, 0) / slope, "bytes_per_second": measured.get("memory_bytes_per_second", 0),
                     "link_bytes_per_second": measured.get("to_device_bytes_per_second", 0)}
            rows += [["", f"{key} = {toml(value)}", ""] for key, value in curve.items()]
        return ["batch", "examples/s", ""], rows


class Hashed:
    """670,091 labels: the body on the GPU with a hashed head on the CPU, beside the CPU alone, hashed, and the GPU alone, dense."""
    BODIES = {"128": [128], "1024 1024 128": [1024, 1024, 128]}  # widths
    FORMS = {"both, 1 micro-batch": ("lsh_linear", "pipeline", {"micro_batches": 1}), "both, 2": ("lsh_linear", "pipeline", {"micro_batches": 2}),
             "both, 4": ("lsh_linear", "pipeline", {"micro_batches": 4}), "CPU": ("lsh_linear", "single", {}), "GPU, dense": ("linear", "single", {})}

    def units(self, setting):
        for body, form in itertools.product(self.BODIES, self.FORMS):
            yield f"{body}: {form}", functools.partial(self.ours, body, form, setting)

    def ours(self, body, form, setting):
        labels, (output, executor, keys) = 2000 if setting.quick else 670091, self.FORMS[form]
        first, *others = self.BODIES[body]
        layers = [{"type": "sparse_linear", "outputs": first}, {"type": "relu"}]
        for width in others:
            layers += [{"type": "linear", "outputs": width}, {"type": "relu"}]
        layers += [{"type": output, "outputs": labels}, {"type": "softmax_cross_entropy"}]
        devices = ["cpu", setting.device] if executor == "pipeline" else [setting.device if output == "linear" else "cpu"]
        job = write_job(setting.folder / "job.toml", {
            "data": {"format": "synthetic-xmc", "features": 3000 if setting.quick else 135909, "labels": labels,
                     "train_size": 512 if setting.quick else 20000, "test_size": 100 if setting.quick else 2000},
            "model": {"layer": layers}, "node": {"devices": devices, "executor": executor, **keys},
            "train": {"batch": 256, "epochs": 2 if setting.quick else 6, "rule": "adam", "learning_rate": 0.02 if output == "lsh_linear" else 0.01,
                      "schedule": {"name": "polynomial"}}})
        events, why = trained(job, {}, setting)
        if not events["epoch"]:
            return {"why": why or "no epoch in its time"}
        curve = [(epoch.get("training_seconds", 0), epoch.get("test", {}).get("p_at_1", 0)) for epoch in events["epoch"]]
        busy = events["end"][-1].get("node", {}).get("busy", {}) if events["end"] else {}
        return {"rate": events["epoch"][-1]["examples_per_second"], "curve": curve, "busy": busy, "why": why}

    def table(self, setting, found):
        def row(key):
            one = found.get(key, {})
            curve = one.get("curve", [])
            best = max((p for _, p in curve), default=None)
            reached = next((f"{seconds:.2f}" for seconds, p in curve if p >= 0.9), "-")
            busy = " ".join(f"{100 * part:.0f}" for part in one.get("busy", {}).values())
            return [*key.split(": "), count(one.get("rate")), f"{best:.4f}" if best is not None else "-", reached, busy, one.get("why", "")]

        return ["body", "on", "examples/s", "P@1", "seconds to 0.9", "busy, %", ""], [row(f"{b}: {f}") for b in self.BODIES for f in self.FORMS]


PARTS = {
    "mlp": Network("mlp", (1, 28, 28), 10, [1, 64, 512], {"widths": [512, 512]}),
    "lenet": Network("lenet", (1, 28, 28), 10, [64, 512]),
    "resnet50-32": Network("resnet50", (3, 32, 32), 10, [128]),
    "resnet18": Network("resnet18", (3, 224, 224), 1000, [128]),
    "resnet50": Network("resnet50", (3, 224, 224), 1000, [128]),
    "vgg11": Network("vgg11", (3, 224, 224), 1000, [128]),
    **{name: DataSet(name) for name in SETS},
    "easgd": Easgd(),
    "hashed": Hashed(),
    "curve": Curve(),
}
