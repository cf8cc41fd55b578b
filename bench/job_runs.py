"""Runs of our jobs for the benchmarks: each trained once, then read from its run directory."""
import json
import os
import pathlib
import subprocess
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("YOKE", ROOT / "build/bin/yoke"))
DATA = pathlib.Path(os.environ.get("YOKE_DATA", ROOT / "../shared/data"))


def add_options(parser):
    """What the benchmarks that train jobs share on their command lines."""
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change our job")
    parser.add_argument("--runs", help="keep our run directories here, and use those that are here already")


def yoke(*words):
    """The program's last line of JSON."""
    environment = {**os.environ, "YOKE_DATA": str(DATA)}
    done = subprocess.run([str(PROGRAM), *map(str, words), "--json"], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def require_accepted(done):
    """A run may diverge, which is a result; one that the program refuses (status 2) ends the benchmark."""
    if done.returncode == 2:
        raise RuntimeError((done.stderr or f"`{' '.join(done.args)}` was refused").strip())


def trained(arguments, job, precision, seed):
    """The run directory of this job: the one that the folder `arguments.runs` holds already, or a new one."""
    settings = zlib.crc32("\n".join([job.read_text(), str(arguments.threads), *arguments.set]).encode())
    run = pathlib.Path(arguments.runs) / f"{job.stem}-{precision}-{arguments.epochs}-{seed}-{settings:08x}"
    if run.exists():
        yoke("train", "--resume", run)  # a finished one returns at once
    else:
        yoke("train", job, "--run", run, "--precision", precision, "--threads", arguments.threads, "--set",
             f"train.epochs={arguments.epochs}", "--set", f"train.seed={seed}", *(f"--set={change}" for change in arguments.set))
    return run


def events(run, kind):
    """The lines of a run's record of one kind: epoch, end."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == kind]
