"""The part `labels` of slide_speed.py: time to the dense network's P@1 in the shape of Amazon-670K."""
import pathlib
import statistics
import subprocess
import tempfile

import slide_jobs
import slide_torch
from slide_scaling import SAMPLERS, markdown, microseconds, options_of, say, synthetic

DECAY = {"name": "polynomial"}  # The learning rate falls linearly to zero after the last epoch.


def p_at_1(run):
    return [epoch.test["p_at_1"] for epoch in run.epochs]


def train(name, job, arguments, seed=1):
    """A run, told to the person who waits."""
    run = slide_jobs.train(job, threads=arguments.threads, seed=seed)
    say(f"{name}, seed {seed}: {microseconds(run):.1f} us an example, P@1 " +
        " ".join(f"{one:.4f}" for one in p_at_1(run)))
    return run


def curve(run):
    """What JSON keeps of a run."""
    return {"us": microseconds(run), "seconds": [e.train_seconds for e in run.epochs], "p_at_1": p_at_1(run)}


def best_rate(make_job, rates, arguments, name):
    """({rate: run}, the rate with the highest P@1 of any epoch)."""
    runs = {rate: train(f"{name}, rate {rate:g}", make_job(rate), arguments) for rate in rates}
    return runs, max(rates, key=lambda rate: max(p_at_1(runs[rate])))


def data_of(arguments):
    return synthetic(arguments.labels, arguments.examples, arguments.test, arguments.features)


def job_of(arguments, rate, lsh=None, precision="f32", data=None):
    """SLIDE's rate falls to zero; the dense network's stays, which is better in the few epochs that it has."""
    more = {"epochs": arguments.dense_epochs} if lsh is None else {"epochs": arguments.epochs, "schedule": DECAY}
    return slide_jobs.xmc_job(data or data_of(arguments),
                              batch=arguments.batch,
                              learning_rate=rate,
                              lsh=lsh,
                              precision=precision,
                              **more)


