"""yoke trains neural networks on every core of a machine, and on clusters.

>>> import yoke
>>> job = {"data": {"format": "synthetic-digits", "train_size": 500, "test_size": 100},
...        "model": {"name": "mlp", "widths": [32]}, "train": {"epochs": 2, "learning_rate": 0.05}}
>>> run = yoke.train(job)
>>> run.test["accuracy"] > 0.3
True
>>> model = yoke.Model.load(run.checkpoint)
>>> model.predict([[0.0] * 784]).shape
(1, 10)

`train`, `resume` and `simulate` give a `Run`, `Model.load` a trained model; `plan` and `list` answer as the commands of the same
name. `Strategy` is the base of strategies in Python. `YokeClassifier`, `YokeMultiLabelClassifier` and `YokeRegressor` are estimators of scikit-learn. `python -m yoke` is the command line.
"""
from __future__ import annotations

from yoke import _library
from yoke._library import Diverged, Error, UserError
from yoke._model import Model
from yoke._runs import Run, list, plan, resume, simulate, train
from yoke._strategy import Step, Strategy, World

__version__ = _library.version
__all__ = ["Diverged", "Error", "Model", "Run", "Step", "Strategy", "UserError", "World", "YokeClassifier", "YokeMultiLabelClassifier",
           "YokeRegressor", "list", "plan", "resume", "simulate", "train"]


def __getattr__(name: str):
    """Imports scikit-learn only where an estimator is used."""
    if name in ("YokeClassifier", "YokeMultiLabelClassifier", "YokeRegressor"):
        from yoke import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'yoke' has no attribute '{name}'")
