#!/usr/bin/env python3
"""Measures the hashed output layer: speed, scaling and memory.

usage: bench/slide.py labels|yardstick|sublinear|optimizer|threads|memory|sets|bf16|ablation|all [options]      --help of a part has its options

Time is training time without evaluation. What a table compares was measured in the same call. PyTorch is needed for its own rows alone:
`make bench-slide PART=...` runs this with it.
"""
import collections
import itertools
import json
import struct
import time

import slide_torch
from lib.build import program
from lib.options import default_of, main, parse, part
from lib.places import CORES, PROGRAM
from lib.runner import events, execute, in_turn, last, median, medians
from lib.tables import print_table, say
from slide_jobs import DECAY, SAMPLERS, best_rate, cpu_of_epoch, microseconds, p_at_1, seconds_to, synthetic, told, train, xmc_job

HIDDEN = 128
SMALL = {"labels": 1000, "features": 1000, "examples": 1024, "test": 100, "epochs": 2, "dense_epochs": 2, "rates": [1e-2], "dense_rates": [1e-2],
         "precisions": ["f32"], "seeds": 1, "no_torch": True}


def options_of(sampler, active=0, **more):
    """Options of the hashed layer with this many ids active besides labels, a third found by hashing; 0: its default."""
    lsh = {"sampler": "uniform"} if sampler == "uniform" else {}
    hard = {"hard": active // 3} if active and sampler == "lsh" else {}
    random = {"random": active - hard.get("hard", 0)} if active else {}
    return lsh | hard | random | more


@part(labels=670091, features=135909, examples=30000, test=2000, batch=256, epochs=6, dense_epochs=4, rates=[5e-3, 1e-2, 2e-2],
      dense_rates=[5e-3, 1e-2, 2e-2], precisions=["f32", "bf16"], seeds=3, threads=CORES, no_torch=False, no_compile=False, quick=SMALL)
def labels(arguments):
    """Time to the dense network's best P@1 in the shape of Amazon-670K; about 20 minutes on two quiet cores.

    SLIDE's rate falls to zero; the dense network's stays, which is better in the few epochs that it has, and is the best of --dense-rates
    on a problem with a 16th of the labels. SLIDE: --seeds at the rate that came first to the goal. PyTorch: its step, for as many passes as
    our dense f32 needs, which is the same mathematics."""
    def job(rate, lsh=None, precision="f32", data=None):
        more = {"epochs": arguments.dense_epochs} if lsh is None else {"epochs": arguments.epochs, "schedule": DECAY}
        return xmc_job(data or whole, batch=arguments.batch, learning_rate=rate, lsh=lsh, precision=precision, **more)

    whole = synthetic(arguments.labels, arguments.examples, arguments.test, arguments.features)
    rate = arguments.dense_rates[0]
    if len(arguments.dense_rates) > 1:
        few = whole | {"labels": arguments.labels // 16}
        _, rate = best_rate(lambda rate: job(rate, data=few), arguments.dense_rates, arguments, "dense on a 16th")
    dense = {f"dense, {one}, rate {rate:g}": train(f"dense {one}", job(rate, precision=one), arguments) for one in arguments.precisions}
    f32 = next(iter(dense.values()))
    goal = max(p_at_1(f32))
    slide = dict(slide_runs(sampler, job, goal, arguments) for sampler in SAMPLERS)
    torch = None if arguments.no_torch else torch_or_none(arguments, f32, goal)
    sides = {**slide, **{name: [run] for name, run in dense.items()}}

    def cells(name, us, best, seconds):
        against = seconds_to(f32, goal), torch and torch["seconds"]
        return [name, f"{us:.1f}", best, say(seconds, ".2f", "not reached"), *(f"{other / seconds:.1f}x" if seconds and other else "" for other in against)]

    rows = [cells(name, median([*map(microseconds, runs)]), f"{median([max(p_at_1(run)) for run in runs]):.4f}", median_to(runs, goal))
            for name, runs in sides.items()]
    if torch:
        rows.append(cells(f"PyTorch, dense, {torch['variant']}", torch["us"], "as dense f32", torch["seconds"]))
    print_table(["", "us an example", "best P@1", f"seconds to P@1 {goal:.4f}", "shorter than dense f32", "shorter than PyTorch"], rows)
    print_table(["P@1 of dense f32 after each epoch", *sides],
                ([f"{level:.4f}", *(say(median_to(runs, level), ".2f", "not reached") for runs in sides.values())] for level in p_at_1(f32)))
    return f"{arguments.labels:,} labels, {arguments.examples:,} examples, batch {arguments.batch}; SLIDE: medians of {arguments.seeds} seeds"


def slide_runs(sampler, job, goal, arguments):
    """(name, [run of each seed]) at the rate that came first to the goal, or the one with the highest P@1."""
    runs, rate = best_rate(lambda rate: job(rate, options_of(sampler)), arguments.rates, arguments, sampler)
    reached = {one: seconds for one, run in runs.items() if (seconds := seconds_to(run, goal)) is not None}
    rate = min(reached, key=reached.get, default=rate)
    name = f"SLIDE, {sampler}, rate {rate:g}"
    more = [train(name, job(rate, options_of(sampler)), arguments, seed) for seed in range(2, arguments.seeds + 1)]
    return name, [runs[rate], *more]


def median_to(runs, goal):
    """Median training seconds to a P@1 over seeds; None where a seed never reaches it."""
    seconds = [seconds_to(run, goal) for run in runs]
    return None if None in seconds else median(seconds)


def torch_or_none(arguments, *more):
    """torch_side; None, and a word about it, where there is no PyTorch or it fails: our own figures stand without it."""
    try:
        return torch_side(arguments, *more)
    except (ImportError, RuntimeError) as error:
        return told(f"no figures of PyTorch: {error}")


def torch_side(arguments, dense, goal):
    """{variant, us, seconds}: PyTorch's step, and its time to the goal, computed from our dense passes."""
    torch, folder = slide_torch.load(arguments.threads), arguments.runs / "text"
    sizes = {"features": arguments.features, "labels": arguments.labels, "train-size": arguments.examples, "test-size": arguments.test}
    execute([PROGRAM, "synthesize", "xmc", "--out", folder, "--json", *(f"--{name}={value}" for name, value in sizes.items())])
    examples = slide_torch.read_xmc(folder / "train.txt")
    shape = {"features": arguments.features, "labels": arguments.labels, "hidden": HIDDEN}
    firsts = range(0, min(len(examples), 8 * arguments.batch), arguments.batch)
    batches = [slide_torch.make_batch(torch, examples[first:first + arguments.batch]) for first in firsts]
    variant = slide_torch.best_variant(torch, shape, batches, not arguments.no_compile)
    us = slide_torch.step_time(torch, shape, batches, variant) * 1e6 / arguments.batch
    passes = next(epoch for epoch, value in dense.curve("epoch", "p_at_1") if value >= goal)
    return {"variant": variant, "us": us, "seconds": us * 1e-6 * passes * arguments.examples}


INTEL_BATCH = 128
INTEL = [["Intel's SLIDE, published to us", "5.9 to 6.6", "0.72 to 0.83", "1 to 12"], ["Intel's SLIDE, threshold sampling", "3.1", "", ""],
         ["exact by BLAS, published to us", "20", "0.84", "0"]]


@part(examples=20000, epochs=15, rates=[3e-3, 1e-2], labels=50000, threads=CORES, quick={"examples": 1024, "epochs": 2, "rates": [1e-2], "labels": 2000})
def yardstick(arguments):
    """The setting in which Intel's optimised SLIDE was measured: 50,000 features and labels, batch 128, about 1,000 active, 15 epochs.

    The published rows are of another machine (2 threads of an AVX-512 Xeon) and other data of the same shape. Then the cases in which the
    published code aborts: 100 hidden units, and a test set of another size. About 4 minutes."""
    def job(rate, lsh, hidden=HIDDEN, epochs=arguments.epochs, **data):
        return xmc_job(synthetic(arguments.labels, arguments.examples, 4000, 50000) | data, epochs=epochs, batch=INTEL_BATCH, learning_rate=rate,
                       lsh=lsh, hidden=hidden, schedule=DECAY)

    runs = {}
    for name, lsh in {**{sampler: options_of(sampler, 1000) for sampler in SAMPLERS}, "exact": None}.items():
        tried = {rate: train(f"{name}, rate {rate:g}", job(rate, lsh), arguments) for rate in arguments.rates}
        rate = max(tried, key=lambda rate: p_at_1(tried[rate])[-1])
        runs[f"yoke, {name}, rate {rate:g}"] = tried[rate]
    exact = p_at_1(list(runs.values())[-1])[-1]
    print_table(["", "seconds an epoch", f"P@1 after {arguments.epochs} epochs", "points under exact"],
                [*([name, f"{microseconds(run) * 1e-6 * arguments.examples:.2f}", f"{p_at_1(run)[-1]:.4f}", f"{100 * (exact - p_at_1(run)[-1]):.1f}"]
                   for name, run in runs.items()), *INTEL])
    for sampler in SAMPLERS:
        run = train(f"{sampler}, hidden 100", job(3e-3, options_of(sampler, 1000), 100, 2, test_size=1234, train_size=5001), arguments)
        print(f"\nhidden 100, 5,001 training and 1,234 test examples, {sampler}: {run.end['reason']}, P@1 {p_at_1(run)[-1]:.4f}")
    return f"{arguments.examples:,} examples, the best of the rates {arguments.rates} for each side, falling linearly to zero"


def timed_job(sampler, labels, active, arguments, test=0, **lsh):
    """A job that measures time alone."""
    return xmc_job(synthetic(labels, arguments.examples, test), epochs=arguments.epochs, batch=256, learning_rate=1e-3,
                   lsh=options_of(sampler, active, **lsh))


def rounds_of(cases, arguments, job_of, read, threads_last=False, **more):
    """{case: median of read(run)}; threads_last: a case ends with its number of threads. Each round has a seed of its own, and every case in turn."""
    seeds = collections.defaultdict(lambda: itertools.count(1))
    results = in_turn(list(cases), arguments.rounds,
                      lambda case: read(train(" ".join(map(str, case)), job_of(*case), arguments, next(seeds[case]),
                                              case[-1] if threads_last else None, **more)))
    return {case: median(found) for case, found in results.items()}


@part(labels=[25000 * 2**k for k in range(8)], active=1536, rounds=2, examples=16384, epochs=5, threads=CORES,
      quick={"labels": [1000, 2000], "active": 300, "rounds": 1, "examples": 1024, "epochs": 2})
def sublinear(arguments):
    """Time an example over the number of labels, the active number fixed, tables rebuilt all the time; 5 minutes, up to 11 GB."""
    found = rounds_of(itertools.product(SAMPLERS, arguments.labels), arguments,
                      lambda sampler, labels: timed_job(sampler, labels, arguments.active, arguments, **({"rehash": "fixed"} if sampler == "lsh" else {})),
                      lambda run: (microseconds(run), run.epochs[0]["train_seconds"]))
    print_table(["labels", "lsh, us an example", "uniform, us an example", "lsh: first epoch with its tables, s"],
                ([f"{n:,}", *(f"{found[sampler, n][0]:.1f}" for sampler in SAMPLERS), f"{found['lsh', n][1]:.2f}"] for n in arguments.labels))
    judged = [n for n in arguments.labels if n >= 200_000] or arguments.labels
    growth = ", ".join(f"{sampler} {found[sampler, judged[-1]][0] / found[sampler, judged[0]][0]:.2f}x" for sampler in SAMPLERS)
    return f"{arguments.active} active besides labels; from {judged[0]:,} to {judged[-1]:,} labels {growth}; medians of {arguments.rounds} rounds"


def touched_rows(run):
    """Rows of the hashed layer that the optimizer updated, a step: each row's own clock, added up, over steps."""
    with open(run.folder / "last/optimizer.safetensors", "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        first, last = json.loads(file.read(size))["lsh_linear1.weight.row_steps"]["data_offsets"]
        file.seek(8 + size + first)
        return sum(count for (count,) in struct.iter_unpack("<i", file.read(last - first))) / run.end["step"]


@part(labels=[100000, 670091], actives=[512, 1536, 4608], rounds=2, examples=16384, epochs=4, threads=CORES,
      quick={"labels": [2000], "actives": [300], "rounds": 1, "examples": 1024, "epochs": 2})
def optimizer(arguments):
    """Rows that a step of 256 examples updates, counted, against time, for several active numbers and sizes of the layer; 2 minutes."""
    found = rounds_of(itertools.product(SAMPLERS, arguments.labels, arguments.actives), arguments,
                      lambda *case: timed_job(*case, arguments), lambda run: (microseconds(run), touched_rows(run)), keep=True)
    print_table(["sampler", "rows of the layer", "active besides labels", "rows updated a step", "of all", "us an example", "ns an updated row, all stages"],
                ([sampler, f"{labels:,}", active, f"{rows:,.0f}", f"{100 * rows / labels:.2f} %", f"{us:.1f}", f"{1000 * us * 256 / rows:.0f}"]
                 for (sampler, labels, active), (us, rows) in found.items()))
    for labels in arguments.labels:
        us = slide_torch.adam_update(arguments.threads, labels)
        print(f"\nPyTorch's fused Adam on all {labels:,} rows: {f'{us * 1e6 / 256:.0f} us an example' if us else 'no PyTorch here'}")
    return f"medians of {arguments.rounds} rounds"


PARTS = ("rebuild", "hash", "query", "gather", "product", "merge", "update", "other_layers")


def parts_of(run, examples):
    """Microseconds an example of each of PARTS, the median over the epochs after the first."""
    def seconds(epoch):
        layer = next(iter(epoch["layers"].values()))
        return [layer.get(f"{name}_seconds", epoch["step_seconds"].get(name, 0)) for name in PARTS]

    return [1e6 * one / examples for one in median([seconds(epoch) for epoch in run.epochs[1:] or run.epochs])]


@part(labels=670091, active=0, counts=[n for n in (1, 2, 4, 8, 16, 32) if n <= CORES], rounds=3, examples=30000, epochs=4,
      quick={"labels": 2000, "rounds": 1, "examples": 1024, "epochs": 2})
def threads(arguments):
    """Time an example over threads, and of each part of lsh's step; 3 minutes."""
    found = rounds_of(itertools.product(SAMPLERS, arguments.counts), arguments,
                      lambda sampler, count: timed_job(sampler, arguments.labels, arguments.active, arguments),
                      lambda run: (microseconds(run), *parts_of(run, arguments.examples)), threads_last=True)

    def cells(count):
        for sampler in SAMPLERS:
            us = found[sampler, count][0]
            faster = found[sampler, arguments.counts[0]][0] / us
            yield from (f"{us:.1f}", f"{faster:.2f}x", f"{faster * arguments.counts[0] / count:.2f}")

    print_table(["threads", *(f"{sampler}, {what}" for sampler in SAMPLERS for what in ("us an example", "speed", "efficiency"))],
                ([count, *cells(count)] for count in arguments.counts))
    lsh = [found["lsh", count][1:] for count in arguments.counts]
    print_table(["part of lsh's step", *(f"us an example, {count} threads" for count in arguments.counts), "speed"],
                ([name, *(f"{us[i]:.2f}" for us in lsh), f"{lsh[-1][i] and lsh[0][i] / lsh[-1][i]:.2f}x"] for i, name in enumerate(PARTS)))
    arguments.threads = arguments.counts[-1]
    return f"{arguments.labels:,} labels, medians of {arguments.rounds} rounds"


@part(labels=670091, active=0, examples=30000, epochs=2, threads=CORES, quick={"labels": 2000, "examples": 1024})
def memory(arguments):
    """The largest resident memory of a run (training, evaluation, checkpoint) against weights, Adam's state and tables; a minute."""
    names = {"parameters": "weights, MB", "rule_state": "optimizer state", "tables": "tables", "gradients": "gradients of touched rows",
             "before_model": "program and data", "peak": "peak"}

    def rows():
        for sampler in SAMPLERS:
            used = train(sampler, timed_job(sampler, arguments.labels, arguments.active, arguments, 1000), arguments).end["memory"]
            yield [sampler, *(f"{used[name] / 1e6:,.0f}" for name in names), f"{used['ratio']:.2f}x"]

    print_table(["sampler", *names.values(), "peak / (weights + state + tables)"], rows())
    return f"{arguments.labels:,} labels"


@part(labels=50000, features=30000, examples=20000, test=2000, batch=256, epochs=4, rates=[1e-2, 5e-4], threads=CORES,
      quick={"labels": 1000, "features": 1000, "examples": 1024, "test": 100, "epochs": 2})
def bf16(arguments):
    """Rows stored in bf16, with either rounding, beside f32: P@1, time and memory; 5 minutes."""
    kinds = {"f32": {}, "bf16, stochastic": {"weights": "bf16"}, "bf16, nearest": {"weights": "bf16", "rounding": "nearest"}}
    data, rows = synthetic(arguments.labels, arguments.examples, arguments.test, arguments.features), []
    for rate, name in itertools.product(arguments.rates, kinds):
        run = train(name, xmc_job(data, batch=arguments.batch, learning_rate=rate, epochs=arguments.epochs, lsh={}, **kinds[name]), arguments)
        used = run.end["memory"]
        rows.append([f"{rate:g}", name, *(f"{value:.4f}" for value in p_at_1(run)), f"{microseconds(run):.1f}",
                     f"{(used['parameters'] + used['rule_state']) / 1e6:,.0f}", f"{used['peak'] / 1e6:,.0f}"])
    print_table(["rate", "rows", *(f"P@1, epoch {n + 1}" for n in range(arguments.epochs)), "us an example", "weights and state, MB", "peak, MB"], rows)
    return f"{arguments.labels:,} labels, {arguments.examples:,} examples, batch {arguments.batch}; one run each"


STEP_PARTS = ("hash", "query", "gather", "product", "merge")


@part(labels=[50000, 670091], share=0.005, examples=8192, test=2000, batch=256, epochs=4, rate=1e-2, threads=1,
      quick={"labels": [2000], "examples": 1024, "test": 100, "epochs": 2})
def sets(arguments):
    """A set of active outputs for each example against groups of 64 and the dense layer, with the same fraction active; 25 minutes.

    CPU seconds, for a machine that other work shares. The layers' parts are fractions of the last epoch's steps."""
    sides = {"a set an example": {"group": 1}, "a set for 64 examples": {}, "dense": None}

    def rows():
        for labels in arguments.labels:
            data = synthetic(labels, arguments.examples, arguments.test)
            jobs = {name: xmc_job(data, batch=arguments.batch, learning_rate=arguments.rate, epochs=arguments.epochs, schedule=DECAY,
                                  lsh=None if lsh is None else lsh | {"share": arguments.share}) for name, lsh in sides.items()}
            cpu = {name: 1e6 / arguments.examples * cpu_of_epoch(name, job, arguments) for name, job in jobs.items()}
            for name, job in jobs.items():
                run = train(name, job, arguments)
                yield [f"{labels:,}", name, f"{cpu[name]:.0f}", f"{cpu['dense'] / cpu[name]:.1f}x", f"{max(p_at_1(run)):.4f}", *fractions(run)]

    print_table(["labels", "", "CPU us an example", "less than dense", "best P@1", *STEP_PARTS, "update"], rows())
    return f"{arguments.share:.1%} of the outputs active, {arguments.examples:,} examples, batch {arguments.batch}, {arguments.epochs} epochs; one run each"


def fractions(run):
    """Of the steps' time in the last epoch, by part; nothing for a dense layer."""
    last_epoch = run.epochs[-1]
    if not last_epoch.get("layers"):
        return [""] * (len(STEP_PARTS) + 1)
    counts, seconds = next(iter(last_epoch["layers"].values())), last_epoch["step_seconds"]
    return [f"{part / seconds['all']:.0%}" for part in (*(counts.get(f"{name}_seconds", 0) for name in STEP_PARTS), seconds["update"])]


LEVELS = ("avx2", "avx512", "avx512_bf16", "amx")
AVX2, AVX512, SMALL_PAGES = {"YOKE_ISA": "avx2"}, {"YOKE_ISA": "avx512"}, {"YOKE_HUGE_PAGES": "off"}
# The rows of the ablation. Steps: (form of bench/slide_ablation, environment), the first is what the others are compared with.
STEPS = {
    "scalar, flat arrays": ("scalar", {}),
    "maps, Adam scalar": ("maps", {}),
    "the compiler's vectors, flat arrays": ("vector", {}),
    "the same, small pages": ("vector", SMALL_PAGES),
    "the same, an allocation a row": ("apart", {}),
    "kernels, AVX2": ("kernels", AVX2),
    "kernels, AVX2, small pages": ("kernels", AVX2 | SMALL_PAGES),
    "kernels, AVX-512": ("kernels", AVX512),
    "kernels, AVX-512, small pages": ("kernels", AVX512 | SMALL_PAGES),
}
# Runs of training: (keys, environment), likewise.
TRAINING = {
    "training, AVX2": ({}, AVX2),
    "training, AVX2, small pages": ({}, AVX2 | SMALL_PAGES),
    "training, AVX2, bf16 weights": ({"weights": "bf16"}, AVX2),
    "training, AVX-512": ({}, AVX512),
    "training, AVX-512, bf16 weights": ({"weights": "bf16"}, AVX512),
    "training, AVX-512, bf16 operands": ({"precision": "bf16"}, {"YOKE_ISA": "avx512_bf16"}),
    "training, AVX-512, bf16 operands and weights": ({"precision": "bf16", "weights": "bf16"}, {"YOKE_ISA": "avx512_bf16"}),
    "training, AMX, bf16 operands": ({"precision": "bf16"}, {"YOKE_ISA": "amx"}),
}


@part(labels=670091, features=135909, examples=20000, test=2000, batch=256, epochs=3, rate=2e-2, rounds=2,
      quick={"labels": 1000, "features": 1000, "examples": 1024, "test": 100, "rounds": 1})
def ablation(arguments):
    """What vectors, bf16 operands, huge pages and the layout of rows bring: a step's stages alone, in CPU time, and training; one thread, 6 minutes."""
    own = LEVELS.index(last(events("doctor"), "doctor")["instructions"])
    data = synthetic(arguments.labels, arguments.examples, arguments.test, arguments.features)
    seeds = collections.defaultdict(lambda: itertools.count(1))

    def step(form, *env):
        stages = json.loads(execute([*env, program("slide_ablation"), form, arguments.labels, arguments.features, arguments.batch]))
        loss = stages.pop("mean loss")
        told(f"{form} {' '.join(env[1:])}: {stages}")
        return sum(stages.values()), loss

    def training(keys, *env):
        job = xmc_job(data, batch=arguments.batch, learning_rate=arguments.rate, epochs=arguments.epochs, schedule=DECAY, lsh={}, **keys)
        words = " ".join([*env[1:], *(f"{key}={value}" for key, value in keys.items())])
        run = train(words, job, arguments, next(seeds[words]), launcher=env)
        return microseconds(run), max(p_at_1(run))

    rows = []
    for measure, cases in ((step, STEPS), (training, TRAINING)):
        can = {name: case for name, case in cases.items() if LEVELS.index(case[1].get("YOKE_ISA", "avx2")) <= own}
        found = medians(can, arguments.rounds, lambda name: measure(can[name][0], "env", *(f"{key}={value}" for key, value in can[name][1].items())))
        first = found[next(iter(cases))][0]
        for name in cases:
            us, result = found.get(name, (None, None))
            cells = [say(result, ".4f"), ""] if measure is step else ["", say(result, ".4f")]
            rows.append([name, say(us, ".1f", "not on this processor"), say(us and first / us, ".1f"), *cells])
    print_table(["", "us an example", "times as fast", "loss", "P@1"], rows)
    return f"{arguments.labels:,} labels, batch {arguments.batch}; medians of {arguments.rounds} rounds; loss after 3 passes over 16 batches"


@part(threads=CORES)
def all(arguments):  # noqa: A001: the name of the part
    """All parts in turn, each with its defaults; an hour. --threads is for those that use all cores."""
    for one in (labels, yardstick, sublinear, optimizer, threads, memory, sets, bf16, ablation):
        began, name = time.monotonic(), one.__name__
        words = [f"--threads={arguments.threads}"] if default_of(name, "threads") == CORES else []
        chosen = parse("", [name, *words, *(["--quick"] if arguments.quick else [])])
        chosen.runs = arguments.runs
        print(f"\n### {name}")
        print(f"\n{one(chosen)} ({(time.monotonic() - began) / 60:.1f} minutes)", flush=True)
    return "medians where a table says so"


if __name__ == "__main__":
    main(__doc__)
