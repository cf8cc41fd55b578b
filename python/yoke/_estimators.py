"""Estimators of scikit-learn: multi-layer perceptrons on dense and sparse features."""
from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from yoke import _data, _library
from yoke._model import Model
from yoke._runs import _follow, _job

_BATCH = 32
_LEAST_EPOCHS, _LEAST_STEPS = 20, 200  # what small sets need
_FAST_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # in memory: a fit creates some small files
_LATER = 0.2  # of the rate, for weights that have learned, and where it is not known how much is to come
_WORTH_TEAM = 2e7  # operations of a step that are worth several threads
_MOST_REPEATS = 10  # of an example, on average


def _repeats(weights: np.ndarray) -> bool:
    """Whether weights are numbers of times, few enough to repeat the examples."""
    return bool(np.all(weights == np.floor(weights)) and weights.sum() <= _MOST_REPEATS * len(weights))


def _bytes(row: Any) -> tuple[bytes, ...]:
    return (row.indices.tobytes(), row.data.tobytes()) if _data.is_sparse(row) else (np.asarray(row).tobytes(),)


def _ordered(X: Any, y: Any) -> tuple[Any, Any]:
    """Examples of one step in an order of their own, so that its sums do not depend on the caller's."""
    order = sorted(range(X.shape[0]), key=lambda i: (_bytes(X[[i]]), _bytes(y[[i]])))
    return X[order], y[order]


