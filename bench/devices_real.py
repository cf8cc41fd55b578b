#!/usr/bin/env python3
"""Real threads against virtual time: one CPU thread and a slowed emulated device, a core each.

usage: bench/devices_real.py [--slowdown 2] [--seconds 4] [--rounds 3] [--batches 512,2048]

An MLP of 3 hidden layers on covtype-20k. Speeds are measured with both devices at work (hogbatch, batches of three sizes; split, three
divisions), fitted (seconds = a + c b an update) and written as curves; then hogbatch with other sizes, adaptive_hogbatch and split run
in real and in virtual time, the real ones in turn. Prints seconds an epoch and updates a device; for split also t <= 1.10 / (1 / t_cpu
+ 1 / t_device) and a sweep of the CPU's fraction of the batch. Needs two idle cores.
"""
import statistics

from devices import BOTH, COVTYPE, fit, hogbatch, job_of, on_devices, whole, write_curve
from lib.options import main, part
from lib.runner import medians, trained
from lib.tables import print_table

MEASURED = [(4, 128), (16, 512), (64, 2048)]
HOGBATCH = {"hogbatch, 8 and 256": hogbatch(8, 256), "hogbatch, 32 and 1024": hogbatch(32, 1024), "hogbatch, 2 and 2048": hogbatch(2, 2048),
            "adaptive_hogbatch": {"node.executor": "adaptive_hogbatch", "node.adaptive_cpu_most": 64, "node.adaptive_device_least": 64,
                                  "node.hogbatch_device_batch": 1024}}
DIVISIONS = [0.4, 0.65, 0.9]
SWEEP = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


def split(batch, fraction=None):
    return {**whole("split", batch), **({"node.split_fractions": [fraction, round(1 - fraction, 2)]} if fraction else {})}


def an_epoch(run):
    """Of the epochs after the first two: median seconds; means by device: updates, seconds an update while busy, examples."""
    rows = [[0.0] * 7]
    for event in run.epochs:
        node, seconds = event["node"], event["seconds"]
        rows.append([seconds, *(node["updates"][name] for name in BOTH), *(node["busy"][name] * seconds for name in BOTH),
                     *(node["examples"][name] for name in BOTH)])
    seconds = statistics.median(now[0] - before[0] for now, before in zip(rows[3:], rows[2:]))
    cpu, device, cpu_busy, device_busy, *examples = ((last - first) / (len(rows) - 3) for last, first in zip(rows[-1][1:], rows[2][1:]))
    return [seconds, cpu, device, cpu_busy / max(1, cpu), device_busy / max(1, device), *examples]


def fitted(epochs):
    """a and c of each device, from the mean seconds and examples of its updates; neither is below 0."""
    speeds = []
    for i in range(2):
        points = [(epoch[5 + i] / epoch[1 + i], epoch[3 + i]) for epoch in epochs]
        a, c = fit(points)
        speeds.append((a, c) if a > 0 else (1e-6, statistics.mean(seconds / size for size, seconds in points)))
    return speeds