def dense_rate(arguments):
    """The dense network's best rate on a problem with a 16th of the labels, and as many examples and epochs."""
    if len(arguments.dense_rates) == 1:
        return arguments.dense_rates[0]
    small = data_of(arguments) | {"labels": arguments.labels // 16}
    return best_rate(lambda rate: job_of(arguments, rate, data=small), arguments.dense_rates, arguments,
                     "dense on a 16th")[1]


def slide_runs(arguments, goal):
    """{sampler: (rate, [run of each seed])}: the rate that came first to the goal, or the one with the highest P@1."""
    found = {}
    for sampler in SAMPLERS:

        def make_job(rate, lsh=options_of(sampler)):
            return job_of(arguments, rate, lsh)

        runs, rate = best_rate(make_job, arguments.rates, arguments, sampler)
        reached = {one: run.seconds_to(goal) for one, run in runs.items() if run.seconds_to(goal) is not None}
        rate = min(reached, key=reached.get, default=rate)
        more = [
            train(f"{sampler}, rate {rate:g}", make_job(rate), arguments, seed)
            for seed in range(2, arguments.seeds + 1)
        ]
        found[sampler] = (rate, [runs[rate], *more])
    return found


def median_to(runs, goal):
    """Median training seconds to a P@1 over seeds; None where a seed never reaches it."""
    seconds = [run.seconds_to(goal) for run in runs]
    return None if None in seconds else statistics.median(seconds)


def synthesize(arguments, folder):
    """The same data as text: (train, test) for PyTorch."""
    subprocess.run([
        slide_jobs.PROGRAM, "synthesize", "xmc", "--out", folder, "--features",
        str(arguments.features), "--labels",
        str(arguments.labels), "--train-size",
        str(arguments.examples), "--test-size",
        str(arguments.test), "--json"
    ],
                   check=True,
                   stdout=subprocess.DEVNULL)
    return tuple(slide_torch.read_xmc(pathlib.Path(folder) / f"{part}.txt") for part in ("train", "test"))


def torch_side(arguments, dense, goal):
    """{variant, us, seconds}: PyTorch's step, and its time to the goal, computed from our dense passes or trained."""
    torch = slide_torch.load(arguments.threads)
    with tempfile.TemporaryDirectory(prefix="yoke-slide-") as folder:
        sets = synthesize(arguments, folder)
    shape = {"features": arguments.features, "labels": arguments.labels, "hidden": 128}
    firsts = range(0, min(len(sets[0]), 8 * arguments.batch), arguments.batch)
    batches = [slide_torch.make_batch(torch, sets[0][first:first + arguments.batch]) for first in firsts]
    variant = slide_torch.best_variant(torch, shape, batches, not arguments.no_compile)
    seconds = slide_torch.step_time(torch, shape, batches, variant)
    us = seconds * 1e6 / arguments.batch
    say(f"PyTorch at its best, {variant}: {us:.0f} us an example")
    passes = next(e.epoch for e in dense.epochs if e.test["p_at_1"] >= goal)
    side = {
        "variant": str(variant),
        "us": us,
        "passes": passes,
        "seconds": us * 1e-6 * passes * arguments.examples,
        "trained": False
    }
    if arguments.full_torch:
        options = {
            "rate": arguments.rate_of_dense,
            "variant": variant,
            "batch": arguments.batch,
            "epochs": arguments.dense_epochs + 2
        }
        side["curve"] = slide_torch.train_to(torch, shape, sets, options)
        side["seconds"] = next((s for s, p in side["curve"] if p >= goal), None)
        side["trained"] = True
    return side


def torch_or_none(*arguments):
    """The same; None, and a word about it, where there is no PyTorch or it fails: our own figures stand without it."""
    try:
        return torch_side(*arguments)
    except (ImportError, RuntimeError) as error:
        say(f"no figures of PyTorch: {error}")
        return None


def labels(arguments):
    """Time to the dense network's best P@1 in the shape of Amazon-670K."""
    arguments.rate_of_dense = dense_rate(arguments)
    dense = {
        p: train(f"dense {p}", job_of(arguments, arguments.rate_of_dense, precision=p), arguments)
        for p in ("f32", "bf16")
    }
    goal = max(p_at_1(dense["f32"]))
    slide = slide_runs(arguments, goal)
    torch = None if arguments.no_torch else torch_or_none(arguments, dense["f32"], goal)
    lines = speed_table(arguments, dense, slide, torch, goal) + [""] + levels_table(dense, slide) + [""] + epoch_table(
        dense, slide)
    figures = {
        "goal": goal,
        "dense_rate": arguments.rate_of_dense,
        "dense": {
            p: curve(run) for p, run in dense.items()
        },
        "slide": {
            s: {
                "rate": rate,
                "runs": [curve(run) for run in runs]
            } for s, (rate, runs) in slide.items()
        },
        "torch": torch
    }
    return lines, figures


def row_of(name, us, best, seconds, against):
    """A row of the table; against: seconds of the own dense f32 and of PyTorch."""
    ratios = [f"{other / seconds:.1f}x" if seconds and other else "-" for other in against]
    return [name, f"{us:.1f}", f"{1e6 / us:,.0f}", best, f"{seconds:.2f}" if seconds else "not reached", *ratios]


def speed_table(arguments, dense, slide, torch, goal):
    against = (dense["f32"].seconds_to(goal), torch["seconds"] if torch else None)
    rows = []
    for sampler, (rate, runs) in slide.items():
        best = statistics.median(max(p_at_1(run)) for run in runs)
        us = statistics.median(map(microseconds, runs))
        rows.append(row_of(f"SLIDE, {sampler}, rate {rate:g}", us, f"{best:.4f}", median_to(runs, goal), against))
    for precision, run in dense.items():
        rows.append(
            row_of(f"dense, {precision}, rate {arguments.rate_of_dense:g}", microseconds(run),
                   f"{max(p_at_1(run)):.4f}", run.seconds_to(goal), against))
    if torch:
        best = "trained" if torch["trained"] else f"as dense f32: its {torch['passes']} passes"
        rows.append(row_of(f"PyTorch dense, {torch['variant']}", torch["us"], best, torch["seconds"], against))
    header = [
        "", "us an example", "examples/s", "best P@1", f"seconds to P@1 {goal:.4f}", "shorter than dense f32",
        "than PyTorch"
    ]
    return markdown(header, rows) + ["", note_on(arguments, dense, torch)]


def note_on(arguments, dense, torch):
    """Under which conditions the table came about."""
    rising = dense["f32"].best() is dense["f32"].epochs[-1]
    sentences = [
        f"{arguments.labels:,} labels, {arguments.features:,} features, {arguments.examples:,} examples, hidden 128.",
        f"Batch {arguments.batch} on every side.",
        f"The P@1 to reach is the best of dense f32 in {arguments.dense_epochs} epochs{', the last' if rising else ''}.",
        "Time an example: the median over epochs after the first; seconds to the P@1: all of training.",
        f"SLIDE: medians of {arguments.seeds} seeds, its rate, the best of {arguments.rates}, falls linearly to zero over "
        f"{arguments.epochs} epochs.",
        f"The dense rate, the best of {arguments.dense_rates} with a 16th of the labels, stays.",
    ]
    if torch and not torch["trained"]:
        sentences.append(
            "PyTorch: the median of 8 steps; its time to the P@1 is theirs times the passes that our dense "
            "f32 needed, which is the same mathematics.")
    sentences.append("Targets: <= 50 us an example on 2 cores; >= 20x shorter than dense f32, >= 50x than PyTorch.")
    return " ".join(sentences)


def levels_table(dense, slide):
    """Seconds to every P@1 that an epoch of dense f32 reached, and how many times shorter that is."""
    sides = {f"SLIDE, {sampler}": runs for sampler, (_, runs) in slide.items()} | {"dense, bf16": [dense["bf16"]]}
    rows = []
    for epoch in dense["f32"].epochs:
        level = epoch.test["p_at_1"]
        cells = [f"{epoch.epoch}: {level:.4f}", f"{dense['f32'].seconds_to(level):.1f}"]
        for runs in sides.values():
            seconds = median_to(runs, level)
            cells.append(
                f"{seconds:.2f} ({dense['f32'].seconds_to(level) / seconds:.1f}x)" if seconds else "not reached")
        rows.append(cells)
    return markdown(["P@1 of dense f32 after epoch", "its seconds", *sides], rows)


def epoch_table(dense, slide):
    """P@1 and training seconds after each epoch, of the first seed."""
    runs = {f"SLIDE, {s}": runs[0] for s, (_, runs) in slide.items()} | {f"dense, {p}": run for p, run in dense.items()}
    count = max(len(run.epochs) for run in runs.values())
    rows = [[name] + [f"{e.test['p_at_1']:.4f} ({e.train_seconds:.1f} s)"
                      for e in run.epochs] + [""] * (count - len(run.epochs))
            for name, run in runs.items()]
    return markdown(["P@1 after epoch"] + list(range(1, count + 1)), rows)
