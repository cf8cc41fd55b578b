"""Runs yoke for the benchmarks: commands, and jobs that are trained once and then read from their run directories."""
import concurrent.futures
import functools
import itertools
import json
import math
import pathlib
import resource
import select
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
import zlib

from lib.build import program
from lib.places import ENVIRONMENT, PROGRAM

DIVERGED = 3  # exit status
ENDED_BADLY = (1, DIVERGED, 4)  # those of a run that began
QUICK = "--quick" in sys.argv
SIMULATE = [PROGRAM, "simulate"]


def toml(value):
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(str(value) if isinstance(value, pathlib.Path) else value)


def job_text(job):
    """A job file of these sections: {section: {key: value}}."""
    return "\n".join(f"[{section}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items()) for section, keys in job.items())


def write_job(path, job):
    """The file `path`, with a job of these sections that saves nothing before its end."""
    path.write_text(job_text({"checkpoint": {"every_epochs": 0}, **job}), encoding="utf-8")
    return path


def changes(settings):
    """Words that set these keys, {key: value}; values that are text are taken as they are."""
    return [f"--set={key}={value if isinstance(value, str) else toml(value)}" for key, value in settings.items()]


def from_words(words):
    """{key: value} of words KEY=VALUE, as `arguments.set` has them."""
    return dict(word.split("=", 1) for word in words)


def execute(command, accept=()):
    """What a command prints; an error where it ends otherwise than with 0 or a status of `accept`."""
    command = list(map(str, command))
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    if done.returncode not in (0, *accept):
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


def events(*words, launcher=(), accept=()):
    """The events that a command of yoke prints."""
    return list(map(json.loads, execute([*launcher, PROGRAM, *words, "--json"], accept).splitlines()))


def last(found, name):
    """The last of these events with this name, or None."""
    return next((event for event in reversed(found) if event["event"] == name), None)


def trains_bf16():
    """Whether this processor trains in bf16, as `yoke doctor` says."""
    return any("bf16 is native" in finding["meaning"] for finding in last(events("doctor"), "doctor")["findings"])


def first_at(curve, value):
    """Where a curve of (x, y) first reaches a value, linearly between its points; None if it never does."""
    before = None
    for x, y in curve:
        if y >= value:
            return x if before is None else before[0] + (x - before[0]) * (value - before[1]) / (y - before[1])
        before = x, y
    return None


class Run:
    """The record of a run that has ended: its events `start`, `epoch`, `evaluation` (by steps) and `end` as dictionaries."""

    def __init__(self, folder):
        self.folder = folder
        lines = list(map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()))
        self.starts, self.epochs, self.evaluations, ends = (
            [line for line in lines if line["event"] == kind] for kind in ("start", "epoch", "evaluation", "end"))
        self.start, self.end, self.ends = self.starts[0], ends[-1] if ends else {"reason": "none"}, ends
        for line, session in zip(lines, itertools.accumulate(line["event"] == "end" for line in lines)):
            line["session"] = session  # the place of its end in `ends`
        seconds = 0.0
        for epoch in self.epochs:  # training alone, without evaluations
            seconds += self.start["train_examples"] / epoch.get("examples_per_second", math.inf)
            epoch["train_seconds"] = seconds

    cost = property(lambda self: json.loads((self.folder / "finished").read_text(encoding="utf-8")))
    wall = property(lambda self: self.cost["wall"], doc="Seconds of the whole command.")
    processor = property(lambda self: self.cost["processor"], doc="Processor seconds of it, if it was not run beside others.")
    diverged = property(lambda self: self.end["reason"] == "diverged")
    seconds = property(lambda self: self.epochs[-1]["seconds"], doc="Of training; of a simulated run virtual ones.")
    exchange = property(lambda self: self.epochs[-1].get("exchange", {}), doc="Counters over the whole run; of one replica {}.")
    accuracy = property(lambda self: self.epochs[-1]["test"]["accuracy"])

    def curve(self, x="seconds", metric="accuracy"):
        """(x, metric) after each evaluation; x: seconds, train_seconds or epoch."""
        return [(epoch[x], epoch["test"][metric]) for epoch in self.epochs if epoch.get("test")]

    def searched(self, event):
        """Virtual seconds of a planner's searches up to an event, without the trials that training goes on from; None if its session has no end."""
        end = next(iter(self.ends[event["session"]:]), None)
        return end and end["virtual_seconds"] - end["seconds"]

    def virtual_curve(self, metric="accuracy"):
        """(virtual seconds with the searches, metric) after each evaluation of a session that has ended."""
        return [(epoch["seconds"] + searched, epoch["test"][metric]) for epoch in self.epochs
                if epoch.get("test") and (searched := self.searched(epoch)) is not None]

    def reaches(self, value, x="seconds"):
        return first_at(self.curve(x), value)

    def step_seconds(self):
        """Of each step, without evaluations."""
        return self.end["exchange"]["step_seconds"] / self.end["step"]


