#!/usr/bin/env python3
"""From which ratio of speeds on a CPU beside a GPU stops paying, in virtual time.

usage: devices_crossover.py [--sets covtype,w8a] [--widths 128,512,1024] [--ratios 1,3,10,30,100,300] [--batch 2048]

The GPU is examples/devices/k80.toml whose peak and memory are so much faster that its peak is RATIO times the CPU's; launches and
link stay. Prints examples a second of split and hogbatch (64 a CPU thread, BATCH on the GPU), divided by those of the GPU alone
(single), all of batch BATCH. Both of split's devices work for the same update as single's, so its gain is one in time to a loss;
hogbatch's is one in examples only.
"""
import explain  # noqa: F401
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import tomllib

from devices_table import BOTH, PROGRAM, SETS, hogbatch, job_text, whole
from job_runs import DATA, ROOT, events

CPU, GPU = (ROOT / f"examples/devices/{name}.toml" for name in ("cpu-16-cores", "k80"))


def examples_per_second(folder, job, gpu, devices, keys):
    """In the second epoch: in the first one, split finds the devices' speeds."""
    run = folder / "run"
    subprocess.run(["rm", "-rf", run], check=True)
    words = [PROGRAM, job, "--run", run, *(f"--device={device}={CPU if device == 'cpu' else gpu}" for device in devices)]
    settings = {**keys, "node.devices": devices, "train.learning_rate": 1e-4, "train.epochs": 2}
    words += [f"--set={key}={json.dumps(value)}" for key, value in settings.items()]
    subprocess.run(list(map(str, words)), check=True, env={**os.environ, "YOKE_DATA": str(DATA)}, stdout=subprocess.DEVNULL)
    first, second = (epoch["seconds"] for epoch in events(run, "epoch"))
    return events(run, "start")[0]["train_examples"] / (second - first)


def faster(folder, ratio):
    """The GPU's curve, as a file."""
    curve, cpu = tomllib.loads(GPU.read_text()), tomllib.loads(CPU.read_text())
    times = ratio * cpu["operations_per_second"] / curve["operations_per_second"]
    for key in ("operations_per_second", "bytes_per_second"):
        curve[key] *= times
    path = folder / "gpu.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in curve.items()))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="covtype,w8a")
    parser.add_argument("--widths", default="128,512,1024")
    parser.add_argument("--ratios", default="1,3,10,30,100,300")
    parser.add_argument("--batch", type=int, default=2048)
    arguments = parser.parse_args()
    ratios = [int(ratio) for ratio in arguments.ratios.split(",")]
    ways = {"split": (BOTH, whole("split", arguments.batch)), "hogbatch": (BOTH, {**hogbatch(64, arguments.batch), "train.batch": 2048})}
    print("| | | " + " | ".join(f"{ratio}x" for ratio in ratios) + " |\n|" + " --- |" * (2 + len(ratios)))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for data in arguments.sets.split(","):
            text, layers, _ = SETS[data]
            for width in map(int, arguments.widths.split(",")):
                job = folder / "job.toml"
                job.write_text(job_text(text, layers, folder).replace("512", str(width)))
                gains = {way: [] for way in ways}
                for ratio in ratios:
                    gpu = faster(folder, ratio)
                    alone = examples_per_second(folder, job, gpu, BOTH[1:], whole("single", arguments.batch))
                    for way, settings in ways.items():
                        gains[way].append(examples_per_second(folder, job, gpu, *settings) / alone)
                for way, values in gains.items():
                    print(f"| {data}, {layers} x {width} | {way} | " + " | ".join(f"{gain:.2f}" for gain in values) + " |", flush=True)


if __name__ == "__main__":
    main()
