"""The scaling parts of slide_speed.py: time over the number of labels, over touched rows, over threads, and memory."""
import itertools
import json
import pathlib
import statistics
import struct
import sys
import tempfile
import time

import slide_jobs

SAMPLERS = ("lsh", "uniform")


def synthetic(labels, examples, test=0, features=135909):
    """A data section in the shape of Amazon-670K, with this many labels."""
    return {
        "format": "synthetic-xmc",
        "features": features,
        "labels": labels,
        "train_size": examples,
        "test_size": test,
        "nonzeros": 75,
        "labels_per_example": 5
    }


def options_of(sampler, active=0, **more):
    """Options of the hashed layer with this many ids active besides labels, a third found by hashing; 0: its default."""
    lsh = {"sampler": "uniform"} if sampler == "uniform" else {}
    if active:
        hard = active // 3 if sampler == "lsh" else 0
        lsh |= {"hard": hard, "random": active - hard}
    return lsh | more


def microseconds(run):
    """Training time of an example: the median over the epochs after the first, which builds the first tables too."""
    epochs = run.epochs[1:] or run.epochs
    return statistics.median(1e6 / epoch.examples_per_second for epoch in epochs)


def first_epoch(run):
    """Seconds of the first epoch, first tables included."""
    return run.epochs[0].train_seconds


def markdown(header, rows):
    """Lines of a table."""
    return ["| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows]]


def say(words):
    """Progress, apart from the tables."""
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def job_for(sampler, labels, active, arguments, **more):
    """A job that measures time alone: no test data."""
    return slide_jobs.xmc_job(synthetic(labels, arguments.examples),
                              epochs=arguments.epochs,
                              batch=256,
                              learning_rate=1e-3,
                              lsh=options_of(sampler, active, **more))


def in_rounds(cases, rounds, measure):
    """{case: [result of each round]}; every round goes through all cases, so that what disturbs one disturbs all."""
    cases = list(cases)
    results = {case: [] for case in cases}
    for number, case in itertools.product(range(rounds), cases):
        results[case].append(measure(*case))
        say(f"round {number + 1}: {' '.join(map(str, case))}: {results[case][-1]}")
    return results


def sublinear(arguments):
    """Time an example over the number of labels, the active number fixed, tables rebuilt all the time. Takes up to 11 GB."""
    def measure(sampler, labels):
        lsh = {"rehash": "fixed"} if sampler == "lsh" else {}
        run = slide_jobs.train(job_for(sampler, labels, arguments.active, arguments, **lsh), threads=arguments.threads)
        return round(microseconds(run), 2), round(first_epoch(run), 3)

    sizes = arguments.labels
    results = in_rounds(itertools.product(SAMPLERS, sizes), arguments.rounds, measure)
    medians = {case: statistics.median(us for us, _ in rounds) for case, rounds in results.items()}
    rows = [[f"{n:,}"] + [f"{medians[s, n]:.1f}"
                          for s in SAMPLERS] + [f"{statistics.median(first for _, first in results['lsh', n]):.2f}"]
            for n in sizes]
    lines = markdown(["labels", "lsh, us an example", "uniform, us an example", "lsh: first epoch with its tables, s"],
                     rows)
    judged = [n for n in sizes if n >= 200_000] or sizes
    growth = {s: medians[s, judged[-1]] / medians[s, judged[0]] for s in SAMPLERS}
    lines += [
        "",
        f"{arguments.active} active besides labels, {arguments.examples} examples. From {judged[0]:,} to {judged[-1]:,} labels: "
        + ", ".join(f"{s} {g:.2f}x" for s, g in growth.items()) + " (target < 1.5x)."
    ]
    return lines, {"growth": growth, "results": listed(results)}


def listed(results):
    """Results with plain keys, for JSON."""
    return [{"case": list(case), "rounds": rounds} for case, rounds in results.items()]


def tensor_sum(path, name):
    """The sum of an i32 tensor of a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        tensor = json.loads(file.read(size))[name]
        first, last = tensor["data_offsets"]
        file.seek(8 + size + first)
        return sum(count for (count,) in struct.iter_unpack("<i", file.read(last - first)))


def touched_rows(folder):
    """Rows of the hashed layer that the optimizer updated, a step: each row's own clock, added up, over steps."""
    step = json.loads((folder / "run/summary.json").read_text(encoding="utf-8"))["step"]
    return tensor_sum(folder / f"run/checkpoints/{step}/optimizer.safetensors", "lsh_linear1.weight.row_steps") / step


def dense_update(labels, count):
    """Microseconds an example of Adam over all rows, by PyTorch's fused kernel; None without PyTorch."""
    try:
        import torch  # late: everything else works without it
    except ImportError:
        return None
    torch.set_num_threads(count)
    weight = torch.nn.Parameter(torch.zeros(labels, 128))
    weight.grad = torch.ones_like(weight)
    adam = torch.optim.Adam([weight], fused=True)
    taken = []
    for _ in range(6):
        start = time.perf_counter()
        adam.step()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:]) * 1e6 / 256