class _Estimator(BaseEstimator):
    """What the estimators share: parameters, and a run in a folder that is removed."""

    def __init__(self, hidden_layer_sizes: tuple[int, ...] = (100,), *, activation: str = "relu", rule: str = "adam",
                 learning_rate: float = 0.01, batch_size: int = _BATCH, epochs: int | str = "auto", warm_start: bool = False,
                 random_state: Any = None, job: dict[str, Any] | None = None):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.rule = rule
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.warm_start = warm_start
        self.random_state = random_state
        self.job = job

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _sections(self, shape: tuple[int, int], is_sparse: bool) -> dict[str, Any]:
        """The parameters as a job, with what the parameter `job` says instead."""
        rows, features = shape
        widths = [int(width) for width in np.atleast_1d(self.hidden_layer_sizes)]
        epochs = self.epochs
        if epochs == "auto":
            steps = -(-rows // max(int(self.batch_size), 1))
            epochs = max(_LEAST_EPOCHS, -(-_LEAST_STEPS // max(steps, 1)))
        sections: dict[str, Any] = {
            "data": {} if is_sparse else {"normalize": "standard"},
            "model": {"name": "mlp", "widths": widths, "activation": self.activation},
            "train": {"epochs": epochs, "batch": self.batch_size, "rule": self.rule, "learning_rate": self.learning_rate,
                      "seed": int(check_random_state(self.random_state).randint(2**31 - 1)), "schedule": {"name": "cosine"}},
            "node": {}, "checkpoint": {"every_epochs": 0}}
        if self._is_small(features):
            sections["node"]["threads"] = 1
        elif os.environ.get("OMP_NUM_THREADS", "").isdigit():
            sections["node"]["threads"] = int(os.environ["OMP_NUM_THREADS"])
        for name, section in (self.job or {}).items():
            alone = name == "model" and {"name", "file", "layer"} & section.keys()
            sections[name] = section if alone else {**sections.get(name, {}), **section}
        return sections

    def _is_small(self, features: int) -> bool:
        """Whether a step is little work, and a checkpoint few bytes."""
        sizes = [features, *np.atleast_1d(self.hidden_layer_sizes)]
        return 6 * self.batch_size * sum(int(a) * int(b) for a, b in zip(sizes, sizes[1:])) < _WORTH_TEAM

    def _weighted(self, X: Any, y: Any, weights: Any) -> tuple[Any, Any, np.ndarray | None]:
        """Examples that count, and their weights, of mean 1. An example that counts twice is there twice."""
        if weights is None:
            return X, y, None
        weights = np.asarray(weights, np.float64)
        if weights.shape not in ((), (X.shape[0],)):
            raise ValueError(f"sample_weight: expected {X.shape[0]} numbers, got an array of shape {weights.shape}")
        weights = np.broadcast_to(weights, (X.shape[0],))
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueError("sample_weight: expected finite numbers, 0 or more")
        if not weights.any():
            raise ValueError("sample_weight: all weights are zero")
        if np.all(weights == 1):
            return X, y, None
        if _repeats(weights):
            places = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            return X[places], y[places], None
        places = np.flatnonzero(weights)
        weights = weights[places]
        return X[places], y[places], weights / weights.mean()

    def _train(self, X: Any, y: Any, *, regression: bool = False, classes: int = 0, weights: Any = None, partial: bool = False,
               start: Model | None = None) -> None:
        """Trains from the weights of `start`, by whose data all that follow are normalized."""
        sections = self._sections(X.shape, _data.is_sparse(X))
        if weights is None and X.shape[0] <= self.batch_size:
            X, y = _ordered(X, y)
        if partial or start is not None:
            sections["train"]["learning_rate"] = _LATER * float(sections["train"]["learning_rate"])
        if partial:
            own = (self.job or {}).get("train", {})
            sections["train"].update({"epochs": 1, "schedule": {"name": "constant"}} | {key: own[key] for key in ("epochs", "schedule") if key in own})
        names = [str(code) for code in range(classes)] or None
        train, _ = _data.labelled(X, y, names, regression=regression, weights=weights)
        with tempfile.TemporaryDirectory(prefix="yoke-fit-", dir=_FAST_FOLDER if self._is_small(X.shape[1]) else None) as folder:
            if start is not None:
                loaded, first = start._loaded, os.path.join(folder, "start")
                os.mkdir(first)
                loaded.save(first)
                sections["model"] = {key: value for key, value in sections["model"].items() if key != "file"} | {"start": first}
                if loaded.mean:
                    sections["data"] = {**sections["data"], "normalize": "auto", "mean": loaded.mean, "deviation": loaded.deviation}
                if regression:
                    train.set_target_unit(loaded.target_mean, loaded.target_deviation)
            job = _job(sections, (X, y))
            run = _follow((), lambda tell: _library.train(job, train, None, os.path.join(folder, "run"), True, tell))
            self.model_ = Model.load(run.checkpoint)
        losses = [event["train"]["loss"] for event in run.epochs]
        self.loss_curve_ = [*self.loss_curve_, *losses] if partial and start else losses
        self.n_iter_ = len(self.loss_curve_)

    def _before(self, partial: bool) -> Model | None:
        """The model that training goes on from."""
        return getattr(self, "model_", None) if partial or self.warm_start else None

    def _outputs(self, X: Any) -> np.ndarray:
        if not hasattr(self, "model_"):
            check_is_fitted(self)  # which takes half as long as a prediction
        width = self.n_features_in_
        plain = type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == width and len(X) > 0 and X.dtype in (np.float32, np.float64)
        if not plain or hasattr(self, "feature_names_in_") or not np.isfinite(X).all():
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        if self.model_.sparse != _data.is_sparse(X):
            X = csr_matrix(X) if self.model_.sparse else X.toarray()
        return self.model_.predict(X)


class YokeClassifier(ClassifierMixin, _Estimator):
    """A multi-layer perceptron for classes. Dense features are normalized.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        The widths of the hidden layers.
    activation : str
        After each hidden layer: ``relu``, ``sigmoid`` or ``tanh``.
    rule : str
        The update rule, of ``yoke.list("rules")``.
    learning_rate : float
        The first rate, which falls to 0 by half a cosine.
    batch_size : int
        Examples a step.
    epochs : int or "auto"
        Passes over the data; ``auto``: 20, and more where these are less than 200 steps.
    warm_start : bool
        Whether `fit` goes on from the weights of the last one, at a fifth of the rate.
    class_weight : dict or "balanced", optional
        Factors on the weights of the classes' examples.
    random_state : int, RandomState or None
        Of initial weights and order.
    job : dict, optional
        Sections of a job that replace keys: ``{"train": {"schedule": {"name": "constant"}}, "model": {"name": "linear"}}``.

    Attributes
    ----------
    classes_ : array
        The classes.
    model_ : yoke.Model
        The trained model.
    loss_curve_ : list of float
        The mean loss of each epoch.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from yoke import YokeClassifier
    >>> x, y = load_iris(return_X_y=True)
    >>> bool(YokeClassifier(random_state=1).fit(x, y).score(x, y) > 0.9)
    True
    """

    def __init__(self, hidden_layer_sizes: tuple[int, ...] = (100,), *, activation: str = "relu", rule: str = "adam",
                 learning_rate: float = 0.01, batch_size: int = _BATCH, epochs: int | str = "auto", warm_start: bool = False,
                 class_weight: Any = None, random_state: Any = None, job: dict[str, Any] | None = None):
        super().__init__(hidden_layer_sizes, activation=activation, rule=rule, learning_rate=learning_rate, batch_size=batch_size,
                         epochs=epochs, warm_start=warm_start, random_state=random_state, job=job)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> YokeClassifier:
        """Train on examples and their classes. Whole numbers as weights count as repeated examples."""
        start = self._before(partial=False)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        X, y, sample_weight = self._weighted(X, y, self._class_weights(y, sample_weight))
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"all examples are of one class, {classes[0]!r}: expected two classes or more")
        if start is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start: the classes are {classes}; those of the last fit were {self.classes_}")
        self.classes_ = classes
        self._train(X, np.searchsorted(classes, y), classes=len(classes), weights=sample_weight, start=start)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> YokeClassifier:
        """Train one pass more, at a fifth of the rate, on these examples. The first call measures by what features are normalized; it
        is told all `classes`."""
        start = self._before(partial=True)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, reset=start is None)
        check_classification_targets(y)
        known = self.classes_ if start is not None else np.unique(y if classes is None else classes)
        if start is not None and classes is not None and not np.array_equal(known, np.unique(classes)):
            raise ValueError(f"classes: expected those of the first call, {known}")
        if len(known) < 2:
            raise ValueError(f"classes: expected two classes or more, got {known}")
        codes = np.minimum(np.searchsorted(known, y), len(known) - 1)
        if not np.array_equal(known[codes], y):
            raise ValueError(f"y: a class is not one of {known}: the first call is told all classes")
        X, codes, sample_weight = self._weighted(X, codes, self._class_weights(y, sample_weight))
        self.classes_ = known
        self._train(X, codes, classes=len(known), weights=sample_weight, partial=True, start=start)
        return self

    def _class_weights(self, y: Any, weights: Any) -> Any:
        if self.class_weight is None:
            return weights
        by_class = compute_sample_weight(self.class_weight, y)
        return by_class if weights is None else by_class * np.asarray(weights)

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> YokeMultiLabelClassifier:
        """Train on examples and their labels."""
        if not self._take_kind(y):
            return super().fit(X, _vector(y), sample_weight)
        return self._fit_sets(X, y, sample_weight, partial=False)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> YokeMultiLabelClassifier:
        """Train one pass more on these examples; `classes` are needed where `y` is a vector."""
        if not self._take_kind(y):
            return super().partial_fit(X, _vector(y), classes, sample_weight)
        return self._fit_sets(X, y, sample_weight, partial=True)

    def _take_kind(self, y: Any) -> bool:
        if isinstance(y, (list, tuple)):
            y = np.asarray(y)
        self._has_sets = getattr(y, "ndim", 1) == 2 and type_of_target(y).startswith("multilabel")
        return self._has_sets

    def _fit_sets(self, X: Any, y: Any, sample_weight: Any, partial: bool) -> YokeMultiLabelClassifier:
        if self.class_weight is not None:
            raise ValueError("class_weight: sets of labels have none")
        start = self._before(partial)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True, reset=not partial or start is None)
        if start is not None and len(self.classes_) != y.shape[1]:
            raise ValueError(f"y: expected {len(self.classes_)} labels as before, got {y.shape[1]}")
        X, y, sample_weight = self._weighted(X, y, sample_weight)
        self.classes_ = np.arange(y.shape[1])
        self._label_type = y.dtype
        self._train(X, y, weights=sample_weight, partial=partial, start=start)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each label."""
        check_is_fitted(self)
        return self._outputs(X) if self._has_sets else super().predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """A matrix of 0 and 1: the labels whose probability is above 0.5."""
        check_is_fitted(self)
        return (self._outputs(X) > 0.5).astype(self._label_type) if self._has_sets else super().predict(X)


def _vector(y: Any) -> Any:
    return np.ravel(y) if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 else y


class YokeRegressor(RegressorMixin, _Estimator):
    """A multi-layer perceptron for numbers, one or several an example; parameters as of `YokeClassifier`, without `class_weight`. Its
    loss is the mean squared error of the targets, normalized."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> YokeRegressor:
        """Train on examples and their targets, a vector or a matrix with a column a target."""
        return self._fit(X, y, sample_weight, partial=False)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> YokeRegressor:
        """Train one pass more, at a fifth of the rate, on these examples. The first call measures by what features and targets are
        normalized."""
        return self._fit(X, y, sample_weight, partial=True)

    def _fit(self, X: Any, y: Any, sample_weight: Any, partial: bool) -> YokeRegressor:
        start = self._before(partial)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True, y_numeric=True,
                             reset=not partial or start is None)
        X, y, sample_weight = self._weighted(X, y, sample_weight)
        self._is_vector = y.ndim == 1
        self._train(X, y, regression=True, weights=sample_weight, partial=partial, start=start)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The numbers of each example."""
        values = self._outputs(X)
        return values[:, 0] if self._is_vector else values.astype(np.float64)  # which scikit-learn expects of several
