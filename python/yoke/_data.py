"""Arrays as examples: used in place where their type and layout allow, copied otherwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from yoke._library import Examples, UserError


_MOST_KINDS = 100  # of whole numbers in floats, which amounts have more of


def _as_array(x: Any) -> np.ndarray:
    """A NumPy array of pandas and Arrow tables, of what has DLPack or the buffer protocol, and of lists."""
    if hasattr(x, "to_pandas"):
        x = x.to_pandas()
    if hasattr(x, "to_numpy"):
        x = x.to_numpy()
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = np.from_dlpack(x)
    return np.asarray(x)


def _dense(x: Any) -> Examples:
    array = _as_array(x)
    if array.dtype.kind not in "fiub":
        raise UserError(f"expected numbers, got an array of {array.dtype}")
    if array.ndim == 3:  # grey images
        array = array[:, np.newaxis]
    if array.dtype != np.uint8:
        with np.errstate(over="ignore"):  # what is too large is refused as not finite
            array = array.astype(np.float32, copy=False)
    return Examples(np.ascontiguousarray(array))


def _rows(matrix: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """The offsets and the ids of a SciPy matrix, and the matrix in CSR form with ids that ascend."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return np.ascontiguousarray(rows.indptr, np.int64), np.ascontiguousarray(rows.indices, np.int32), rows


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy."""
    return hasattr(x, "tocsr")


def examples(x: Any) -> Examples:
    """Examples without labels."""
    if not is_sparse(x):
        return _dense(x)
    offsets, ids, rows = _rows(x)
    return Examples(offsets, ids, np.ascontiguousarray(rows.data, np.float32), rows.shape[1])


def _name(label: Any) -> str:
    """Equal numbers have equal names, as in files: 1.0 is 1."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _set_labels(into: Examples, y: Any) -> None:
    """The columns of the matrix that are not 0 are an example's labels."""
    if is_sparse(y):
        matrix = y.tocsr(copy=True)
        matrix.eliminate_zeros()
        offsets, ids, _ = _rows(matrix)
    else:
        rows, columns = np.nonzero(y)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(y))))).astype(np.int64)
        ids = columns.astype(np.int32)
    into.set_labels(offsets, ids, y.shape[1])


def _set_classes(into: Examples, y: np.ndarray, names: list[str] | None) -> list[str]:
    labels, codes = np.unique(y, return_inverse=True)
    found = [_name(label) for label in labels]
    if names is not None:
        known = {name: code for code, name in enumerate(names)}
        unknown = [name for name in found if name not in known]
        if unknown:
            raise UserError(f"the class '{unknown[0]}' is not one of the training's: {', '.join(names[:10])}")
        codes = np.array([known[name] for name in found], np.int32)[codes]
    into.set_classes(np.ascontiguousarray(codes, np.int32), found if names is None else names)
    return found if names is None else names


def _set_targets(into: Examples, y: Any) -> None:
    array = y.toarray() if is_sparse(y) else _as_array(y)
    if array.dtype.kind not in "fiub":
        raise UserError(f"expected numbers to predict, got an array of {array.dtype}")
    targets = array.astype(np.float64, copy=False)
    into.set_targets(np.ascontiguousarray(targets.reshape(len(targets), -1)))


def _are_targets(y: Any, task: str) -> bool:
    """Whether they are numbers to predict: as the key `data.task` says, by default where they have decimals."""
    if task != "auto":
        return task == "regression"
    if is_sparse(y):
        return False
    y = _as_array(y)
    if y.dtype.kind != "f":
        return False
    if not np.all(y == np.floor(y)):
        return True
    if len(np.unique(y)) > _MOST_KINDS:
        raise UserError(f'data.task: the labels are more than {_MOST_KINDS} different whole numbers in floats; expected '
                        'task = "regression" for amounts, or task = "classes"')
    return False


def labelled(x: Any, y: Any, names: list[str] | None = None, *, regression: bool,
             weights: Any = None) -> tuple[Examples, list[str] | None]:
    """Examples with labels: a class each, a row of a matrix with a column a label, or, of a regression, numbers to predict. Also the
    names of the classes, if there are any."""
    made = examples(x)
    if weights is not None:
        made.set_weights(np.ascontiguousarray(weights, np.float32))
    if regression:
        _set_targets(made, y)
        return made, None
    if not is_sparse(y):
        y = _as_array(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim == 1:
            return made, _set_classes(made, y, names)
        if y.ndim != 2:
            raise UserError(f"expected a label each, or a matrix with a column a label; got an array of {y.ndim} axes")
    _set_labels(made, y)
    return made, None


def sets(data: Any, task: str) -> tuple[Examples, Examples | None]:
    """Training and test examples of the argument `data`; `task` is the key `data.task`."""
    if not isinstance(data, dict):
        data = {"train": data}
    unknown = [key for key in data if key not in ("train", "test")]
    if unknown or "train" not in data:
        raise UserError("data: expected (x, y), or a dict with 'train' and 'test'")
    regression = _are_targets(data["train"][1], task)
    train, names = labelled(*data["train"], regression=regression)
    test = labelled(*data["test"], names, regression=regression)[0] if "test" in data else None
    return train, test