def optimizer(arguments):
    """Rows that a step updates, counted, against time, for several active numbers and sizes of the layer."""
    def measure(sampler, labels, active):
        with tempfile.TemporaryDirectory(prefix="yoke-slide-") as name:
            folder = pathlib.Path(name)
            run = slide_jobs.train(job_for(sampler, labels, active, arguments), threads=arguments.threads, keep=folder)
            return round(microseconds(run), 2), round(touched_rows(folder), 1)

    results = in_rounds(itertools.product(SAMPLERS, arguments.labels, arguments.actives), arguments.rounds, measure)
    rows = []
    for (sampler, labels, active), rounds in results.items():
        us, touched = (statistics.median(column) for column in zip(*rounds))
        rows.append([
            sampler, f"{labels:,}", active, f"{touched:,.0f}", f"{100 * touched / labels:.2f} %", f"{us:.1f}",
            f"{1000 * us * 256 / touched:.0f}"
        ])
    lines = markdown([
        "sampler", "rows of the layer", "active besides labels", "rows updated a step", "of all", "us an example",
        "ns an updated row, all stages"
    ], rows)
    full = {labels: dense_update(labels, arguments.threads) for labels in arguments.labels}
    lines += [
        "",
        "Counted: the optimizer's own clocks of all rows after the run, over its steps. A step has 256 examples. An update of all "
        "rows alone, by PyTorch's fused Adam in this run: " + ", ".join(
            f"{n:,} rows {us:.0f} us an example" if us else f"{n:,} rows: no PyTorch here" for n, us in full.items()) +
        "."
    ]
    return lines, {"results": listed(results), "dense_update_us": full}


def threads(arguments):
    """Time an example over threads."""
    def measure(sampler, count):
        return round(
            microseconds(
                slide_jobs.train(job_for(sampler, arguments.labels[0], arguments.active, arguments), threads=count)), 2)

    results = in_rounds(itertools.product(SAMPLERS, arguments.counts), arguments.rounds, measure)
    medians = {case: statistics.median(rounds) for case, rounds in results.items()}
    rows = []
    for count in arguments.counts:
        row = [count]
        for sampler in SAMPLERS:
            faster = medians[sampler, arguments.counts[0]] / medians[sampler, count]
            row += [f"{medians[sampler, count]:.1f}", f"{faster:.2f}x", f"{faster * arguments.counts[0] / count:.2f}"]
        rows.append(row)
    header = ["threads"] + [f"{s}, {what}" for s in SAMPLERS for what in ("us an example", "speed", "efficiency")]
    return markdown(header, rows) + ["", f"{arguments.labels[0]:,} labels. Target: efficiency >= 0.7."], {
        "results": listed(results)
    }


def memory(arguments):
    """The largest resident memory of a run (training, evaluation, checkpoint) against weights, Adam's state and tables."""
    def measure(sampler):
        job = job_for(sampler, arguments.labels[0], arguments.active, arguments)
        job["data"]["test_size"] = 1000
        return slide_jobs.train(job, threads=arguments.threads).end["memory"]

    results = in_rounds([(sampler,) for sampler in SAMPLERS], 1, measure)
    names = ["parameters", "rule_state", "tables", "gradients", "before_model", "peak"]
    rows = [[sampler] + [f"{one[name] / 1e6:,.0f}"
                         for name in names] + [f"{one['ratio']:.2f}x"]
            for (sampler,), (one,) in results.items()]
    lines = markdown([
        "sampler", "weights, MB", "optimizer state", "tables", "gradients of touched rows", "program and data", "peak",
        "peak / (weights + state + tables)"
    ], rows)
    return lines + ["", f"{arguments.labels[0]:,} labels, from the run's record. Target: <= 1.3x."], {
        "results": listed(results)
    }
