#!/usr/bin/env python3
"""Runs our training step and PyTorch's in turn and prints both rates and their ratio: `make bench`.

usage: tools/bench [--threads N] [--rounds N] [--seconds S] [--only ROWS] [--precision f32,bf16] [--variants NAMES] [--limit S]
                   [--json FILE] [--kernels]

Each row is a full training step (forward, backward, momentum update) of one model, batch size and precision, on the same
number of threads. ROWS are models, or model:batch. PyTorch runs as its best of --variants (eager, channels-last and torch.compile, each
with and without flushing denormals), found by a first round, after its first steps, which compile and may take --limit seconds; then both
run in turn, each in a process of its own, and medians count. What torch.compile made is kept in the cache of bench/torch_step.py: a call
with `--rounds 1 --seconds 0.1 --variants compile` fills it, which takes CPU minutes. "of limit" sets a rate against this machine's: the operations
of the direct algorithm at the peak of a large multiplication (f32 or bf16) and, for the small models, 24 bytes a parameter at the
bandwidth of an update in cache, both measured before and after each round. "GB" is each process's peak memory.

--kernels prints instead where the CPU time of our step goes, by function; it needs `perf`.
"""
import collections
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from lib.options import main, part
from lib.build import build, program
from lib.places import CORES, ROOT
from lib.runner import Server, median
from lib.tables import cpu_name, print_table

GREY, SMALL, LARGE = ("1x28x28", 10), ("3x32x32", 10), ("3x224x224", 1000)
# Model, batch, image and classes, options of ours; bf16 too where it is worth it.
CASES = [("mlp", 1, GREY, []), ("mlp", 16, GREY, []), ("mlp", 64, GREY, []), ("mlp", 512, GREY, []), ("lenet", 64, GREY, []),
         ("lenet", 128, GREY, []), ("alexnet-cifar", 128, SMALL, []), ("resnet20", 128, SMALL, []), ("caffenet", 64, LARGE, []),
         ("googlenet", 32, LARGE, ["batch_norm=true"]), ("vgg11", 16, LARGE, []), ("resnet18", 32, LARGE, []),
         ("resnet50", 16, LARGE, [])]
F32_ONLY = {"mlp"}
TITLES = {"mlp": "MLP 784-512-512-10", "lenet": "LeNet", "alexnet-cifar": "AlexNet-CIFAR", "resnet20": "ResNet-20", "caffenet": "CaffeNet",
          "googlenet": "GoogLeNet", "vgg11": "VGG-11", "resnet18": "ResNet-18", "resnet50": "ResNet-50"}
COLUMNS = ["model", "batch", "type", "yoke, images/s", "PyTorch, images/s", "its best form", "ratio", "of limit: yoke", "PyTorch",
           "GB: yoke", "PyTorch"]
VARIANTS = ["eager", "channels-last", "compile"]
VARIANTS += [f"{variant}-flush" for variant in VARIANTS]  # with denormals flushed, as ours always are


def start_pytorch(variant, words, limit):
    """PyTorch's process with its first steps behind it, or None with a note where they took longer than `limit` seconds."""
    server = Server(sys.executable, ROOT / "bench/torch_step.py", *words, variant)
    try:
        server.measure(0.01, limit)
        return server
    except (TimeoutError, RuntimeError, OSError) as error:
        print(f"note: PyTorch's {variant} is left out for {words[0]} {words[1]} {words[3]}: {error}", file=sys.stderr, flush=True)
        server.end()
        return None


def best_pytorch(words, arguments):
    """The fastest variant in which PyTorch runs this case: (variant, process, images a second of all variants)."""
    found = {}
    for variant in arguments.variants:
        if server := start_pytorch(variant, words, arguments.limit):
            found[variant] = (server.measure(arguments.seconds / 2)["images_per_second"], server)
    best = max(found, key=lambda variant: found[variant][0])
    for variant, (_, server) in found.items():
        if variant != best:
            server.end()
    return best, found[best][1], {variant: rate for variant, (rate, _) in found.items()}


def words_of(case, precision, threads):
    model, batch, (image, classes), _ = case
    return [model, batch, threads, precision, image, classes]


def compare(case, precision, arguments):
    """Both in turn: medians of their rates, and of the ratio. Without variants of PyTorch ours alone."""
    words = words_of(case, precision, arguments.threads)
    variant, theirs, tried = best_pytorch(words, arguments) if arguments.variants else ("", None, {})
    ours, runs = Server(program("step_bench"), "step", *words, *case[3]), []
    after = measure_limits(arguments)
    for _ in range(arguments.rounds):
        before = after
        mine, other = ours.measure(arguments.seconds), theirs and theirs.measure(arguments.seconds)
        after = measure_limits(arguments)
        limits = {key: (before[key] + after[key]) / 2 for key in ("gemm_f32", "gemm_bf16", "cache_bandwidth")}
        allowed, rate, pytorch = limit(case[1], precision, mine, limits), mine["images_per_second"], other["images_per_second"] if other else math.nan
        runs.append((rate, pytorch, rate / pytorch, rate / allowed, pytorch / allowed))
    for server in (ours, *([theirs] if theirs else [])):
        server.end()
    found = dict(zip(("ours", "pytorch", "ratio", "of_limit", "pytorch_of_limit"), median(runs)))
    return {"model": case[0], "batch": case[1], "precision": precision, "runs": len(runs), "variant": variant, "tried": tried, **found,
            "version": other["pytorch"] if other else "", "operations": mine["operations"], "parameters": mine["parameters"],
            "peak_bytes": mine["peak_bytes"], "pytorch_peak_bytes": other["peak_bytes"] if other else math.nan}


