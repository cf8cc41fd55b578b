#!/usr/bin/env python3
"""Measures the hashed output layer: speed, scaling and memory, as Markdown tables.

usage: bench/slide_speed.py PART [options] [--threads N] [--json FILE]

Time is training time without evaluation. What a table compares was measured in the same run of its part. PyTorch is needed
for its own rows alone: run this with ~/.cache/yoke/venv-bench/bin/python (tools/setup bench makes it), or by
`make bench-slide PART=...`. The program is build/release/bin/yoke; YOKE_BENCH_BUILD names another build folder. Checkpoints go
to /dev/shm where it has room.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import shutil
import tempfile
import time

import slide_jobs
import slide_labels
import slide_scaling
import slide_yardstick
from conditions import conditions, cpu_name, version

CORES = len(os.sched_getaffinity(0))


def numbers(kind):
    return lambda text: [kind(one) for one in text.split(",")]


def common(parts, name, minutes, run):
    words = f"{run.__doc__} Takes about {minutes} minutes on two quiet cores."
    part = parts.add_parser(name, help=words, description=words)
    part.set_defaults(run=run, part=name)
    part.add_argument("--threads", type=int, default=CORES)
    part.add_argument("--json", help="write all figures to this file too")
    return part


def add_labels(parts):
    part = common(parts, "labels", 20, slide_labels.labels)
    part.add_argument("--labels", type=int, default=670091)
    part.add_argument("--features", type=int, default=135909)
    part.add_argument("--examples", type=int, default=30000)
    part.add_argument("--test", type=int, default=2000)
    part.add_argument("--batch", type=int, default=256, help="of every side")
    part.add_argument("--epochs", type=int, default=6, help="of SLIDE (~2 s each)")
    part.add_argument("--dense-epochs", type=int, default=4, help="of our dense network (~2 min each in f32)")
    part.add_argument("--rates", type=numbers(float), default=[5e-3, 1e-2, 2e-2], help="Adam rates that SLIDE tries")
    part.add_argument("--dense-rates",
                      type=numbers(float),
                      default=[5e-3, 1e-2, 2e-2],
                      help="Adam rates that the dense network tries on a problem of a 16th of the labels")
    part.add_argument("--seeds", type=int, default=3, help="of SLIDE at its best rate")
    part.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    part.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    part.add_argument("--full-torch",
                      action="store_true",
                      help="train PyTorch to the P@1 instead of timing steps (~15 min more)")


def add_yardstick(parts):
    part = common(parts, "yardstick", 4, slide_yardstick.yardstick)
    part.add_argument("--examples", type=int, default=20000)
    part.add_argument("--epochs", type=int, default=15)
    part.add_argument("--rates", type=numbers(float), default=[3e-3, 1e-2], help="Adam rates that every side tries")
    part.add_argument("--labels", type=int, default=50000)


def add_scaling(parts):
    part = common(parts, "sublinear", 5, slide_scaling.sublinear)
    part.set_defaults(examples=16384, epochs=5)
    part.add_argument("--labels", type=numbers(int), default=[25000 * 2**k for k in range(8)])
    part.add_argument("--active", type=int, default=1536, help="ids besides labels")
    part.add_argument("--rounds", type=int, default=2)
    part = common(parts, "optimizer", 2, slide_scaling.optimizer)
    part.set_defaults(examples=16384, epochs=4)
    part.add_argument("--labels", type=numbers(int), default=[100000, 670091])
    part.add_argument("--actives", type=numbers(int), default=[512, 1536, 4608], help="ids besides labels")
    part.add_argument("--rounds", type=int, default=2)
    part = common(parts, "threads", 3, slide_scaling.threads)
    part.set_defaults(examples=30000, epochs=4)
    part.add_argument("--labels", type=numbers(int), default=[670091])
    part.add_argument("--active", type=int, default=0, help="ids besides labels; 0: the layer's default")
    part.add_argument("--counts", type=numbers(int), default=[n for n in (1, 2, 4, 8, 16, 32) if n <= CORES])
    part.add_argument("--rounds", type=int, default=3)
    part = common(parts, "memory", 1, slide_scaling.memory)
    part.set_defaults(examples=30000, epochs=2, active=0)
    part.add_argument("--labels", type=numbers(int), default=[670091])


def arguments_of_line(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    add_labels(parts)
    add_yardstick(parts)
    add_scaling(parts)
    common(parts, "all", 35, run_all)
    return parser.parse_args(words)


def run_all(arguments):
    """All parts in turn, each with its defaults."""
    everything = {}
    for name in ("labels", "yardstick", "sublinear", "optimizer", "threads", "memory"):
        words = [name, "--threads", str(arguments.threads)]
        everything[name] = show(arguments_of_line(words))
        save(arguments, everything)
    return [], everything


def show(arguments):
    """Runs a part, prints its table and returns its figures."""
    start = time.monotonic()
    lines, figures = arguments.run(arguments)
    print("\n".join([f"### {arguments.part}", "", *lines, "", f"({(time.monotonic() - start) / 60:.1f} minutes)", ""]),
          flush=True)
    return figures


def save(arguments, figures):
    """Writes what was measured so far to the JSON file, if one is wanted."""
    if arguments.json:
        record = {"version": version(slide_jobs.PROGRAM), "cpu": cpu_name(), "thread_count": arguments.threads} | figures
        pathlib.Path(arguments.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main():
    arguments = arguments_of_line()
    memory_disk = pathlib.Path("/dev/shm")  # A run ends with a checkpoint of gigabytes: a disk would take minutes.
    if memory_disk.is_dir() and shutil.disk_usage(memory_disk).free > 8e9:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.gettempdir() + "/torchinductor")  # Not there: it stays.
        tempfile.tempdir = str(memory_disk)
    save(arguments, {arguments.part: show(arguments)} if arguments.part != "all" else show(arguments))
    print(conditions(arguments.threads, "medians where a table says so", version(slide_jobs.PROGRAM)))


if __name__ == "__main__":
    main()
