#!/usr/bin/env python3
"""Time to a training loss on a CPU and a GPU together, in virtual time with real gradients (Hogbatch: Ma and Rusu 2020, figures 5 to 8).

usage: devices_table.py OUT [--sets covtype,w8a,...] [--seconds V] [--jobs N] [--cpu FILE] [--gpu FILE]

Trains the paper's networks (512 sigmoid units a layer) with each executor and some learning rates for V virtual seconds, two
at a time, and prints the table of docs/executors/cpu-and-gpu.md. OUT keeps the runs; those that are there are not run again.
Draws OUT/SET.svg. The goal is 0.95 of the loss range: from the first loss to the lowest of all runs of the set.
"""
import explain  # noqa: F401
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess

from job_runs import DATA, ROOT, require_accepted

PROGRAM = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release")) / "bench/virtual_run"
COLUMNS = 'format = "libsvm"\ntrain = "{}"'
# Data, hidden layers, and virtual seconds of a run.
SETS = {"covtype": ('format = "csv"\ntrain = "$YOKE_DATA/covtype-20k/covtype.20k.data.xz"\nnormalize = "standard"', 6, 2),
        "w8a": (COLUMNS.format("$YOKE_DATA/w8a/w8a.gz"), 8, 0.7),
        "delicious": ('format = "xmc"\ntrain = "$YOKE_DATA/delicious/delicious_train.txt.gz"', 8, 0.6),
        "rcv1": (COLUMNS.format("$YOKE_DATA/rcv1-binary/rcv1_binary_train.svm.xz"), 4, 1.2),
        "kdd99": (COLUMNS.format("{out}/kdd99-50k.svm"), 6, 1.2)}
BOTH = ["cpu", "emulated:0"]
def hogwild(batch):
    return {"node.executor": "hogwild", "node.hogwild_batch": batch}


def hogbatch(cpu, device):
    return {"node.executor": "hogbatch", "node.hogbatch_cpu_batch": cpu, "node.hogbatch_device_batch": device}


def whole(executor, batch):
    return {"node.executor": executor, "train.batch": batch}


# Devices, keys of the job, and the rates tried. A rate r/n is that of an update of n examples or more; one of b < n takes b/n of it.
WAYS = {"CPU, 1 a thread": (["cpu"], hogwild(1), ["0.08/16", "0.32/16"]),
        "CPU, 64 a thread": (["cpu"], hogwild(64), ["0.64/4096", "0.64/2048", "0.64/1024"]),
        "GPU, 8192": (["emulated:0"], whole("single", 8192), ["0.4", "0.8"]),
        "GPU, 512": (["emulated:0"], whole("single", 512), ["0.2", "0.4", "0.8"]),
        "GPU, 128": (["emulated:0"], whole("single", 128), ["0.2", "0.4"]),
        "split, 512": (BOTH, whole("split", 512), ["0.2", "0.4"]),
        "split, 2048": (BOTH, whole("split", 2048), ["0.4", "0.8"]),
        "hogbatch, 1 and 8192": (BOTH, hogbatch(1, 8192), ["0.02/1", "0.1/5", "0.4/80", "0.8/40"]),
        "hogbatch, 64 and 512": (BOTH, hogbatch(64, 512), ["0.64/4096", "0.64/2048", "0.64/1024"]),
        "adaptive_hogbatch": (BOTH, {"node.executor": "adaptive_hogbatch", "node.adaptive_cpu_most": 64, "node.hogbatch_device_batch": 8192},
                              ["0.64/4096", "0.64/2048", "0.64/1024"])}
SMOOTH = 4096  # examples over which a loss is averaged


def job_text(data, layers, out):
    widths = ", ".join(["512"] * layers)
    return (f'[data]\n{data.replace("{out}", str(out))}\n[model]\nname = "mlp"\nwidths = [{widths}]\nactivation = "sigmoid"\n'
            'initializer = "xavier_sigmoid"\n[train]\nepochs = 1000000\nevaluate_every = 1000000\nbatch = 32\nrule = "sgd"\nlearning_rate = 1.0\n'
            "[checkpoint]\nevery_epochs = 0\n[node]\nthreads = 1\n")


