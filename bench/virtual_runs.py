"""Runs of bench/virtual_run for the tables: a job trained on a simulated cluster once, then read from its run directory.

    cluster = Cluster(bandwidth=1.25e9, step_seconds=0.004)
    run = train(JOBS / "allreduce.toml", cluster, {"train.epochs": 4}, folder)
    print(run.seconds, run.accuracy, run.seconds_to(0.89))

The program is build/release/bench/virtual_run; YOKE_BENCH_BUILD names another build folder.
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import zlib

from job_runs import DATA, ROOT, events

VIRTUAL_RUN = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release")) / "bench/virtual_run"
JOBS = ROOT / "examples/strategies"
GIGABIT = 1.25e8  # bytes a second

# A core of an Intel Xeon with AVX-512, by model and batch: `yoke bench JOB --set node.threads=1 --with train.batch=N
# --rounds 3` at commit 06f69f9, the fastest round, less the update of the rule momentum at MEMORY.
MEMORY = 2.5e10  # bytes a second of arithmetic on values
STEP_SECONDS = {"lenet": {64: 11.39e-3, 16: 2.105e-3, 8: 1.043e-3}, "alexnet-cifar": {64: 23.9e-3, 16: 5.658e-3, 8: 2.904e-3}}


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Options of virtual_run; None: its default."""
    bandwidth: float | None = None      # bytes a second of a network card
    latency: float | None = None        # seconds
    step_seconds: float | None = None   # forward and backward of the job's batch
    device_link: float | None = None    # bytes a second between host and device
    memory: float | None = None         # bytes a second of arithmetic on values
    copies: float | None = None         # bytes a second of a message's copies
    ranks_per_node: int | None = None
    cores: int | None = None
    slow_rank: int | None = None
    slow_factor: float | None = None
    jitter: float | None = None

    def words(self):
        pairs = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return [f"--{name.replace('_', '-')}={value!r}" for name, value in pairs if value is not None]


@dataclasses.dataclass
class Run:
    """A run that ended in order."""
    folder: pathlib.Path

    def __post_init__(self):
        self.epochs, self.end = events(self.folder, "epoch"), events(self.folder, "end")[-1]

    @property
    def seconds(self):
        """Virtual seconds of training."""
        return self.epochs[-1]["seconds"]

    @property
    def steps(self):
        """Of the job: where work is dealt in step, those of each replica."""
        return self.epochs[-1]["step"]

    @property
    def accuracy(self):
        return self.epochs[-1]["test"]["accuracy"]

    @property
    def exchange(self):
        """Its counters over the whole run; of one replica {}."""
        return self.epochs[-1].get("exchange", {})

    def curve(self, of="seconds"):
        """(seconds or epochs, accuracy) after each evaluation."""
        return [(epoch[of], epoch["test"]["accuracy"]) for epoch in self.epochs if epoch.get("test")]

    def seconds_to(self, accuracy):
        return first_at(self.curve(), accuracy)

    def epochs_to(self, accuracy):
        return first_at(self.curve("epoch"), accuracy)


def first_at(curve, value):
    """Where a curve of (x, y) first reaches a value, linearly between its points; None if it never does."""
    before = None
    for x, y in curve:
        if y >= value:
            return x if before is None else before[0] + (x - before[0]) * (value - before[1]) / (y - before[1])
        before = x, y
    return None


def train(job, cluster, settings, folder):
    """The run of this job with these settings ({key: value}) on this cluster; one of the same program that `folder` holds is read."""
    words = cluster.words() + [f"--set={key}={value}" for key, value in settings.items()]
    name = zlib.crc32("\n".join([job.read_text(encoding="utf-8"), *words]).encode(), zlib.crc32(VIRTUAL_RUN.read_bytes()))
    run = pathlib.Path(folder) / f"{job.stem}-{name:08x}"
    if not (run / "finished").exists():
        shutil.rmtree(run, ignore_errors=True)
        done = subprocess.run([str(VIRTUAL_RUN), str(job), "--run", str(run), *words], check=False, capture_output=True, text=True,
                              env={**os.environ, "YOKE_DATA": str(DATA)})
        if done.returncode != 0:
            raise SystemExit(f"{job.stem} {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        (run / "finished").write_text(json.dumps({"words": words, **json.loads(done.stdout.splitlines()[-1])}), encoding="utf-8")
    return Run(run)


def train_all(requests, folder, at_once=2):
    """The runs of [(job, cluster, settings), ...], some at a time, in their order."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda request: train(*request, folder), requests))
