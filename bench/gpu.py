#!/usr/bin/env python3
"""Our training step on a GPU against PyTorch's best form, in examples a second: a table that grows from call to call.

usage: bench/gpu.py PART [--yoke PROGRAM] [--device cuda:0] [--table FILE] [--seconds N] [--again]

PART is mlp, lenet or all. A row that FILE (build/gpu-bench.json) has is not measured again, and what is not begun within N seconds
(180) is left to the next call. PyTorch's half is a process of its own with a time limit; without PyTorch its columns stay empty.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Model of the job, batches and steps of an epoch.
PARTS = {"mlp": ({"name": "mlp", "widths": [512, 512]}, [1, 64, 512]), "lenet": ({"name": "lenet"}, [64, 512])}
PRECISIONS = ["f32", "bf16"]
EPOCHS, STEPS, LIMIT = 3, 2000, 60


def words_of(value):
    return json.dumps(value)  # TOML has the same words and lists of numbers


def ours(yoke, device, model, batch, precision):
    """Examples a second of the last epoch, and why there are none."""
    examples = max(batch * STEPS // (1 + batch // 64), 10 * batch)
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / "job.toml"
        job.write_text("\n".join([
            "[data]", 'format = "synthetic-digits"', f"train_size = {examples}", "test_size = 10", "[model]",
            *(f"{key} = {words_of(value)}" for key, value in model.items()), "[train]", f"batch = {batch}", f"epochs = {EPOCHS}",
            "learning_rate = 0.001", "[node]", f'devices = "{device}"', f'precision = "{precision}"']))
        command = [yoke, "train", job, "--json", "--run", pathlib.Path(folder) / "run"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return None, f"more than {LIMIT} s"
    epochs = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "epoch"]
    if done.returncode != 0 or not epochs:
        return None, done.stderr.strip() or f"exit status {done.returncode}"
    return epochs[-1]["examples_per_second"], ""


def theirs(device, name, batch, precision):
    """The same of PyTorch's best form, and which that is."""
    command = [sys.executable, ROOT / "bench/gpu_torch.py", name, str(batch), precision, device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"more than {LIMIT} s"
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["failed"])[-1]
    best = json.loads(done.stdout.splitlines()[-1])
    return best["examples_per_second"], best["form"]


def print_table(rows):
    lines = [["model", "batch", "precision", "yoke", "PyTorch", "ratio", "PyTorch's form"]]
    for key, row in rows.items():
        rates = [row["yoke"], row["torch"]]
        ratio = f"{rates[0] / rates[1]:.2f}" if all(rates) else ""
        lines.append([*key.split(), *(f"{rate:,.0f}" if rate else "-" for rate in rates), ratio, row["why"] or row["form"]])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--yoke", type=pathlib.Path, default=ROOT / "build/bin/yoke")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "build/gpu-bench.json")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    doctor = subprocess.run([arguments.yoke.resolve(), "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    found = json.loads(doctor.splitlines()[0])
    if arguments.device.startswith("cuda") and arguments.device not in [gpu["device"] for gpu in found["cuda"]]:
        print(f"gpu-bench: there is no {arguments.device} here: {found['no_cuda'] or 'another number'}.")
        return
    rows = json.loads(arguments.table.read_text()) if arguments.table.exists() else {}
    end = time.monotonic() + arguments.seconds
    for name in PARTS if arguments.part == "all" else [arguments.part]:
        model, batches = PARTS[name]
        for batch in batches:
            for precision in PRECISIONS:
                key = f"{name} {batch} {precision}"
                if (key in rows and not arguments.again) or time.monotonic() > end:
                    continue
                rate, why = ours(arguments.yoke.resolve(), arguments.device, model, batch, precision)
                torch, form = theirs(arguments.device, name, batch, precision)
                rows[key] = {"yoke": rate, "why": why, "torch": torch, "form": form}
                arguments.table.parent.mkdir(parents=True, exist_ok=True)
                arguments.table.write_text(json.dumps(rows, indent=1))
    print_table(rows)


if __name__ == "__main__":
    main()
