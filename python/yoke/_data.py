"""Arrays as examples: used in place where their type and layout allow, copied otherwise."""
from __future__ import annotations

from typing import Any, Iterable

import numpy as np

from yoke._library import Examples, UserError


_MOST_KINDS = 100  # of whole numbers in floats, which amounts have more of


def _as_array(x: Any) -> np.ndarray:
    """A NumPy array of pandas and Arrow tables, of what has DLPack or the buffer protocol, and of lists."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "column_names") and hasattr(x, "columns"):  # a table of Arrow, which has no `to_numpy` for all columns
        return np.column_stack([_as_array(column) for column in x.columns]) if x.columns else np.empty((len(x), 0))
    if hasattr(x, "to_numpy"):
        return np.asarray(x.to_numpy())
    try:
        return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)
    except (BufferError, RuntimeError, ValueError) as problem:
        raise UserError(f"the data cannot be read as an array: {problem}") from None


def _dense(x: Any) -> Examples:
    array = _as_array(x)
    if array.dtype.kind not in "fiub":
        raise UserError(f"expected numbers, got an array of {array.dtype}")
    if array.ndim == 3:  # grey images
        array = array[:, np.newaxis]
    if array.dtype not in (np.uint8, np.float32):
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


def _set_answers(made: Examples, y: Any, names: list[str] | None, regression: bool) -> list[str] | None:
    """Gives examples their targets, classes or labels; returns the names of the classes, if there are any."""
    if regression:
        _set_targets(made, y)
        return None
    if not is_sparse(y):
        y = _as_array(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim == 1:
            return _set_classes(made, y, names)
        if y.ndim != 2:
            raise UserError(f"expected a label each, or a matrix with a column a label; got an array of {y.ndim} axes")
    _set_labels(made, y)
    return None


def labelled(x: Any, y: Any, names: list[str] | None = None, *, regression: bool,
             weights: Any = None) -> tuple[Examples, list[str] | None]:
    """Examples with labels: a class each, a row of a matrix with a column a label, or, of a regression, numbers to predict. Also the
    names of the classes, if there are any."""
    made = examples(x)
    if weights is not None:
        made.set_weights(np.ascontiguousarray(weights, np.float32))
    return made, _set_answers(made, y, names, regression)


def _is_iterator(data: Any) -> bool:
    """Whether it gives batches: a generator, or what makes one, such as a loader of PyTorch."""
    return not isinstance(data, (tuple, list)) and hasattr(data, "__iter__") and not hasattr(data, "shape")


def _stacked(parts: list[Any]) -> Any:
    if is_sparse(parts[0]):
        from scipy.sparse import vstack
        return vstack(parts, format="csr")
    return np.concatenate([_as_array(part) for part in parts])


def _gathered(batches: Iterable[Any], memory_limit: int) -> tuple[Examples, Any]:
    """The examples of all batches, in a temporary file if they are large, and their labels."""
    made, answers = Examples(memory_limit), []
    for batch in batches:
        x, y = _pair(batch, "a batch")
        made.append(examples(x))
        answers.append(y)
    if not answers:
        raise UserError("data: the iterator gave no batch")
    return made, _stacked(answers)


def _pair(data: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise UserError(f"{what}: expected a pair (x, y), got {type(data).__name__}")
    return data[0], data[1]


def _set(data: Any, what: str, memory_limit: int) -> tuple[Examples, Any]:
    if _is_iterator(data):
        return _gathered(data, memory_limit)
    x, y = _pair(data, what)
    return examples(x), y


def sets(data: Any, task: str, memory_limit: int) -> tuple[Examples, Examples | None]:
    """Training and test examples of the argument `data`; `task` is the key `data.task`, `memory_limit` how many bytes of batches an
    array may hold in memory."""
    if not isinstance(data, dict):
        data = {"train": data}
    unknown = [key for key in data if key not in ("train", "test")]
    if unknown or "train" not in data:
        raise UserError("data: expected (x, y), batches of such pairs, or a dict with 'train' and 'test'")
    train, y = _set(data["train"], "data", memory_limit)
    regression = _are_targets(y, task)
    names = _set_answers(train, y, None, regression)
    if "test" not in data:
        return train, None
    test, y = _set(data["test"], "the test data", memory_limit)
    _set_answers(test, y, names, regression)
    return train, test
