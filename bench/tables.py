#!/usr/bin/env python3
"""Six tables, with no setting but the label: yoke beside scikit-learn's MLPClassifier and MLPRegressor.

usage: tools/bench bench/tables.py [options]

Each side is a process that reads the CSV file, trains and scores the test file, a fifth of the rows, drawn anew for each of --seeds. scikit-learn's
networks are its defaults behind StandardScaler, OneHotEncoder and SimpleImputer. Three of the tables are scikit-learn's, two of the package plotnine, one of
statsmodels; these packages are fetched without what they need to run. --set KEY=VALUE changes yoke's job, to try other defaults.
"""
import csv
import errno
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

from lib.options import main, part
from lib.places import CORES, PROGRAM
from lib.tables import print_table

CACHE = pathlib.Path(os.environ.get("YOKE_CACHE", pathlib.Path.home() / ".cache/yoke"))
PACKAGES = CACHE / "tables"
# name, label, source: scikit-learn's loader, or a file of a package that carries it
TABLES = [("breast_cancer", "target", "load_breast_cancer"), ("digits", "target", "load_digits"),
          ("penguins", "species", "plotnine/data/penguins.csv"), ("fair", "religious", "statsmodels/datasets/fair/fair.csv"),
          ("diabetes", "target", "load_diabetes"), ("diamonds", "price", "plotnine/data/diamonds.csv")]
REGRESSIONS = {"diabetes", "diamonds"}
SKLEARN = """
import sys
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
kind, label, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)))
model = make_pipeline(columns, (MLPRegressor if kind == "regression" else MLPClassifier)(random_state=seed))
model.fit(train.drop(columns=label), train[label])
print(model.score(test.drop(columns=label), test[label]))
"""


def python():
    return os.environ.get("YOKE_BENCH_PYTHON", str(CACHE / "venv-python/bin/python"))


def fetch():
    """The two packages that carry tables, without what they need to run."""
    if not PACKAGES.exists():
        subprocess.run([python(), "-m", "pip", "install", "-q", "--no-deps", "--target", str(PACKAGES), "plotnine", "statsmodels"], check=True)


def load(source):
    """The names of the columns and the rows of a table."""
    if source.startswith("load_"):
        code = f"import sys, sklearn.datasets as d; d.{source}(as_frame=True).frame.to_csv(sys.stdout, index=False)"
        lines = subprocess.run([python(), "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    else:
        lines = (PACKAGES / source).read_text(encoding="utf-8").splitlines()
    names, *rows = csv.reader(lines)
    return names, rows


def split(names, rows, seed, folder):
    """Writes four fifths of the rows, drawn at random, as train.csv and the others as test.csv."""
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    fifth = len(rows) // 5
    for name, part in (("test.csv", rows[:fifth]), ("train.csv", rows[fifth:])):
        with open(folder / name, "w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([names, *part])


def timed(command, folder):
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-400:]}")
    return done.stdout, time.monotonic() - began


def yoke(arguments, label, regression, seed, folder):
    task = 'task = "regression"\n' if regression else ""
    (folder / "job.toml").write_text(f'[data]\nformat = "csv"\ntrain = "train.csv"\ntest = "test.csv"\nlabel = "{label}"\n{task}', encoding="utf-8")
    words = [word for setting in arguments.set for word in ("--set", setting)]
    out, seconds = timed([PROGRAM, "train", "job.toml", "--json", "--run", "run", "--set", f"train.seed={seed}", *words], folder)
    return json.loads(out.splitlines()[-1])["test"]["r2" if regression else "accuracy"], seconds


def sklearn(_, label, regression, seed, folder):
    out, seconds = timed([python(), "-W", "ignore", "-c", SKLEARN, "regression" if regression else "classes", label, str(seed)], folder)
    return float(out), seconds


def rows_of(arguments):
    for name, label, source in TABLES:
        if arguments.only and name not in arguments.only.split(","):
            continue
        names, rows = load(source)
        if arguments.rows:
            rows = random.Random(0).sample(rows, min(len(rows), arguments.rows))
        results = {"yoke": [], "scikit-learn": []}
        for seed in range(1, arguments.seeds + 1):
            folder = arguments.runs / f"{name}-{seed}"
            folder.mkdir()
            split(names, rows, seed, folder)
            for who, run in (("yoke", yoke), ("scikit-learn", sklearn)):
                results[who].append(run(arguments, label, name in REGRESSIONS, seed, folder))
                print(name, seed, who, *results[who][-1], file=sys.stderr, flush=True)
        cells = [name, f"{len(rows):,} x {len(names) - 1}", "R2" if name in REGRESSIONS else "accuracy"]
        for of in results.values():
            scores = [score for score, _ in of]
            cells.append(f"{statistics.mean(scores):.3f}" + (f" +- {statistics.stdev(scores):.3f}" if len(scores) > 1 else ""))
        yield [*cells, *(f"{statistics.median(seconds for _, seconds in of):.2f}" for of in results.values())]


@part(quick={"seeds": 1, "rows": 300, "only": "breast_cancer,penguins,diabetes"}, threads=CORES, seeds=5, rows=0, only="", set=[])
def tables(arguments):
    """Scores and seconds of both sides."""
    if not PROGRAM.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(PROGRAM))
    fetch()
    print_table(["table", "rows x columns", "score", "yoke", "scikit-learn", "yoke, s", "scikit-learn, s"], rows_of(arguments))
    return f"mean and standard deviation of the scores, median of the seconds, over {arguments.seeds} splits"


if __name__ == "__main__":
    main(__doc__)
