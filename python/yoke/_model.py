"""Models that were trained."""
from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

import numpy as np

from yoke import _data
from yoke._library import Examples, LoadedModel, UserError


class Model:
    """A trained model. Threads may share it.

    Examples are given as the training data were: NumPy arrays, SciPy matrices, tables, with the same values. An ONNX file takes what
    the network takes.
    """

    def __init__(self, loaded: LoadedModel):
        self._loaded = loaded
        self._outputs = loaded.outputs

    @classmethod
    def load(cls, path: str | os.PathLike) -> Model:
        """Load a checkpoint, the last one of a run, or an ONNX file.

        Parameters
        ----------
        path : path
            A checkpoint such as ``runs/NAME/last``, a run directory, or a name that ends in ``.onnx``.
        """
        return cls(LoadedModel(os.fspath(path)))

    @property
    def classes(self) -> list[str]:
        """The names of the classes; empty where labels are numbers."""
        return self._loaded.names

    @property
    def input(self) -> tuple[int, ...]:
        """The axes of one example."""
        return tuple(self._loaded.input)

    @property
    def sparse(self) -> bool:
        """Whether it takes sparse examples."""
        return self._loaded.sparse

    @property
    def job(self) -> dict[str, Any]:
        """The job that trained it, with all keys."""
        return self._loaded.job

    def predict(self, x: Any) -> np.ndarray:
        """The probability of each class or label; of a regression the numbers, in the unit of the targets.

        Parameters
        ----------
        x : array or sparse matrix
            The examples, one a row.

        Returns
        -------
        array of float32
            A row for each example, a column for each output.
        """
        examples = _data.examples(x)
        probabilities = np.empty((len(examples), self._outputs), np.float32)
        self._loaded.predict(examples, probabilities)
        return probabilities

    def best(self, x: Any, top: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest outputs of each example, best first, and their probabilities; -1 where there are fewer.

        Suits models with very many labels, whose probabilities `predict` would all store. A model that predicts numbers has none.
        """
        if top < 1:
            raise UserError(f"top: expected at least 1, got {top}")
        examples = _data.examples(x)
        labels = np.empty((len(examples), top), np.int32)
        probabilities = np.empty(labels.shape, np.float32)
        self._loaded.best(examples, labels, probabilities)
        return labels, probabilities

    def evaluate(self, x: Any, y: Any) -> dict[str, float]:
        """The metrics on examples with labels, by name: ``loss``, ``accuracy``, ..."""
        names = None if self._loaded.multi_label or self._loaded.regression else self._names()
        examples, _ = _data.labelled(x, y, names, regression=self._loaded.regression)
        return self._loaded.evaluate(examples)

    def _names(self) -> list[str]:
        return self.classes or [str(code) for code in range(self._outputs)]

    def export(self, path: str | os.PathLike) -> None:
        """Write an ONNX file; its metadata says how values become input."""
        self._loaded.export(os.fspath(path))

    def weights(self) -> dict[str, np.ndarray]:
        """The weights by name, as views that cannot be written."""
        return self._loaded.weights()

    def __getstate__(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            self._loaded.save(folder)
            return {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}

    def __setstate__(self, files: dict[str, bytes]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                pathlib.Path(folder, name).write_bytes(content)
            self.__init__(LoadedModel(folder))


__all__ = ["Examples", "Model"]
