"""The programs of bench/ and tests/ that benchmarks run: brought up to date."""
import fcntl
import os
import subprocess
import sys
import threading

from lib.places import BUILD

ONE_AT_A_TIME = threading.Lock()
READY = set()


def build(name):
    """Brings a program up to date, one script at a time; RuntimeError where nothing is configured."""
    if not (BUILD / "build.ninja").exists():
        raise RuntimeError(f"{BUILD} has no configured build: run make build")
    command = ["cmake", "--build", str(BUILD), "--target", name]
    print("building:", *command, file=sys.stderr, flush=True)
    with open(BUILD / "bench.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def program(name, folder="bench"):
    """The path of a program, which is up to date, unless YOKE_BENCH_BUILD says which build to take."""
    with ONE_AT_A_TIME:
        path = BUILD / folder / name
        if path not in READY and "YOKE_BENCH_BUILD" not in os.environ and ((BUILD / "build.ninja").exists() or not path.exists()):
            build(name)
        READY.add(path)
    return path