class Machine:
    """One CPU thread and a slowed emulated device, a core each: the real ones and their curves."""

    def __init__(self, arguments):
        self.arguments, self.curves, self.runs = arguments, {}, 0
        self.job = job_of("real", COVTYPE, [arguments.width] * 3, arguments.runs, devices=BOTH, emulated_slowdown=arguments.slowdown)

    def limit(self, settings):
        self.runs += 1  # another name for each: a real run is no result of another
        return {"train.time_limit": f"{self.arguments.seconds}s", "train.epochs": 10**6 + self.runs, **settings}

    def real(self, settings):
        return an_epoch(trained(self.job, self.limit(settings), self.arguments.runs))

    def virtual(self, settings):
        files = {name: write_curve(self.arguments.runs / f"{name.replace(':', '-')}.toml", curve) for name, curve in self.curves.items()}
        return an_epoch(on_devices(self.job, files, self.limit(settings), self.arguments.runs))

    def medians(self, cases):
        """an_epoch of each of {name: settings}, run in turn."""
        return medians(cases, self.arguments.rounds, lambda name: self.real(cases[name]))

    def calibrate(self, cases, wanted):
        """Curves that give the measured seconds: a by launches of kernels, c by operations."""
        self.curves = {name: {"title": name, "source": "devices.py", "operations_per_second": 1e11, "half_batch": 0,
                              "bytes_per_second": 1e18, "launch_seconds": 1e-5, "threads": 1} for name in BOTH}
        self.curves["emulated:0"]["link_bytes_per_second"] = 1e18
        for _ in range(2):
            got = fitted([self.virtual(settings) for settings in cases])
            for (a, c), (mean_a, mean_c), curve in zip(wanted, got, self.curves.values()):
                curve["operations_per_second"] *= mean_c / c
                curve["launch_seconds"] *= max(a, 1e-9) / mean_a
        print("\n" + ", ".join(f"{name}: {1e6 * a:.0f} us an update + {1e6 * c:.2f} us an example" for name, (a, c) in zip(BOTH, wanted)))

    def compare(self, cases, measured):
        def rows():
            for name, settings in cases.items():
                real, there = measured[name], self.virtual(settings)
                change = [f"{100 * (there[i] / real[i] - 1):+.1f} %" for i in range(3)]
                yield [name, f"{real[0]:.3f}", f"{there[0]:.3f}", change[0], *("{:.0f}, {:.0f}".format(*one[1:3]) for one in (real, there)),
                       f"{change[1]}, {change[2]}"]

        print_table(["", "seconds an epoch, real", "virtual", "", "updates an epoch, real: CPU, device", "virtual", ""], rows())


def splits(machine, batch):
    """split with this batch, and a sweep of the CPU's fraction of it."""
    name = f"split, {batch}"
    measured = machine.medians({name: split(batch), **{part: split(batch, part) for part in sorted({*SWEEP, *DIVISIONS})}})
    speeds = fitted([measured[part] for part in DIVISIONS])
    machine.calibrate([split(batch, part) for part in DIVISIONS], speeds)
    machine.compare({name: split(batch)}, measured)
    steps, alone = 20000 / batch, [a + c * batch for a, c in speeds]
    limit = (batch + sum(a / c for a, c in speeds)) / sum(1 / c for _, c in speeds)
    print(f"\nThe batch takes {1e3 * alone[0]:.2f} and {1e3 * alone[1]:.2f} ms, divided {1e3 * measured[name][0] / steps:.2f} ms a step; "
          f"1.10 / (1 / t + 1 / t) is {1.1e3 / sum(1 / each for each in alone):.2f}, both passes at their best division {1e3 * limit:.2f}; "
          f"CPU's fraction {measured[name][5] / sum(measured[name][5:]):.2f}")
    print("sweep, ms: " + ", ".join(f"{part:.2f}: {1e3 * measured[part][0] / steps:.2f}" for part in SWEEP) +
          f"; best at {min(SWEEP, key=lambda part: measured[part][0]):.2f}", flush=True)


@part(slowdown=2.0, seconds=4.0, rounds=3, width=256, batches=[512, 2048], quick={"seconds": 1.0, "rounds": 1, "width": 16, "batches": []})
def real(arguments):
    """Real runs in turn, and virtual ones with the curves that they give."""
    machine = Machine(arguments)
    calibration = {str(sizes): hogbatch(*sizes) for sizes in MEASURED}
    measured = machine.medians({**calibration, **HOGBATCH})
    machine.calibrate(calibration.values(), fitted([measured[name] for name in calibration]))
    machine.compare(HOGBATCH, measured)
    for batch in arguments.batches:
        splits(machine, batch)
    return f"medians of {arguments.rounds} runs of {arguments.seconds} s, in turn"


if __name__ == "__main__":
    main(__doc__)
