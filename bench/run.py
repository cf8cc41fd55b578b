#!/usr/bin/env python3
"""Runs our training step and PyTorch's in turn and prints the ratios: `make bench`.

usage: bench/run.py [--threads N] [--rounds N] [--seconds S] [--only NAME] [--no-compile] [--json FILE]

Each row is a full training step (forward, backward, momentum update; f32) of one model and batch size, on the same number of
threads. PyTorch runs as its best of eager, channels-last (LeNet) and torch.compile, found by a first round; then both run in
turn, and medians count. "of limit" sets our rate against this machine's: operations at the peak of its multiplication plus 24
bytes a parameter at the bandwidth of an update in cache, both measured in this run.
"""
import argparse
import json
import logging
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release"))
PROGRAM = BUILD / "bench/step_bench"
CASES = [("mlp", 1), ("mlp", 16), ("mlp", 64), ("mlp", 512), ("lenet", 64)]
COMPILE_SECONDS = 60  # torch.compile gets no more than this for a case


def ours(*words):
    """One measurement of our program, as a dictionary."""
    return json.loads(subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout)


def demands(model):
    """Operations of an image's step (the first layer computes no input gradient) and parameters."""
    if model == "mlp":
        layers = [784 * 512, 512 * 512, 512 * 10]
        return 6 * sum(layers) - 2 * layers[0], sum(layers) + 512 + 512 + 10
    layers = [24 * 24 * 20 * 25, 8 * 8 * 50 * 500, 800 * 500, 500 * 10]
    return 6 * sum(layers) - 2 * layers[0], 431_080


def limit(model, batch, limits):
    """Images a second that the machine's peak and bandwidth allow."""
    operations, parameters = demands(model)
    return batch / (batch * operations / limits["gemm_f32"] + 24 * parameters / limits["cache_bandwidth"])


def make_model(torch, name):
    """The network as our zoo has it."""
    nn = torch.nn
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def make_step(torch, name, batch, variant):
    """A function that trains PyTorch's model by one batch."""
    torch.manual_seed(1)
    memory = torch.channels_last if variant == "channels-last" else torch.contiguous_format
    model = make_model(torch, name).to(memory_format=memory)
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    inputs = [torch.rand(batch, 1, 28, 28).to(memory_format=memory) for _ in range(4)]
    labels = [torch.randint(10, (batch,)) for _ in range(4)]

    def loss(x, y):
        return loss_of(model(x), y)

    forward = torch.compile(loss) if variant == "compile" else loss
    count = [0]

    def step():
        i = count[0] % 4
        count[0] += 1
        optimizer.zero_grad(set_to_none=True)
        value = forward(inputs[i], labels[i])
        value.backward()
        optimizer.step()
        return value

    return step


def rate(step, batch, seconds):
    """Images a second of a step, after a fifth of the time as warm-up."""
    end = time.perf_counter() + seconds / 5
    while time.perf_counter() < end:
        step()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    return steps * batch / (time.perf_counter() - start)


def out_of_time(_signal, _frame):
    raise TimeoutError(f"took more than {COMPILE_SECONDS} s")


def best_variant(torch, name, batch, arguments):
    """The fastest way in which PyTorch runs this case: (variant, step)."""
    variants = ["eager"] + ["channels-last"] * (name == "lenet") + ["compile"] * (not arguments.no_compile)
    found = []
    for variant in variants:
        signal.signal(signal.SIGALRM, out_of_time)
        signal.alarm(COMPILE_SECONDS if variant == "compile" else 0)
        try:
            step = make_step(torch, name, batch, variant)
            step()
        except Exception as error:  # pylint: disable=broad-except
            print(f"note: PyTorch's {variant} is left out for {name} {batch}: {str(error).splitlines()[0]}", flush=True)
            continue
        finally:
            signal.alarm(0)
        found.append((rate(step, batch, arguments.seconds / 2), variant, step))
    _, variant, step = max(found, key=lambda one: one[0])
    return variant, step


def compare(torch, name, batch, arguments):
    """Both in turn: medians of their rates, and of the ratio."""
    variant, step = best_variant(torch, name, batch, arguments)
    mine, theirs = [], []
    for _ in range(arguments.rounds):
        mine.append(ours("step", name, batch, arguments.threads, arguments.seconds)["images_per_second"])
        theirs.append(rate(step, batch, arguments.seconds))
    return {"model": name, "batch": batch, "ours": statistics.median(mine), "pytorch": statistics.median(theirs),
            "variant": variant, "runs": len(mine), "ratio": statistics.median(a / b for a, b in zip(mine, theirs))}


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", help="cases whose name holds this (mlp, lenet)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", help="write the rows to this file too")
    arguments = parser.parse_args()
    if "YOKE_BENCH_BUILD" not in os.environ:
        subprocess.run(["cmake", "--build", str(BUILD), "--target", "step_bench"], check=True, stdout=subprocess.DEVNULL)

    logging.disable(logging.WARNING)  # PyTorch remarks that there is no CUDA
    import torch  # late: --help works without it
    torch.set_num_threads(arguments.threads)
    limits = ours("limits", arguments.threads)
    print(f"yoke {limits['version']} ({limits['commit']}), {limits['library']}; PyTorch {torch.__version__}")
    print(f"{cpu_name()}, {arguments.threads} threads: {limits['gemm_f32'] / 1e9:.0f} GF/s f32, "
          f"{limits['cache_bandwidth'] / 1e9:.0f} GB/s in cache, {limits['memory_bandwidth'] / 1e9:.0f} GB/s from memory")
    print(f"{'name':<6} {'case':<10} {'median':>9} {'unit':<8} {'runs':>4} {'PyTorch':>9} {'its best':<14} {'ratio':>6} {'of limit':>8}")
    rows = []
    for name, batch in CASES:
        if arguments.only not in name:
            continue
        row = compare(torch, name, batch, arguments)
        row["of_limit"] = row["ours"] / limit(name, batch, limits)
        rows.append(row)
        print(f"{name:<6} batch {batch:<4} {row['ours']:>9,.0f} images/s {row['runs']:>4} {row['pytorch']:>9,.0f} "
              f"{row['variant']:<14} {row['ratio']:>5.2f}x {row['of_limit']:>7.0%}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"limits": limits, "pytorch": torch.__version__, "cpu": cpu_name(),
                                                            "threads": arguments.threads, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
