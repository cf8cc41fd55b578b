#!/usr/bin/env python3
"""The Python package: what its calls cost, its estimators beside scikit-learn's and PyTorch's, and its memory over many fits.

usage: bench/python.py calls|compare|memory [options]      --help of a part has its options
"""
import json
import os
import pathlib
import subprocess

from lib.options import main, part
from lib.places import BUILD, ENVIRONMENT, PROGRAM, ROOT
from lib.tables import print_table

WORK = ROOT / "bench/lib/python_work.py"
CACHE = pathlib.Path(os.environ.get("YOKE_CACHE", os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")))


def work(venv, *words, folder):
    """What a function of bench/lib/python_work.py answers in this virtual environment."""
    python = CACHE / venv / "bin/python"
    if not python.exists():
        raise RuntimeError(f"{python} is missing: run tools/setup {'bench' if venv == 'venv-bench' else 'python'}")
    environment = {**ENVIRONMENT, "PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1", "YOKE": str(PROGRAM)}
    done = subprocess.run([python, WORK, *map(str, words)], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@part(repeats=21, epochs=5, quick={"repeats": 3, "epochs": 1})
def calls(arguments):
    """Medians of a fit on 100 rows, predictions of one row, an import, and a training beside the same one of the command line."""
    answers = work("venv-python", "calls", arguments.repeats, arguments.epochs, folder=arguments.runs)
    print_table(["what", "median"], [[what, f"{value:.4g} {unit}"] for what, value, unit in answers])
    return f"medians of {arguments.repeats} (one row: 100 times as many; import and training: at most 7)"


@part(folds=3, quick={"folds": 2})
def compare(arguments):
    """Mean scores over folds (accuracy, of numbers R2), and CPU seconds of all fits. PyTorch trains the same network with the same
    batches, epochs, rule and schedule, in a plain loop and by skorch; scikit-learn's MLP has its own settings, behind a StandardScaler."""
    data = work("venv-python", "data", folder=arguments.runs)
    answers = {name: work("venv-python", name, arguments.folds, folder=arguments.runs) for name in ("yoke", "sklearn")}
    answers |= {name: work("venv-bench", name, arguments.folds, folder=arguments.runs) for name in ("torch", "skorch")}
    rows = []
    for name, shape in data.items():
        cells = [cell for one in answers.values() for cell in (f"{one[name][0]:.3f}", f"{one[name][1]:.2f}")]
        rows.append([name, f"{shape[0]} x {shape[1]}", *cells])
    print_table(["data", "size", "yoke", "CPU s", "scikit-learn", "CPU s", "PyTorch", "CPU s", "skorch", "CPU s"], rows)
    return f"{arguments.folds} folds, seed 1"


@part(fits=1000, quick={"fits": 30})
def memory(arguments):
    """Memory of the process over many fits."""
    answers = work("venv-python", "memory", arguments.fits, folder=arguments.runs)
    print_table(["fits", "MB", "files open", "threads"], [[fits, f"{used:.1f}", files, threads] for fits, used, files, threads in answers])
    return f"{arguments.fits} fits of YokeClassifier on 100 rows"


if __name__ == "__main__":
    main(__doc__)
