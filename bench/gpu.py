#!/usr/bin/env python3
"""yoke on a GPU, part by part: networks against PyTorch's best form, a CPU and a GPU together, EASGD, the GPU's speed curve.

usage: bench/gpu.py PART|all [--yoke PROGRAM] [--device cuda:0] [--table FILE] [--seconds N] [--again] [--dry-run]

FILE (build/gpu-bench.json) grows from call to call: what it has is not measured again, and what is not done within N seconds (180) is
left to the next call. PyTorch's half is a process of its own for each form, with a time limit. --dry-run: a try of seconds of each part
with small sizes, which measures nothing; with --device cpu or emulated:0 on any machine.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from gpu_parts import LIMIT, PARTS, Setting, TooLittleTime
from lib.places import ROOT

LEAST = 5  # seconds for which a unit is worth beginning


def print_table(columns, rows):
    lines = [columns, *[list(map(str, row)) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def measure(name, setting, table, again):
    """Measures what the part lacks, as far as time goes; returns how many units are left."""
    found, left = table["parts"].setdefault(name, {}), 0
    for key, call in PARTS[name].units(setting):
        if key in found and not again:
            continue
        if setting.left() < LEAST:
            left += 1
            continue
        try:
            found[key] = call()
        except TooLittleTime:
            left += 1
            continue
        table["file"].write_text(json.dumps(table["parts"], indent=1))
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--yoke", type=pathlib.Path, default=ROOT / "build/bin/yoke")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "build/gpu-bench.json")
    parser.add_argument("--seconds", type=float, default=2 * LIMIT)
    parser.add_argument("--again", action="store_true", help="measure all anew")
    parser.add_argument("--dry-run", action="store_true", help="try each unit for a moment")
    arguments = parser.parse_args()
    yoke = arguments.yoke.resolve()
    doctor = json.loads(subprocess.run([yoke, "doctor", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()[0])
    usable = [gpu["device"] for gpu in doctor["cuda"] if not gpu["not_usable"]]
    if arguments.device.startswith("cuda") and arguments.device not in usable:
        print(f"gpu-bench: there is no {arguments.device} here: {doctor['no_cuda'] or 'see yoke doctor'}.")
        return 0
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="yoke-gpu-bench-") as temporary:
        folder = pathlib.Path(temporary)
        file = folder / "table.json" if arguments.dry_run else arguments.table
        file.parent.mkdir(parents=True, exist_ok=True)
        table = {"file": file, "parts": json.loads(file.read_text()) if file.exists() else {}}
        setting = Setting(yoke, arguments.device, folder, lambda: end - time.monotonic(), arguments.dry_run, doctor)
        for name in PARTS if arguments.part == "all" else [arguments.part]:
            left = measure(name, setting, table, arguments.again)
            print(f"{name}:" + (f" {left} more to measure: call it again" if left else ""))
            print_table(*PARTS[name].table(setting, table["parts"][name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
