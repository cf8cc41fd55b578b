"""yoke trains neural networks on every core of a machine, and on clusters.

>>> import yoke
>>> job = {"data": {"format": "synthetic-digits", "train_size": 500, "test_size": 100},
...        "model": {"name": "mlp", "widths": [32]}, "train": {"epochs": 2, "learning_rate": 0.05}}
>>> run = yoke.train(job)                                           # doctest: +SKIP
>>> run.test["accuracy"]                                            # doctest: +SKIP
0.71
>>> yoke.Model.load(run.checkpoint).predict(images).shape           # doctest: +SKIP
(100, 10)

`train`, `resume` and `simulate` give a `Run`, `Model.load` a trained model; `plan` and `list` answer as the commands of the same
name. `YokeClassifier`, `YokeMultiLabelClassifier` and `YokeRegressor` are estimators of scikit-learn. `python -m yoke` is the command line.
"""
from __future__ import annotations

from yoke import _library
from yoke._library import Diverged, Error, UserError
from yoke._model import Model
from yoke._runs import Run, list, plan, resume, simulate, train

__version__ = _library.version
__all__ = ["Diverged", "Error", "Model", "Run", "UserError", "YokeClassifier", "YokeMultiLabelClassifier", "YokeRegressor", "list",
           "plan", "resume", "simulate", "train"]


def __getattr__(name: str):
    """Imports scikit-learn only where an estimator is used."""
    if name in ("YokeClassifier", "YokeMultiLabelClassifier", "YokeRegressor"):
        from yoke import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'yoke' has no attribute '{name}'")
