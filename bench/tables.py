#!/usr/bin/env python3
"""Six tables, with no setting but the label: yoke beside scikit-learn's networks, LightGBM and PyTorch.

usage: tools/bench bench/tables.py [options]

Each side is a process that reads the CSV files, trains and scores the test file, a fifth of the rows, drawn anew for each of --seeds; its seconds count from
its start to its end. scikit-learn's networks are its defaults behind StandardScaler, OneHotEncoder and SimpleImputer; LightGBM's trees its defaults, with
pandas' categories; PyTorch's network has yoke's widths, one-hot categories, Adam at 0.001, batches of 128 and a tenth of the rows to stop by, with a patience of
10 of at most 200 epochs. Three of the tables are scikit-learn's, two of the package plotnine, one of statsmodels; these packages are fetched without what
they need to run. --set KEY=VALUE changes yoke's job, to try other defaults; --sides leaves out some.
"""
import csv
import errno
import json
import os
import pathlib
import random
import shutil
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
IMPORTS = {"scikit-learn": "import sklearn.neural_network, sklearn.pipeline, sklearn.compose, pandas", "LightGBM": "import lightgbm, pandas",
           "PyTorch": "import torch, pandas"}
READ = """
import sys
import numpy as np
import pandas as pd
kind, label, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
regression = kind == "regression"
train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
"""
CODE = {"scikit-learn": READ + """
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)))
model = make_pipeline(columns, (MLPRegressor if regression else MLPClassifier)(random_state=seed))
model.fit(train.drop(columns=label), train[label])
print(model.score(test.drop(columns=label), test[label]))
""", "LightGBM": READ + """
import lightgbm
for name in train.columns.drop(label):
    if not pd.api.types.is_numeric_dtype(train[name]):
        train[name] = train[name].astype("category")
        test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
model = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(random_state=seed, verbose=-1)
model.fit(train.drop(columns=label), train[label])
print(model.score(test.drop(columns=label), test[label]))
""", "PyTorch": READ + """
import copy
import torch
from torch import nn
torch.manual_seed(seed)
numbers = train.drop(columns=label).select_dtypes("number").columns
mean, deviation = train[numbers].mean(), train[numbers].std().replace(0, 1)
def encode(table):
    table = table.drop(columns=label)
    table[numbers] = ((table[numbers] - mean) / deviation).fillna(0)
    return pd.get_dummies(table, columns=list(table.columns.drop(numbers)))
inputs = encode(train)
x, test_x = (torch.tensor(t.to_numpy(np.float32)) for t in (inputs, encode(test).reindex(columns=inputs.columns, fill_value=0)))
if regression:
    middle, spread = train[label].mean(), train[label].std()
    y, test_y = (torch.tensor(((t[label] - middle) / spread).to_numpy(np.float32))[:, None] for t in (train, test))
    outputs, loss_of = 1, nn.MSELoss()
else:
    codes, kinds = pd.factorize(train[label])
    y, test_y = torch.tensor(codes), torch.tensor(kinds.get_indexer(test[label]))
    outputs, loss_of = len(kinds), nn.CrossEntropyLoss()
order = torch.randperm(len(x))
held, rest = order[: len(x) // 10], order[len(x) // 10:]
model = nn.Sequential(nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, outputs))
rule = torch.optim.Adam(model.parameters(), lr=1e-3)
best, best_epoch, kept = float("inf"), 0, None
for epoch in range(200):
    for rows in rest[torch.randperm(len(rest))].split(128):
        rule.zero_grad()
        loss_of(model(x[rows]), y[rows]).backward()
        rule.step()
    with torch.no_grad():
        loss = loss_of(model(x[held]), y[held]).item()
    if loss < best:
        best, best_epoch, kept = loss, epoch, copy.deepcopy(model.state_dict())
    if epoch - best_epoch >= 10:
        break
model.load_state_dict(kept)
with torch.no_grad():
    out = model(test_x)
if regression:
    print(1 - (((out - test_y) ** 2).sum() / ((test_y - test_y.mean()) ** 2).sum()).item())
else:
    print((out.argmax(1) == test_y).float().mean().item())
"""}


def python():
    return os.environ.get("YOKE_BENCH_PYTHON", str(CACHE / "venv-bench/bin/python"))


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
    shutil.rmtree(folder / "run", ignore_errors=True)
    words = [word for setting in arguments.set for word in ("--set", setting)]
    out, seconds = timed([PROGRAM, "train", "job.toml", "--json", "--run", "run", "--set", f"train.seed={seed}", *words], folder)
    return json.loads(out.splitlines()[-1])["test"]["r2" if regression else "accuracy"], seconds


def peer(who):
    def run(_, label, regression, seed, folder):
        out, seconds = timed([python(), "-W", "ignore", "-c", CODE[who], "regression" if regression else "classes", label, str(seed)], folder)
        return float(out), seconds
    return run


SIDES = {"yoke": yoke, **{who: peer(who) for who in CODE}}


def start_up(sides, folder):
    """Seconds of each side's process that does nothing."""
    commands = {who: [PROGRAM, "version"] if who == "yoke" else [python(), "-c", IMPORTS[who]] for who in sides}
    return ", ".join(f"{who} {statistics.median(timed(command, folder)[1] for _ in range(5)):.2f}" for who, command in commands.items())


def rows_of(arguments):
    for name, label, source in TABLES:
        if arguments.only and name not in arguments.only.split(","):
            continue
        names, rows = load(source)
        if arguments.rows:
            rows = random.Random(0).sample(rows, min(len(rows), arguments.rows))
        results = {who: [] for who in arguments.sides}
        for seed in range(1, arguments.seeds + 1):
            folder = arguments.runs / f"{name}-{seed}"
            folder.mkdir(exist_ok=True)
            split(names, rows, seed, folder)
            for who, of in results.items():
                of.append(SIDES[who](arguments, label, name in REGRESSIONS, seed, folder))
                print(name, seed, who, *of[-1], file=sys.stderr, flush=True)
        cells = [name, f"{len(rows):,} x {len(names) - 1}", "R2" if name in REGRESSIONS else "accuracy"]
        for of in results.values():
            scores = [score for score, _ in of]
            cells.append(f"{statistics.mean(scores):.3f}" + (f" ± {statistics.stdev(scores):.3f}" if len(scores) > 1 else ""))
        yield [*cells, *(f"{statistics.median(seconds for _, seconds in of):.2f}" for of in results.values())]


@part(quick={"seeds": 1, "rows": 300, "only": "breast_cancer,penguins,diabetes"}, threads=CORES, seeds=5, rows=0, only="", set=[], sides=list(SIDES))
def tables(arguments):
    """Scores and seconds of all sides."""
    if not PROGRAM.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(PROGRAM))
    fetch()
    started = start_up(arguments.sides, arguments.runs)
    print_table(["table", "rows x columns", "score", *arguments.sides, *(f"{who}, s" for who in arguments.sides)], rows_of(arguments))
    return f"mean and standard deviation of the scores, median of the seconds, over {arguments.seeds} splits; starting takes {started} s of these"


if __name__ == "__main__":
    main(__doc__)
