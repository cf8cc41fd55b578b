#!/usr/bin/env python3
"""SLIDE against the dense softmax of the same network: P@1, P@3, P@5 and P@1 over time, as Markdown and as an SVG.

usage: bench/slide_accuracy.py --data citeulike|delicious [--seeds N] [--threads N] [--svg FILE] [--json FILE] [--only WORDS]
                               [--cpu]

The network is the zoo's xmc (sparse features -> 128 -> relu -> softmax over all labels, targets 1/|labels|); every P@k is exact,
over all labels of the test examples. Each series stands with the best settings that a search with seed 1 found for it (rates,
batches, schedules, epochs; for SLIDE also group, counts and correction); see docs/slide.md. Of each run the epoch with the best
P@1 counts. --json keeps the runs: what FILE already holds is not run again. Data lies in $YOKE_DATA, the program as
bench/slide_jobs.py says.
"""
import explain  # noqa: F401
import argparse
import dataclasses
import gzip
import json
import math
import pathlib
import tempfile

import slide_jobs
import slide_plot
from job_runs import DATA

METRICS = ("p_at_1", "p_at_3", "p_at_5")
DECAY = {"name": "polynomial"}  # Linear, to zero after the last epoch.


@dataclasses.dataclass
class Series:
    """One side of the comparison. lsh: options of the hashed layer; None: dense."""
    lsh: dict | None
    epochs: int
    batch: int
    learning_rate: float
    precision: str = "f32"
    schedule: dict | None = None

    def job(self, data):
        more = {"schedule": self.schedule} if self.schedule else {}
        return slide_jobs.xmc_job(data, epochs=self.epochs, batch=self.batch, learning_rate=self.learning_rate, lsh=self.lsh,
                                  precision=self.precision, **more)


def scaled_rows(name, length, folder):
    """The set with every example's features scaled to this Euclidean length, as a data section."""
    parts = {}
    for part in ("train", "test"):
        parts[part] = folder / f"{name}_{part}.txt"
        source = DATA / name / f"{name}_{part}.txt.gz"
        with gzip.open(source, "rt") as lines, open(parts[part], "w", encoding="utf-8") as out:
            out.write(next(lines))
            for line in lines:
                labels, *features = line.rstrip("\n").split(" ")
                pairs = [feature.split(":") for feature in features if feature]
                norm = math.sqrt(sum(float(value) ** 2 for _, value in pairs)) or 1.0
                out.write(" ".join([labels] + [f"{i}:{float(value) * length / norm:.6g}" for i, value in pairs]) + "\n")
    return {"format": "xmc", **parts}


def run_all(series, data, arguments):
    """{name: [curve of a seed, ...]}; a curve is a list of [epoch, training seconds, P@1, P@3, P@5]."""
    stored = pathlib.Path(arguments.json) if arguments.json else None
    curves = json.loads(stored.read_text()) if stored and stored.exists() else {}
    for name, one in series.items():
        for seed in range(1, arguments.seeds + 1):
            key = f"{name}, seed {seed}"
            if key in curves or (arguments.only and arguments.only not in name):
                continue
            run = slide_jobs.train(one.job(data), threads=arguments.threads, seed=seed)
            curves[key] = [[e.epoch, e.train_seconds] + [e.test[m] for m in METRICS] for e in run.epochs]
            print(f"{key}: P@1 {run.best().test['p_at_1']:.4f} after {run.best().train_seconds:.1f} s", flush=True)
            if stored:
                stored.write_text(json.dumps(curves))
    found = {name: [curves[f"{name}, seed {s}"] for s in range(1, arguments.seeds + 1) if f"{name}, seed {s}" in curves]
             for name in series}
    return {name: one for name, one in found.items() if one}


def cpu_of_epoch(one, data, threads):
    """CPU seconds of an epoch's training: of two epochs less those of one, each evaluated once."""
    job = one.job(data)
    short, long = (slide_jobs.train(job | {"train": job["train"] | {"epochs": n, "evaluate_every": n}}, threads=threads) for n in (1, 2))
    return long.cpu_seconds - short.cpu_seconds


def at_pace(curves, series, data, arguments):
    """The same curves with CPU seconds for seconds."""
    stored = pathlib.Path(arguments.json + ".cpu") if arguments.json else None
    paces = json.loads(stored.read_text()) if stored and stored.exists() else {}
    for name in curves:
        paces[name] = paces.get(name) or cpu_of_epoch(series[name], data, arguments.threads)
        print(f"{name}: {paces[name]:.2f} CPU seconds an epoch", flush=True)
        if stored:
            stored.write_text(json.dumps(paces))
    return {name: [[[row[0], row[0] * paces[name], *row[2:]] for row in curve] for curve in one] for name, one in curves.items()}


def best_row(curve):
    return max(curve, key=lambda row: row[2])


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """Mean and half the range."""
    return f"{mean(values):.4f} ± {(max(values) - min(values)) / 2:.4f}"