def part_of_kdd99(to):
    """50,000 examples, evenly spaced."""
    if to.exists():
        return
    with gzip.open(DATA / "kdd99/kdd99_train.svm.gz", "rt") as lines:
        text = lines.readlines()
    to.write_text("".join(text[i * len(text) // 50000] for i in range(50000)))


def run(arguments, name, way, rate, seconds):
    """The lines of a run: virtual seconds, examples, mean loss; and its end event."""
    devices, keys, _ = WAYS[way]
    value, _, examples = rate.partition("/")
    folder = arguments.out / f"{name}-{way}-{rate}".replace(" ", "_").replace(",", "").replace("/", "_of_")
    losses, done = folder.with_name(folder.name + ".losses"), folder.with_name(folder.name + ".done")
    if not done.exists():
        subprocess.run(["rm", "-rf", folder], check=True)
        words = [PROGRAM, arguments.out / f"{name}.toml", "--run", folder, "--losses", losses]
        curves = {"cpu": arguments.cpu, "emulated:0": arguments.gpu}
        words += [f"--device={device}={curves[device]}" for device in devices]
        settings = {"train.batch": int(examples or 1), **keys, "node.devices": devices, "train.learning_rate": float(value), "train.time_limit": f"{seconds}s"}
        words += [f"--set={key}={json.dumps(value)}" for key, value in settings.items()]
        require_accepted(subprocess.run(list(map(str, words)), env={**os.environ, "YOKE_DATA": str(DATA)}, stdout=subprocess.DEVNULL))
        done.touch()
    points = [tuple(map(float, line.split())) for line in losses.read_text().splitlines()] if losses.exists() else []
    ends = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines() if '"event":"end"' in line]
    return points, (ends[-1] if ends else {"reason": "none"})


def smooth(points):
    """(seconds, mean loss of SMOOTH examples, or of an eighth of the run if that is less)."""
    enough = min(SMOOTH, sum(count for _, count, _ in points) / 8)
    curve, examples, total = [], 0.0, 0.0
    for seconds, count, loss in points:
        examples, total = examples + count, total + count * loss
        if examples >= enough:
            curve.append((seconds, total / examples))
            examples = total = 0.0
    return curve


def seconds_to(curve, goal):
    return next((seconds for seconds, loss in curve if loss <= goal), None)


def table(name, results):
    """Prints the set's table; results by way and rate."""
    curves = {key: smooth(points) for key, (points, end) in results.items() if end["reason"] != "diverged"}
    first = min(points[0][2] for points, _ in results.values() if points)  # before it has learned or diverged
    steady = [key for key in curves if sum(count for _, count, _ in results[key][0]) >= 8 * SMOOTH]  # means with little noise
    lowest = min(loss for key in steady for _, loss in curves[key])
    goal = first - 0.95 * (first - lowest)
    print(f"\n{name}: loss {first:.3f} to {lowest:.3f}, goal {goal:.3f}\n")
    print("| | rate | seconds | loss at the end | updates, CPU : GPU | CPU's part | busy, CPU / GPU | mean staleness |\n|" + " --- |" * 8)
    best = {}
    for way in WAYS:
        mine = {rate: curve for (each, rate), curve in curves.items() if each == way and curve}
        if not mine:
            print(f"| {way} | | diverged at every rate | | | | | |")
            continue
        rate = min(mine, key=lambda rate: (seconds_to(mine[rate], goal) or 1e9, mine[rate][-1][1]))
        reached, node = seconds_to(mine[rate], goal), results[way, rate][1].get("node", {})
        best[way] = mine[rate]
        by = [""] * 4
        if node:
            counts = [node["updates"][device] for device in BOTH]
            by = [f"{counts[0]} : {counts[1]}", f"{counts[0] / max(1, sum(counts)):.2f}",
                  " / ".join(f"{100 * node['busy'][device]:.0f} %" for device in BOTH),
                  " / ".join(f"{node['staleness'][device]:.1f}" for device in BOTH)]
        last = mine[rate][-1]
        print(f"| {way} | {rate} | {f'{reached:.3f}' if reached else f'> {last[0]:.2f}'} | {last[1]:.3f} | " + " | ".join(by) + " |")
    return best


def draw(path, title, curves):
    """Loss over virtual seconds, a line a way."""
    from slide_plot import text
    colours = ["#7fb2d9", "#1b6ca8", "#f0c0b0", "#e07a5f", "#a03008", "#b8b8b8", "#6a6a6a", "#f0c060", "#c08a10", "#3a7d44"]
    width, height = 860, 400
    most_seconds = max(point[0] for curve in curves.values() for point in curve)
    losses = [point[1] for curve in curves.values() for point in curve]
    low, high = min(losses), max(losses)
    x_of, y_of = lambda s: 60 + 780 * s / most_seconds, lambda l: 40 + 300 * (high - l) / max(1e-9, high - low)
    lines = [text(60, 24, title, "start", 'font-weight="bold"'), text(450, 392, "virtual seconds")]
    for i in range(5):
        second, loss = most_seconds * i / 4, low + (high - low) * i / 4
        lines += [text(x_of(second), 358, f"{second:.3g}"), text(54, y_of(loss) + 4, f"{loss:.3g}", "end"),
                  f'<path d="M60 {y_of(loss):.1f}H840" stroke="#e4e4e4"/>']
    for i, (way, curve) in enumerate(curves.items()):
        thin = curve[::max(1, len(curve) // 300)]
        path_data = "M" + "L".join(f"{x_of(s):.1f} {y_of(l):.1f}" for s, l in thin)
        lines += [f'<path d="{path_data}" fill="none" stroke="{colours[i]}" stroke-width="1.8"/>',
                  f'<path d="M620 {52 + 16 * i}h20" stroke="{colours[i]}" stroke-width="2.5"/>', text(646, 56 + 16 * i, way, "start")]
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
                    '<rect width="100%" height="100%" fill="#fff"/>' + "\n".join(lines) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seconds", type=float, help="virtual, of each run")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", default=ROOT / "examples/devices/cpu-16-cores.toml")
    parser.add_argument("--gpu", default=ROOT / "examples/devices/k80.toml")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets.split(","):
        data, layers, seconds = SETS[name]
        if name == "kdd99":
            part_of_kdd99(arguments.out / "kdd99-50k.svm")
        (arguments.out / f"{name}.toml").write_text(job_text(data, layers, arguments.out))
        keys = [(way, rate) for way, (_, _, rates) in WAYS.items() for rate in rates]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            done = pool.map(lambda key: run(arguments, name, *key, arguments.seconds or seconds), keys)
            results = dict(zip(keys, done))
        draw(arguments.out / f"{name}.svg", name, table(name, results))


if __name__ == "__main__":
    main()
