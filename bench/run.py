#!/usr/bin/env python3
"""Runs our training step and PyTorch's in turn and prints both rates and their ratio as a Markdown table: `make bench`.

usage: bench/run.py [--threads N] [--rounds N] [--seconds S] [--only ROWS] [--precision f32,bf16] [--variants NAMES] [--limit S]
                    [--compile] [--json FILE]

Each row is a full training step (forward, backward, momentum update) of one model, batch size and precision, on the same
number of threads. PyTorch runs as its best of eager, channels-last and torch.compile, each with and without flushing denormals, found by a first
round, after its first steps, which compile; then both run in turn, each in a process of its own, and medians count. What torch.compile made is
kept in the cache of bench/torch_step.py, and --compile fills it beforehand: all rows take CPU minutes. "of limit" sets a rate
against this machine's: the operations of the direct algorithm at the peak of a large multiplication (f32 or bf16) and, for the
small models, 24 bytes a parameter at the bandwidth of an update in cache, both measured before and after each round. "GB" is each
process's peak memory.
"""
import explain  # noqa: F401
import argparse
import json
import math
import os
import pathlib
import select
import statistics
import subprocess
import sys

from conditions import conditions, cpu_name, heading, row as table_row

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release"))
PROGRAM = BUILD / "bench/step_bench"
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


class Server:
    """A process that measures steps on request."""

    def __init__(self, *words):
        self.process = subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, seconds, limit=600):
        """One measurement, as a dictionary; TimeoutError after `limit` seconds, RuntimeError when the process died."""
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], limit)[0]:
            raise TimeoutError(f"took more than {limit} s")
        if not (answer := self.process.stdout.readline()):
            raise RuntimeError(f"`{' '.join(self.process.args)}` ended with status {self.process.wait()}")
        return json.loads(answer)

    def end(self):
        self.process.kill()
        self.process.communicate()


def start_pytorch(variant, words, limit):
    """PyTorch's process with its first steps behind it, or None with a note where they took longer than `limit` seconds."""
    server = Server(sys.executable, ROOT / "bench/torch_step.py", *words, variant)
    try:
        return server, server.measure(0.01, limit)["first_seconds"]
    except (TimeoutError, RuntimeError, OSError) as error:
        print(f"note: PyTorch's {variant} is left out for {words[0]} {words[1]} {words[3]}: {error}", flush=True)
        server.end()
        return None, limit


def best_pytorch(words, arguments):
    """The fastest way in which PyTorch runs this case: (variant, process, images a second of all ways)."""
    found = {}
    for variant in arguments.variants.split(","):
        server, _ = start_pytorch(variant, words, arguments.limit)
        if server:
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
    """Both in turn: medians of their rates, and of the ratio."""
    words = words_of(case, precision, arguments.threads)
    variant, theirs, tried = best_pytorch(words, arguments)
    ours = Server(PROGRAM, "step", *words, *case[3])
    runs, of_limit, theirs_of_limit = [], [], []
    after = measure_limits(arguments)
    for _ in range(arguments.rounds):
        before = after
        runs.append((ours.measure(arguments.seconds), theirs.measure(arguments.seconds)))
        after = measure_limits(arguments)
        limits = {key: (before[key] + after[key]) / 2 for key in ("gemm_f32", "gemm_bf16", "cache_bandwidth")}
        allowed = limit(case[1], precision, runs[-1][0], limits)
        of_limit.append(runs[-1][0]["images_per_second"] / allowed)
        theirs_of_limit.append(runs[-1][1]["images_per_second"] / allowed)
    ours.end(), theirs.end()
    mine = [a["images_per_second"] for a, _ in runs]
    other = [b["images_per_second"] for _, b in runs]
    last = runs[-1]
    return {"of_limit": statistics.median(of_limit), "pytorch_of_limit": statistics.median(theirs_of_limit),
            "model": case[0], "batch": case[1], "precision": precision, "ours": statistics.median(mine), "runs": len(runs),
            "pytorch": statistics.median(other), "variant": variant, "tried": tried, "version": last[1]["pytorch"],
            "ratio": statistics.median(a / b for a, b in zip(mine, other)), "operations": last[0]["operations"],
            "parameters": last[0]["parameters"], "peak_bytes": last[0]["peak_bytes"],
            "pytorch_peak_bytes": last[1]["peak_bytes"]}