@functools.cache
def program_sum(path):
    return zlib.crc32(path.read_bytes())


def small(job, runs):
    """For --quick: the job with a few drawn digits in place of many, or of a set of images."""
    sections = tomllib.loads(job.read_text(encoding="utf-8"))
    data, digits = sections["data"], {"format": "synthetic-digits", "train_size": 640, "test_size": 100}
    images = data["format"] in ("idx", "cifar", "image-folder") and "$YOKE_DATA" in str(data)
    many = data["format"] == "synthetic-digits" and data.get("train_size", 12000) > 640
    return write_job(runs / f"quick-{job.name}", {**sections, "data": digits}) if images or many else job


def processor_seconds():
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trained(job, settings, runs, *words, command=(PROGRAM, "train"), launcher=(), accept=(), keep=False):
    """The Run of a job file with these settings {key: value} and words of the command line: the one of the same program and launcher
    that the folder `runs` holds, or a new one. accept: exit statuses that are results. keep: its checkpoints too."""
    job, words = small(job, runs) if QUICK else job, [*map(str, words), *changes(settings)]
    key = zlib.crc32("\n".join([*map(str, [*launcher, *command]), job.read_text(encoding="utf-8"), *words]).encode(), program_sum(command[0]))
    run = runs / f"{job.stem}-{key:08x}"
    if not (run / "finished").exists():
        shutil.rmtree(run, ignore_errors=True)
        began, used = time.monotonic(), processor_seconds()
        execute([*launcher, *command, job, "--run", run, *(["--quiet"] if command[0] == PROGRAM else []), *words], accept)
        if not keep:
            shutil.rmtree(run / "checkpoints", ignore_errors=True)
        cost = {"wall": time.monotonic() - began, "processor": processor_seconds() - used}
        (run / "finished").write_text(json.dumps(cost), encoding="utf-8")
    return Run(run)


def virtual(job, cluster, settings, runs, *words, **more):
    """The Run of a job on a simulated cluster, whose properties are options of virtual_run: {"bandwidth": 1.25e9, ...}."""
    return trained(job, settings, runs, *(f"--{name.replace('_', '-')}={value}" for name, value in cluster.items()), *words,
                   command=[program("virtual_run")], **more)


def at_once(function, items, workers=2):
    """[function(item), ...], some at a time."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def median(results):
    """The median; of tuples, that of each column."""
    return tuple(map(statistics.median, zip(*results))) if isinstance(results[0], (tuple, list)) else statistics.median(results)


def in_turn(cases, rounds, measure):
    """{case: [result of each round]}: every round goes through all cases, so that what disturbs one disturbs all."""
    results = {case: [] for case in cases}
    for _ in range(rounds):
        for case, found in results.items():
            found.append(measure(case))
    return results


def medians(cases, rounds, measure):
    """{case: median(results of its rounds)}, in turn."""
    return {case: median(results) for case, results in in_turn(cases, rounds, measure).items()}


class Server:
    """A process that answers each line of its standard input by a line of JSON."""

    def __init__(self, *words):
        self.process = subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, request, limit=600):
        """One answer; TimeoutError after `limit` seconds, RuntimeError when the process died."""
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], limit)[0]:
            raise TimeoutError(f"took more than {limit} s")
        if not (answer := self.process.stdout.readline()):
            raise RuntimeError(f"`{' '.join(self.process.args)}` ended with status {self.process.wait()}")
        return json.loads(answer)

    def end(self):
        self.process.kill()
        self.process.communicate()
