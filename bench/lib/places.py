"""Where the programs and data of the benchmarks lie."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("YOKE_BENCH_BUILD", ROOT / "build/release"))
PROGRAM = pathlib.Path(os.environ.get("YOKE", ROOT / "build/bin/yoke"))
DATA = pathlib.Path(os.environ.get("YOKE_DATA", ROOT / "../shared/data"))
ENVIRONMENT = {**os.environ, "YOKE_DATA": str(DATA), "XDG_CACHE_HOME": os.devnull}  # no plan learns from an earlier one
CORES = len(os.sched_getaffinity(0))
