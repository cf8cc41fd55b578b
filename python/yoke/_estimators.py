"""Estimators of scikit-learn: multi-layer perceptrons on dense and sparse features."""
from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from yoke import _data, _library
from yoke._model import Model
from yoke._runs import _follow, _job


_BATCH = 256  # examples that a model computes together


class _Estimator(BaseEstimator):
    """What the estimators share: parameters, and a run in a folder that is removed."""

    def __init__(self, hidden_layer_sizes: tuple[int, ...] = (100,), *, activation: str = "relu", rule: str = "adam",
                 learning_rate: float = 0.003, batch_size: int = 32, epochs: int = 20, random_state: Any = None,
                 job: dict[str, Any] | None = None):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.rule = rule
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.random_state = random_state
        self.job = job

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _job(self) -> dict[str, Any]:
        """The parameters as a job, with what the parameter `job` says instead."""
        sections = {
            "model": {"name": "mlp", "widths": [*np.atleast_1d(self.hidden_layer_sizes)], "activation": self.activation},
            "train": {"epochs": self.epochs, "batch": self.batch_size, "rule": self.rule, "learning_rate": self.learning_rate,
                      "seed": int(check_random_state(self.random_state).randint(2**31 - 1))},
            "node": {"threads": int(os.environ["OMP_NUM_THREADS"])} if os.environ.get("OMP_NUM_THREADS", "").isdigit() else {},
            "checkpoint": {"every_epochs": 0}}
        for name, section in (self.job or {}).items():
            alone = name == "model" and {"name", "file", "layer"} & section.keys()
            sections[name] = section if alone else {**sections.get(name, {}), **section}
        return sections

    def _train(self, X: Any, y: Any, regression: bool = False) -> None:
        with tempfile.TemporaryDirectory(prefix="yoke-fit-") as folder:
            job, (train, _) = _job(self._job(), (X, y)), _data.labelled(X, y, regression=regression)
            run = _follow((), lambda tell: _library.train(job, train, None, os.path.join(folder, "run"), True, tell))
            self.model_ = Model.load(run.checkpoint)
        self.loss_curve_ = [event["train"]["loss"] for event in run.epochs]
        self.n_iter_ = len(run.epochs)

    def _outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        if self.model_.sparse != _data.is_sparse(X):
            X = csr_matrix(X) if self.model_.sparse else X.toarray()
        rows, width = X.shape
        added = -rows % _BATCH  # the numbers of an example do not depend on how many there are
        X = vstack([X, csr_matrix((added, width), dtype=X.dtype)]) if self.model_.sparse else np.pad(X, ((0, added), (0, 0)))
        return self.model_.predict(X)[:rows].astype(np.float64)


class YokeClassifier(ClassifierMixin, _Estimator):
    """A multi-layer perceptron for classes.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        The widths of the hidden layers.
    activation : str
        After each hidden layer: ``relu``, ``sigmoid`` or ``tanh``.
    rule : str
        The update rule, of ``yoke.list("rules")``.
    learning_rate : float or "auto"
        With ``auto`` short trials choose it.
    batch_size : int
        Examples a step.
    epochs : int
        Passes over the data.
    random_state : int, RandomState or None
        Of initial weights and order.
    job : dict, optional
        Sections of a job that replace keys: ``{"train": {"schedule": {"name": "cosine"}}, "model": {"name": "linear"}}``.

    Attributes
    ----------
    classes_ : array
        The classes.
    model_ : yoke.Model
        The trained model.
    loss_curve_ : list of float
        The mean loss of each epoch.
    """

    def fit(self, X: Any, y: Any) -> YokeClassifier:
        """Train on examples and their classes."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all examples are of one class, {self.classes_[0]!r}: expected two classes or more")
        self._train(X, codes)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        probabilities = self._outputs(X)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each example."""
        likeliest = self._outputs(X).argmax(axis=1)
        return self.classes_[likeliest]


class YokeMultiLabelClassifier(YokeClassifier):
    """A multi-layer perceptron for sets of labels; parameters as of `YokeClassifier`.

    `y` is a matrix, dense or sparse, with a column a label. A vector of classes is learned as by `YokeClassifier`.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> YokeMultiLabelClassifier:
        """Train on examples and their labels."""
        if isinstance(y, (list, tuple)):
            y = np.asarray(y)
        self._has_sets = getattr(y, "ndim", 1) == 2 and type_of_target(y).startswith("multilabel")
        if not self._has_sets:
            return super().fit(X, np.ravel(y) if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 else y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True)
        self.classes_ = np.arange(y.shape[1])
        self._label_type = y.dtype
        self._train(X, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each label."""
        check_is_fitted(self)
        return self._outputs(X) if self._has_sets else super().predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """A matrix of 0 and 1: the labels whose probability is above 0.5."""
        check_is_fitted(self)
        return (self._outputs(X) > 0.5).astype(self._label_type) if self._has_sets else super().predict(X)


class YokeRegressor(RegressorMixin, _Estimator):
    """A multi-layer perceptron for numbers, one or several an example; parameters as of `YokeClassifier`. Its loss is the mean squared
    error of the targets, normalized."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> YokeRegressor:
        """Train on examples and their targets, a vector or a matrix with a column a target."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True, y_numeric=True)
        self._is_vector = y.ndim == 1
        self._train(X, y, regression=True)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The numbers of each example."""
        values = self._outputs(X)
        return values[:, 0] if self._is_vector else values