def measure_limits(arguments):
    """The machine's rates at this moment."""
    return json.loads(subprocess.check_output([PROGRAM, "limits", str(arguments.threads)], text=True))


def limit(batch, precision, ours, limits):
    """Images a second that the machine's peak (and, in cache, its bandwidth) allows."""
    seconds = batch * ours["operations"] / limits[f"gemm_{precision}"]
    if ours["parameters"] < 1e6:
        seconds += 24 * ours["parameters"] / limits["cache_bandwidth"]
    return batch / seconds


def show(row):
    print(table_row([
        TITLES[row["model"]], row["batch"], row["precision"], f"{row['ours']:,.{1 if row['ours'] < 100 else 0}f}",
        f"{row['pytorch']:,.{1 if row['ours'] < 100 else 0}f}", row["variant"], f"{row['ratio']:.2f}x", f"{100 * row['of_limit']:.0f} %",
        f"{100 * row['pytorch_of_limit']:.0f} %", f"{row['peak_bytes'] / 1e9:.2f}", f"{row['pytorch_peak_bytes'] / 1e9:.2f}"]), flush=True)


def compile_rows(rows, arguments):
    """Lets PyTorch compile each row, so that a later run finds it done."""
    for case, precision in rows:
        server, seconds = start_pytorch("compile", words_of(case, precision, arguments.threads), arguments.limit)
        print(f"{case[0]:<14} batch {case[1]:<4} {precision:<5} {seconds:>5.0f} s", flush=True)
        if server:
            server.end()


def chosen_rows(arguments):
    """Cases and precisions that the command line asks for."""
    names = arguments.only.split(",") if arguments.only else [case[0] for case in CASES]
    return [(case, precision) for case in CASES for precision in arguments.precision.split(",")
            if (case[0] in names or f"{case[0]}:{case[1]}" in names) and not (precision == "bf16" and case[0] in F32_ONLY)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="", help="models, separated by commas, or model:batch")
    parser.add_argument("--precision", default="f32,bf16")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="PyTorch's ways to try")
    parser.add_argument("--limit", type=float, default=300, help="seconds that PyTorch's first steps may take; else it does without")
    parser.add_argument("--compile", action="store_true", help="only let torch.compile fill its cache, and print the seconds")
    parser.add_argument("--json", help="write the rows to this file too")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.compile:
        return compile_rows(chosen_rows(arguments), arguments)
    if "YOKE_BENCH_BUILD" not in os.environ:
        subprocess.run(["cmake", "--build", str(BUILD), "--target", "step_bench"], check=True, stdout=subprocess.DEVNULL)

    limits = measure_limits(arguments)
    if not limits["gemm_bf16"]:
        print("note: rows in bf16 are left out: this processor has no instructions for it", flush=True)
    print(heading(COLUMNS), flush=True)
    rows = []
    for case, precision in chosen_rows(arguments):
        if not limits[f"gemm_{precision}"]:
            continue
        row = compare(case, precision, arguments)
        rows.append(row)
        show(row)
        if arguments.json:  # after each row: a long run may be cut off
            pathlib.Path(arguments.json).write_text(json.dumps(
                {"limits": limits, "cpu": cpu_name(), "threads": arguments.threads, "rows": rows}, indent=1) + "\n")
    if rows:
        mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
        bf16 = f", {limits['gemm_bf16'] / 1e9:.0f} bf16" if limits["gemm_bf16"] else ""
        print(f"\nGeometric mean of the {len(rows)} ratios: {mean:.2f}x.\n\n"
              f"{conditions(arguments.threads, f'medians of {arguments.rounds} rounds', limits)}; {limits['library']}; PyTorch {rows[0]['version']}; "
              f"at the start {limits['gemm_f32'] / 1e9:.0f} GF/s f32{bf16}, "
              f"{limits['cache_bandwidth'] / 1e9:.0f} GB/s in cache, {limits['memory_bandwidth'] / 1e9:.0f} GB/s from memory")


if __name__ == "__main__":
    main()
