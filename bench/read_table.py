#!/usr/bin/env python3
"""Reads a CSV file of a million rows and 100 columns: yoke beside pyarrow and pandas, each on the same threads.

usage: bench/read_table.py [options]          (tools/setup python installs pyarrow and pandas)

The file has 40 columns of decimals (10 of them with all digits), 39 of whole numbers, 20 of categories (3 to 22 kinds) and a class; every fifth column lacks
3% of its cells. Timed is the way from the file, which is in the system's cache, to columns: of yoke the matrix of features in f32 (numbers with missing
ones filled and an indicator, one feature a category) and the classes; of pyarrow a Table whose texts are dictionaries; of pandas a DataFrame, and once
more the matrix that yoke makes. All find out the types. pandas has one thread. The order of the sides changes from round to round.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

from lib.build import program
from lib.options import main, part
from lib.places import CORES
from lib.tables import print_table

CACHE = pathlib.Path(os.environ.get("YOKE_CACHE", pathlib.Path.home() / ".cache/yoke"))
PYTHON = os.environ.get("YOKE_BENCH_PYTHON", str(CACHE / "venv-python/bin/python"))
WRITE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.csv
path, rows = sys.argv[1], int(sys.argv[2])
draw = np.random.default_rng(1)
def table(n):
    columns = {}
    def add(name, values, i):
        columns[name] = pa.array(values, mask=draw.random(n) < (0.03 if i % 5 == 0 else 0))
    for i in range(40):
        numbers = draw.normal(size=n) * 10.0 ** draw.integers(-1, 4)
        add(f"real{i}", np.round(numbers, 4) if i < 30 else numbers, i)
    for i in range(39):
        add(f"count{i}", draw.integers(0, 10 ** (i % 6 + 1), n), i)
    for i in range(20):
        kinds = np.array([f"kind {chr(97 + k)}{k}" if i % 2 else f"{'ABCDEFG'[k % 7]}{k}" for k in range(3 + i)])
        add(f"word{i}", kinds[draw.integers(0, len(kinds), n)], i)
    columns["label"] = pa.array(np.array(["no", "yes"])[draw.integers(0, 2, n)])
    return pa.table(columns)
first = table(min(rows, 50000))
with pa.csv.CSVWriter(path, first.schema) as out:
    out.write_table(first)
    for at in range(50000, rows, 50000):
        out.write_table(table(min(50000, rows - at)))
"""
READ = """
import json, resource, sys, time
path, threads = sys.argv[1], int(sys.argv[2])
{start}
def matrix(table):
    table.pop("label")
    for name in table.select_dtypes("number").columns[table.select_dtypes("number").isna().any()]:
        table[name + " is missing"] = table[name].isna()
        table[name] = table[name].fillna(table[name].mean())
    return pandas.get_dummies(table, dtype="float32").to_numpy("float32")
began = time.perf_counter()
table = {read}
seconds = time.perf_counter() - began
print(json.dumps({{"seconds": seconds, "examples": table.shape[0], "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}}))
"""
ARROW = READ.format(start="import pyarrow as pa, pyarrow.csv\npa.set_cpu_count(threads)",
                    read="pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(auto_dict_encode=True))")
PANDAS, MATRIX = (READ.format(start="import pandas, pyarrow", read=read) for read in ("pandas.read_csv(path)", "matrix(pandas.read_csv(path))"))


def measure(command, threads):
    """What the last line of a process on so many cores says."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
    return json.loads(subprocess.run(["taskset", "-c", cores, *command], check=True, capture_output=True, text=True).stdout.splitlines()[-1])


@part(quick={"rows": 20000, "repeats": 1}, threads=CORES, rows=1_000_000, repeats=3)
def read(arguments):
    """Seconds and peak memory of each."""
    reader = program("read_table")
    reader.stat()  # says at once if it is missing
    path = arguments.runs / "table.csv"
    subprocess.run([PYTHON, "-c", WRITE, str(path), str(arguments.rows)], check=True)
    megabytes = path.stat().st_size / 1e6
    sides = {"yoke": [reader, path, "label"],
             "pyarrow": [PYTHON, "-c", ARROW, path, str(arguments.threads)],
             "pandas": [PYTHON, "-c", PANDAS, path, "1"],
             "pandas, to the matrix": [PYTHON, "-c", MATRIX, path, "1"]}
    results = {name: [] for name in sides}
    try:
        for turn in range(arguments.repeats):
            for name in sorted(sides, reverse=turn % 2 > 0):
                results[name].append(measure(list(map(str, sides[name])), arguments.threads))
                print(turn, name, results[name][-1], file=sys.stderr, flush=True)
    finally:
        path.unlink()
    medians = {name: statistics.median(one["seconds"] for one in of) for name, of in results.items()}
    print_table(["reader", "seconds", "MB a second", "times yoke's", "peak memory, MB"],
                ([name, f"{seconds:.2f}", f"{megabytes / seconds:.0f}", f"{seconds / medians['yoke']:.2f}",
                  max(one["peak_mb"] for one in results[name])] for name, seconds in medians.items()))
    return f"{arguments.rows:,} rows, {megabytes:.0f} MB; median of {arguments.repeats}"


if __name__ == "__main__":
    main(__doc__)