def measure_limits(arguments):
    """The machine's rates at this moment."""
    return json.loads(subprocess.check_output([program("step_bench"), "limits", str(arguments.threads)], text=True))


def limit(batch, precision, ours, limits):
    """Images a second that the machine's peak (and, in cache, its bandwidth) allows."""
    seconds = batch * ours["operations"] / limits[f"gemm_{precision}"]
    if ours["parameters"] < 1e6:
        seconds += 24 * ours["parameters"] / limits["cache_bandwidth"]
    return batch / seconds


def cells(row):
    def text(value, form):
        return "" if math.isnan(value) else form.format(value)

    rate = "{:,.1f}" if row["ours"] < 100 else "{:,.0f}"
    return [TITLES[row["model"]], row["batch"], row["precision"], text(row["ours"], rate), text(row["pytorch"], rate), row["variant"],
            text(row["ratio"], "{:.2f}x"), text(100 * row["of_limit"], "{:.0f} %"), text(100 * row["pytorch_of_limit"], "{:.0f} %"),
            text(row["peak_bytes"] / 1e9, "{:.2f}"), text(row["pytorch_peak_bytes"] / 1e9, "{:.2f}")]


def chosen_rows(arguments):
    """Cases and precisions that the command line asks for."""
    names = arguments.only or [case[0] for case in CASES]
    return [(case, precision) for case in CASES for precision in arguments.precision
            if (case[0] in names or f"{case[0]}:{case[1]}" in names) and not (precision == "bf16" and case[0] in F32_ONLY)]


def print_kernels(case, precision, arguments):
    """Where the CPU time of our step goes: functions that take at least 3 % of it."""
    os.environ["ONEDNN_JIT_PROFILE"] = "2"  # oneDNN names what it generates
    ours, shares = Server(program("step_bench"), "step", *words_of(case, precision, arguments.threads), *case[3]), collections.Counter()
    ours.measure(0.01)
    with tempfile.TemporaryDirectory() as folder:
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "-p", str(ours.process.pid), "-o", f"{folder}/samples"]
        with subprocess.Popen([*record, "sleep", str(arguments.seconds)]) as perf:
            while perf.poll() is None:
                ours.measure(arguments.seconds / 20)
        report = ["perf", "report", "-i", f"{folder}/samples", "--stdio", "-q", "-F", "overhead,dso,symbol"]
        found = subprocess.check_output(report, text=True, stderr=subprocess.DEVNULL)
    ours.end()
    for share, library, name in re.findall(r"^ *([0-9.]+)% +(\S.*?) +\[.\] (.*?) *$", found, re.MULTILINE):
        shares[library if name.startswith("0x") else re.sub(r"\(anonymous namespace\)::|yoke::cpu::", "", name)] += float(share)
    print(f"\n{TITLES[case[0]]}, batch {case[1]}, {precision}")
    for name, share in shares.most_common():
        if share >= 3:
            print(f"  {share:5.1f} %  {name}", flush=True)


@part(threads=CORES, rounds=5, seconds=2.0, only=list(TITLES), precision=["f32", "bf16"], variants=VARIANTS, limit=300.0, json="", kernels=False,
      quick={"rounds": 1, "seconds": 0.2, "only": ["mlp:64", "lenet:64"], "precision": ["f32"], "variants": []})
def step(arguments):
    """Medians of the rounds. --json FILE has the rows so far: a long call may be cut off."""
    if "YOKE_BENCH_BUILD" not in os.environ:
        build("step_bench")
    if arguments.kernels:
        for case, precision in chosen_rows(arguments):
            print_kernels(case, precision, arguments)
        return f"{arguments.seconds} s each"
    limits, rows = measure_limits(arguments), []

    def measured():
        for case, precision in chosen_rows(arguments):
            if limits[f"gemm_{precision}"]:
                rows.append(compare(case, precision, arguments))
                yield cells(rows[-1])
            if arguments.json:
                record = {"limits": limits, "cpu": cpu_name(), "threads": arguments.threads, "rows": rows}
                pathlib.Path(arguments.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    print_table(COLUMNS, measured())
    if not limits["gemm_bf16"]:
        print("\nRows in bf16 are left out: this processor has no instructions for it.")
    if rows and arguments.variants:
        print(f"\nGeometric mean of the {len(rows)} ratios: {statistics.geometric_mean(row['ratio'] for row in rows):.2f}x, PyTorch {rows[0]['version']}.")
    return (f"medians of {arguments.rounds} rounds; {limits['library']}; at the start {limits['gemm_f32'] / 1e9:.0f} GF/s f32, "
            f"{limits['gemm_bf16'] / 1e9:.0f} bf16, {limits['cache_bandwidth'] / 1e9:.0f} GB/s in cache, {limits['memory_bandwidth'] / 1e9:.0f} from memory")


if __name__ == "__main__":
    main(__doc__)
