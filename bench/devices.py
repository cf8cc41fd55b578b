#!/usr/bin/env python3
"""A CPU and a GPU together, in virtual time with real gradients (Hogbatch: Ma and Rusu 2020), and the speed curve of this CPU.

usage: bench/devices.py goal|crossover|curve [options]      --help of a part has its options

Networks of 512 sigmoid units a layer. The CPU is examples/devices/cpu-16-cores.toml, the GPU examples/devices/k80.toml.
"""
import gzip
import pathlib
import tomllib

from lib.options import main, part
from lib.places import CORES, DATA, ROOT
from lib.plot import plot
from lib.runner import DIVERGED, at_once, toml, trained, virtual, write_job
from lib.tables import print_table

CPU, GPU = (str(ROOT / f"examples/devices/{name}.toml") for name in ("cpu-16-cores", "k80"))
BOTH = ["cpu", "emulated:0"]
COVTYPE = {"format": "csv", "train": "$YOKE_DATA/covtype-20k/covtype.20k.data.xz", "normalize": "standard"}
# Data, hidden layers, and virtual seconds of a run.
SETS = {"covtype": (COVTYPE, 6, 2), "kdd99": ({"format": "libsvm", "train": "kdd99-50k.svm"}, 6, 1.2),
        "delicious": ({"format": "xmc", "train": "$YOKE_DATA/delicious/delicious_train.txt.gz"}, 8, 0.6),
        "rcv1": ({"format": "libsvm", "train": "$YOKE_DATA/rcv1-binary/rcv1_binary_train.svm.xz"}, 4, 1.2),
        "w8a": ({"format": "libsvm", "train": "$YOKE_DATA/w8a/w8a.gz"}, 8, 0.7)}


def hogwild(batch):
    return {"node.executor": "hogwild", "node.hogwild_batch": batch}


def hogbatch(cpu, device):
    return {"node.executor": "hogbatch", "node.hogbatch_cpu_batch": cpu, "node.hogbatch_device_batch": device}


def whole(executor, batch):
    return {"node.executor": executor, "train.batch": batch}


def job_of(name, data, widths, folder, **node):
    """A job that only its time limit ends."""
    model = {"name": "mlp", "widths": widths, "activation": "sigmoid", "initializer": "xavier_sigmoid"}
    train = {"epochs": 1000000, "evaluate_every": 1000000, "batch": 32, "rule": "sgd", "learning_rate": 0.05}
    return write_job(folder / f"{name}.toml", {"data": data, "model": model, "train": train, "node": {"threads": 1, **node}})


def set_job(name, width, folder):
    data, layers, _ = SETS[name]
    if name == "kdd99":
        data = {**data, "train": str(part_of_kdd99(folder / data["train"]))}
    return job_of(f"{name}-{width}", data, [width] * layers, folder)