def results(series, curves, outputs):
    """The table of best P@k; the gap is to the best dense mean of each metric, whichever its epoch."""
    seeds = max(map(len, curves.values()))
    dense = [one for name, one in curves.items() if series[name].lsh is None and len(one) == seeds]
    goal = [max((mean([max(row[k] for row in curve) for curve in one]) for one in dense), default=0) for k in (2, 3, 4)]
    lines = ["| | active besides labels | seeds | P@1 | P@3 | P@5 | points under the best dense P@1, P@3, P@5 | best epoch | seconds to it "
             "| seconds to 1 point under dense |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, one in curves.items():
        rows = [best_row(curve) for curve in one]
        gaps = ", ".join(f"{100 * (goal[k - 2] - mean([r[k] for r in rows])):.1f}" for k in (2, 3, 4))
        reached = next((f"{seconds:.1f}" for seconds, value in mean_curve(one) if value >= goal[0] - 0.01), "-")
        lines.append(f"| {name} | {active(series[name].lsh, outputs)} | {len(one)} | " + " | ".join(spread([r[k] for r in rows]) for k in (2, 3, 4)) +
                     f" | {gaps} | {', '.join(str(r[0]) for r in rows)} | {mean([r[1] for r in rows]):.1f} | {reached} |")
    return lines


def active(lsh, outputs):
    """Words on how many outputs a step computes for an example."""
    if lsh is None:
        return f"all {outputs}"
    count = lsh.get("hard", 0) + lsh["random"]
    return f"{count} ({100 * count / outputs:.1f} %)"


def over_time(curves, marks):
    """The table of P@1 after so many seconds: the mean over seeds of the best so far."""
    lines = ["| P@1 after seconds | " + " | ".join(f"{t:g}" for t in marks) + " |", "| --- |" + " --- |" * len(marks)]
    for name, one in curves.items():
        cells = []
        for t in marks:
            values = [max((row[2] for row in curve if row[1] <= t), default=None) for curve in one]
            cells.append("" if None in values else f"{mean(values):.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def mean_curve(curves):
    """Points (seconds, P@1) by epoch, means over seeds."""
    return [(mean([row[1] for row in rows]), mean([row[2] for row in rows])) for rows in zip(*curves)]


def settings_table(series):
    lines = ["| | batch | rate (Adam) | schedule | epochs | hashed layer |", "| --- | --- | --- | --- | --- | --- |"]
    for name, one in series.items():
        schedule = "linear to 0" if one.schedule else "constant"
        lsh = "" if one.lsh is None else ", ".join(f"{k} = {slide_jobs.toml(v)}" for k, v in one.lsh.items())
        lines.append(f"| {name} | {one.batch} | {one.learning_rate:g} | {schedule} | {one.epochs} | {lsh} |")
    return lines


# What the searches found.

def citeulike():
    dense = {"lsh": None, "epochs": 8, "batch": 256, "learning_rate": 4e-3, "schedule": DECAY}
    many = {"epochs": 7, "batch": 256, "learning_rate": 5e-3, "schedule": DECAY}
    few = {"epochs": 6, "batch": 256, "learning_rate": 3e-3, "schedule": DECAY}
    hashed = {"family": "dwta", "hard": 512}
    series = {
        "dense f32": Series(**dense),
        "dense bf16": Series(**dense, precision="bf16"),
        "SLIDE shared": Series(lsh=hashed | {"group": 32, "random": 4096, "correct": True}, **many),
        "SLIDE shared, uniform": Series(lsh={"sampler": "uniform", "group": 32, "random": 4608, "correct": True}, **many),
        "SLIDE shared, few": Series(lsh=hashed | {"group": 64, "random": 512}, **few),
        "SLIDE shared, few, uniform": Series(lsh={"sampler": "uniform", "group": 64, "random": 1024}, **few),
        "SLIDE per example": Series(lsh=hashed | {"group": 1, "random": 512, "correct": True}, **(many | {"learning_rate": 4e-3})),
    }
    return {"data": "citeulike-t", "length": 3, "outputs": 52946, "series": series, "marks": (2, 4, 8, 16, 32, 64, 128)}


def delicious():
    common = {"epochs": 12, "batch": 64, "learning_rate": 1e-3}
    hashed = {"family": "dwta", "hard": 66, "random": 131, "correct": True}
    series = {
        "dense f32": Series(lsh=None, **common),
        "dense bf16": Series(lsh=None, precision="bf16", **common),
        "SLIDE shared": Series(lsh=hashed | {"group": 64}, **common),
        "SLIDE shared, uniform": Series(lsh={"group": 64, "sampler": "uniform", "random": 197, "correct": True}, **common),
        "SLIDE per example": Series(lsh=hashed | {"group": 1}, **common),
    }
    return {"data": "delicious", "length": None, "outputs": 983, "series": series, "marks": (0.5, 1, 2, 4, 8)}


SETS = {"citeulike": citeulike, "delicious": delicious}


def arguments_of_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=SETS, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--svg", help="file for the plot")
    parser.add_argument("--json", help="file that keeps the runs")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds for seconds: for a machine that other work shares, with --threads 1")
    parser.add_argument("--only", help="run only series whose name holds this")
    return parser.parse_args()


def main():
    arguments = arguments_of_line()
    chosen = SETS[arguments.data]()
    series = chosen["series"]
    with tempfile.TemporaryDirectory(prefix="yoke-slide-") as folder:
        data = scaled_rows(chosen["data"], chosen["length"], pathlib.Path(folder)) if chosen["length"] else chosen["data"]
        curves = run_all(series, data, arguments)
        if arguments.cpu:
            curves = at_pace(curves, series, data, arguments)
    print("\n".join([""] + settings_table(series) + [""] + results(series, curves, chosen["outputs"]) + [""] +
                    over_time(curves, chosen["marks"])))
    if arguments.svg:
        kind = "CPU seconds" if arguments.cpu else "seconds"
        title = f"{chosen['data']}: exact P@1 over {kind} of training, {arguments.threads} thread(s), mean of {arguments.seeds} seeds"
        lines = {name: mean_curve(one) for name, one in curves.items()}
        best = max(y for one in lines.values() for _, y in one)
        pathlib.Path(arguments.svg).write_text(slide_plot.plot(lines, title, low=best - 0.2), encoding="utf-8")


if __name__ == "__main__":
    main()