def part_of_kdd99(to):
    """50,000 examples, evenly spaced."""
    if not to.exists():
        with gzip.open(DATA / "kdd99/kdd99_train.svm.gz", "rt") as lines:
            text = lines.readlines()
        to.write_text("".join(text[i * len(text) // 50000] for i in range(50000)))
    return to


def on_devices(job, curves, settings, runs, *words):
    """The run in virtual time on devices with these curves: {device: file}."""
    settings = {"node.devices": list(curves), "node.device_timeout": PATIENCE, **settings}
    return virtual(job, {}, settings, runs, *(f"--device={device}={file}" for device, file in curves.items()), *words, accept=[DIVERGED])


# Devices, keys of the job, and the rates tried. A rate r/n is that of an update of n examples or more; one of b < n takes b/n of it.
PATIENCE = 86400  # real seconds for a batch: this machine may be busy
PAPER = {"node.form": "paper"}
BY_PART = ["0.64/4096", "0.64/2048", "0.64/1024"]
METHODS = {"CPU, 1 a thread": (["cpu"], hogwild(1), ["0.08/16", "0.32/16"]),
           "CPU, 64 a thread": (["cpu"], hogwild(64), BY_PART),
           "GPU, 8192": (BOTH[1:], whole("single", 8192), ["0.4", "0.8"]),
           "GPU, 512": (BOTH[1:], whole("single", 512), ["0.2", "0.4", "0.8"]),
           "GPU, 128": (BOTH[1:], whole("single", 128), ["0.2", "0.4"]),
           "split, 512": (BOTH, whole("split", 512), ["0.2", "0.4"]),
           "split, 2048": (BOTH, whole("split", 2048), ["0.4", "0.8"]),
           "hogbatch, 1 and 8192": (BOTH, {**hogbatch(1, 8192), **PAPER}, ["0.02/1", "0.1/5", "0.4/80", "0.8/40"]),
           "hogbatch, 64 and 512": (BOTH, hogbatch(64, 512), BY_PART),
           "adaptive_hogbatch": (BOTH, {"node.executor": "adaptive_hogbatch", **PAPER},
                                 BY_PART)}
SMOOTH = 4096  # examples over which a loss is averaged


def losses_of(job, method, rate, seconds, arguments):
    """(virtual seconds, examples, mean loss, busy seconds of each device) along a run, and the run; empty if it diverged at once."""
    devices, keys, _ = METHODS[method]
    value, _, examples = rate.partition("/")
    settings = {"train.batch": int(examples or 1), **keys, "train.learning_rate": float(value), "train.time_limit": f"{seconds}s"}
    curves = {device: {"cpu": arguments.cpu, "emulated:0": arguments.gpu}[device] for device in devices}
    speeds = "-".join(pathlib.Path(curve).stem for curve in curves.values())
    file = arguments.runs / f"{job.stem}-{speeds}-{method}-{rate.replace('/', '-of-')}-{seconds}.losses".replace(" ", "-")
    run = on_devices(job, curves, settings, arguments.runs, f"--losses={file}")
    points = [tuple(map(float, line.split())) for line in file.read_text().splitlines()] if file.exists() else []
    return points, run


def smooth(points):
    """(seconds, mean loss of SMOOTH examples, or of an eighth of the run if that is less)."""
    enough = min(SMOOTH, sum(point[1] for point in points) / 8)
    curve, examples, total = [], 0.0, 0.0
    for seconds, count, loss, *_ in points:
        examples, total = examples + count, total + count * loss
        if examples >= enough:
            curve.append((seconds, total / examples))
            examples = total = 0.0
    return curve


def seconds_to(curve, goal):
    return next((seconds for seconds, loss in curve if loss <= goal), None)


def best_curves(results):
    """(goal, {method: its best rate}, {method: its curve}); results: points and run by method and rate."""
    curves = {key: smooth(points) for key, (points, run) in results.items() if points and not run.diverged}
    first = min(points[0][2] for points, _ in results.values() if points)  # before it has learned or diverged
    steady = [key for key in curves if sum(point[1] for point in results[key][0]) >= 8 * SMOOTH] or list(curves)  # with little noise
    goal = first - 0.95 * (first - min(loss for key in steady for _, loss in curves[key]))
    rates = {}
    for method, rate in (key for key, curve in curves.items() if curve):
        rates[method] = min(rates.get(method, rate), rate,
                            key=lambda one: (seconds_to(curves[method, one], goal) or 1e9, curves[method, one][-1][1]))
    return goal, rates, {method: curves[method, rate] for method, rate in rates.items()}


@part(sets=list(SETS), methods=list(METHODS), seconds=0.0, width=512, jobs=CORES, cpu=CPU, gpu=GPU, plots="",
      quick={"sets": ["w8a"], "methods": ["GPU, 512", "hogbatch, 64 and 512"], "seconds": 0.1, "width": 32})
def goal(arguments):
    """Virtual seconds until the loss has gone 0.95 of the way from the first to the lowest of all runs of the set, at the best of some rates.

    Runs last --seconds, or as long as their set needs. --plots DIR gets DIR/SET.svg."""
    found = {}
    for name in arguments.sets:
        job, seconds = set_job(name, arguments.width, arguments.runs), arguments.seconds or SETS[name][2]
        keys = [(method, rate) for method in arguments.methods for rate in METHODS[method][2]]
        runs = at_once(lambda key: losses_of(job, *key, seconds, arguments), keys, arguments.jobs)
        goal, _, curves = best_curves(dict(zip(keys, runs)))
        found[name] = goal, curves
        if arguments.plots:
            thin = {method: curve[::max(1, len(curve) // 300)] for method, curve in found[name][1].items()}
            pathlib.Path(arguments.plots, f"{name}.svg").write_text(plot({name: thin}, "Loss", x_log=False, below="virtual seconds"))

    def cell(method, name):
        aim, curves = found[name]
        if method not in curves:
            return "diverged"
        reached = seconds_to(curves[method], aim)
        return f"{reached:.3f}" if reached else f"> {curves[method][-1][0]:.2f}"

    print_table(["", *found], [["goal", *(f"{aim:.3f}" for aim, _ in found.values())],
                               *([method, *(cell(method, name) for name in found)] for method in arguments.methods)])
    return "virtual times, one run each"


def faster(ratio, folder):
    """The GPU's curve as a file, its peak and memory so much faster that its peak is `ratio` times the CPU's; launches and link stay."""
    with open(GPU, "rb") as gpu, open(CPU, "rb") as cpu:
        curve, times = tomllib.load(gpu), ratio * tomllib.load(cpu)["operations_per_second"]
    times /= curve["operations_per_second"]
    return write_curve(folder / f"gpu-{ratio}.toml", {key: value * times if key in ("operations_per_second", "bytes_per_second") else value
                                                      for key, value in curve.items()})


def write_curve(path, curve):
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in curve.items()))
    return path


@part(sets=["covtype", "w8a"], widths=[128, 512, 1024], ratios=[1, 3, 10, 30, 100, 300], batch=2048,
      quick={"sets": ["covtype"], "widths": [128], "ratios": [1, 10]})
def crossover(arguments):
    """From which ratio of peaks on a CPU beside a GPU stops paying: examples a second divided by those of the GPU alone.

    split, and hogbatch with 64 a CPU thread, all of --batch. Both of split's devices work for the same update as single's, so its gain is
    one in time to a loss; hogbatch's is one in examples only."""
    def examples_per_second(job, ratio, devices, keys):
        curves = {"cpu": CPU, "emulated:0": faster(ratio, arguments.runs)}
        run = on_devices(job, {device: curves[device] for device in devices}, {"train.learning_rate": 1e-4, "train.epochs": 2, **keys}, arguments.runs)
        first, second = (epoch["seconds"] for epoch in run.epochs)  # in the first, split finds the devices' speeds
        return run.start["train_examples"] / (second - first)

    def rows():
        methods = {f"split, {arguments.batch}": whole("split", arguments.batch),
                   f"hogbatch, 64 and {arguments.batch}": {**hogbatch(64, arguments.batch), "train.batch": 2048}}
        for name in arguments.sets:
            for width in arguments.widths:
                job = set_job(name, width, arguments.runs)
                alone = {ratio: examples_per_second(job, ratio, BOTH[1:], whole("single", arguments.batch)) for ratio in arguments.ratios}
                for method, keys in methods.items():
                    yield [f"{name}, {SETS[name][1]} x {width}", method,
                           *(f"{examples_per_second(job, ratio, BOTH, keys) / alone[ratio]:.2f}" for ratio in arguments.ratios)]

    print_table(["", "", *(f"{ratio}x" for ratio in arguments.ratios)], rows())
    return "virtual times, one run each"


def fit(points):
    """a and c of seconds = a + c b, by least squares of relative errors; points: (b, seconds)."""
    w = [1 / s ** 2 for _, s in points]
    total, wb = sum(w), sum(x * b for x, (b, _) in zip(w, points))
    wbb, ws = sum(x * b * b for x, (b, _) in zip(w, points)), sum(x * s for x, (_, s) in zip(w, points))
    wbs = sum(x * b * s for x, (b, s) in zip(w, points))
    c = (total * wbs - wb * ws) / (total * wbb - wb * wb)
    return (ws - c * wb) / total, c


@part(seconds=5.0, layers=6, quick={"seconds": 0.3})
def curve(arguments):
    """Fits the speed curve of one CPU thread, and of the memory that threads share (examples/devices/cpu-16-cores.toml).

    hogwild on covtype, updates of 1 to 256 examples by 1 and by 2 threads: one of b examples takes bytes / bandwidth + b operations / peak.
    Bytes are the weights, read twice, and the gradient, written once and applied."""
    job = job_of("curve", COVTYPE, [512] * arguments.layers, arguments.runs)
    widths = [54, *[512] * arguments.layers, 7]
    weights = sum(i * o for i, o in zip(widths, widths[1:]))
    for threads in (1, 2):
        speeds = {}
        for size in (1, 4, 16, 64, 256):
            end = trained(job, {**hogwild(size), "train.batch": 256}, arguments.runs, "--threads", threads, "--time-limit", f"{arguments.seconds}s").end
            speeds[size] = end["epochs"] * 20000 / end["seconds"]
            print(f"{threads} thread(s), {size} examples an update: {speeds[size]:.0f} examples/s", flush=True)
        constant, slope = fit([(size, threads * size / speed) for size, speed in speeds.items()])
        print(f"{threads} thread(s): operations_per_second {6 * weights / slope:.3g} a thread, "
              f"bytes_per_second {threads * 6 * 4 * weights / constant:.3g} of all")
    return f"{arguments.seconds} s each"


if __name__ == "__main__":
    main(__doc__)
