"""Jobs that are trained, simulated and planned."""
from __future__ import annotations

import builtins
import glob
import html
import json
import logging
import os
import warnings
from typing import Any, Callable, Iterable, Mapping

import numpy as np

from yoke import _data, _library
from yoke._library import UserError
from yoke._model import Model

JobLike = Mapping[str, Any] | str | os.PathLike
Callback = Callable[[dict[str, Any]], Any]


class Run:
    """What a job's training told.

    Attributes
    ----------
    directory : str
        The run directory.
    test : dict
        The metrics of the last weights on the test data, by name.
    epochs : list of dict
        An event an epoch: ``epoch``, ``seconds``, ``train``, ``test``, ...
    end : dict
        The last event: ``reason``, ``seconds``, ``epochs``, ...; empty until the run has ended.
    """

    def __init__(self) -> None:
        self.start: dict[str, Any] = {}
        self.epochs: builtins.list[dict[str, Any]] = []
        self.end: dict[str, Any] = {}

    @property
    def directory(self) -> str:
        return self.start.get("run", "")

    @property
    def checkpoint(self) -> str:
        """The newest checkpoint."""
        return os.path.join(self.directory, "last")

    @property
    def checkpoints(self) -> builtins.list[str]:
        """All checkpoints that the run keeps, oldest first; each is named by its steps."""
        return sorted(glob.glob(os.path.join(glob.escape(self.directory), "checkpoints", "[0-9]*")), key=lambda path: int(os.path.basename(path)))

    @property
    def test(self) -> dict[str, float]:
        return self.end.get("test", {})

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """An array a metric, with a number an epoch: ``epoch``, ``seconds``, ``train_loss``, ``test_accuracy``, ..."""
        rows = [self._row(event) for event in self.epochs]
        return {name: np.array([row.get(name, np.nan) for row in rows]) for name in (rows[-1] if rows else {})}

    @staticmethod
    def _row(event: dict[str, Any]) -> dict[str, float]:
        row = {name: event[name] for name in ("epoch", "seconds", "examples_per_second", "learning_rate")}
        for part in ("train", "validation", "test"):
            row.update({f"{part}_{name}": value for name, value in event.get(part, {}).items()})
        return row

    def table(self):
        """`metrics` as a table of pandas."""
        import pandas
        return pandas.DataFrame(self.metrics)

    def model(self) -> Model:
        """The model of the newest checkpoint."""
        return Model.load(self.checkpoint)

    def report(self) -> str:
        """The run drawn as one HTML page."""
        return _library.report([self.directory])

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.report())}" width="100%" height="700"></iframe>'

    def __repr__(self) -> str:
        return f"<yoke.Run {self.directory}: {len(self.epochs)} epochs, {self.test or self.end.get('reason', 'not ended')}>"

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        for sentence in _library.take_warnings():
            warnings.warn(sentence, RuntimeWarning, stacklevel=2)
        if kind == "epoch":
            self.epochs.append(event)
        elif kind == "start":
            self.start = event
        elif kind == "end":
            self.end = event
            if "collapse" in event:
                warnings.warn(event["message"], RuntimeWarning, stacklevel=2)
        elif kind == "message":
            logging.getLogger("yoke").info(event["message"])


class _Bar:
    """A callback that draws the epochs of a run."""

    def __init__(self, tqdm: Any):
        self._tqdm, self._bar = tqdm, None

    def __call__(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "step" or kind == "epoch":
            if self._bar is None:
                self._bar = self._tqdm(total=event.get("epochs"), unit="epoch", bar_format="{l_bar}{bar}| {n:.1f}/{total} [{elapsed}<{remaining}{postfix}]")
            self._bar.update(event["epoch"] - self._bar.n)
            metrics = event.get("test") or event.get("train") or {"loss": event.get("loss")}
            self._bar.set_postfix(metrics)
        elif kind == "end" and self._bar is not None:
            self._bar.close()


def _in_notebook() -> bool:
    shell = getattr(builtins, "get_ipython", None)
    return shell is not None and type(shell()).__name__ == "ZMQInteractiveShell"


def _with_bar(callbacks: Iterable[Callback], progress: bool | None) -> tuple[Callback, ...]:
    """The callbacks, and a bar of tqdm where there is to be one."""
    callbacks = tuple(callbacks)
    if progress is False or progress is None and not _in_notebook():
        return callbacks
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise UserError("progress: tqdm is not installed: pip install tqdm") from None
        return callbacks
    return (*callbacks, _Bar(tqdm))


def _job(job: JobLike, data: Any = None, keys: Mapping[str, Any] | None = None) -> _library.Job:
    """The job for the compiled module. With data of the program, `[data]` names no files."""
    given = os.fspath(job) if isinstance(job, (str, os.PathLike)) else dict(job)
    return _library.Job(given, os.getcwd(), _texts(keys), data is not None)


def _texts(keys: Mapping[str, Any] | None) -> builtins.list[tuple[str, str]]:
    """Keys and values as `--set` takes them; JSON's plain values and lists are TOML's."""
    return [(key, json.dumps(value)) for key, value in (keys or {}).items()]


def _sets(data: Any, facts: Callable[[], tuple[str, int]]) -> tuple[_data.Examples | None, _data.Examples | None]:
    """Training and test examples, if the program has data; `facts()` are the keys `data.task` and `data.memory_limit`."""
    return (None, None) if data is None else _data.sets(data, *facts())


def _follow(callbacks: Iterable[Callback], work: Callable[[Callback], None]) -> Run:
    run, callbacks = Run(), tuple(callbacks)

    def tell(event: dict[str, Any]) -> bool:
        run._take(event)
        return any([callback(event) is True for callback in callbacks])

    try:
        work(tell)
    except BaseException as problem:
        problem.run = run
        if isinstance(problem, KeyboardInterrupt):
            problem.add_note(run.end.get("message", ""))
        raise
    return run


def train(job: JobLike, data: Any = None, *, callbacks: Iterable[Callback] = (), run: str | os.PathLike = "",
          keys: Mapping[str, Any] | None = None, progress: bool | None = None) -> Run:
    """Train the model of a job.

    Parameters
    ----------
    job : dict or path
        The sections of a job file, or the file. Relative paths of a dict are relative to the current folder.
    data : (x, y), iterator or dict, optional
        In place of the job's files: examples and labels, or a dict with such pairs as ``train`` and ``test``. `y` has a class each,
        is a matrix with a column a label, or has decimals: numbers to predict. The key ``data.task`` decides otherwise. An iterator
        gives batches, pairs likewise, which are copied: beyond ``data.memory_limit`` to a temporary file.
    callbacks : functions
        Each is called with every event, a dict: ``start``, ``step`` (a few a second), ``epoch``, ``message``, ``end``. The run stops in
        order where one returns True, or raises.
    run : path
        The run directory; by default ``runs/<job>-<time>``.
    keys : dict
        Keys of the job to replace: ``{"train.epochs": 20}``.
    progress : bool, optional
        Whether tqdm draws a bar; by default in a notebook that has tqdm.

    Raises
    ------
    UserError
        For a mistake in job or data.
    Diverged
        Where training diverged.
    KeyboardInterrupt
        After Ctrl-C, once the run has stopped in order; its attribute ``run`` is the run.
    """
    given = _job(job, data, keys)
    return _follow(_with_bar(callbacks, progress), lambda tell: _library.train(given, *_sets(data, lambda: given.data_facts), os.fspath(run), False, tell))


def resume(run: str | os.PathLike, data: Any = None, *, callbacks: Iterable[Callback] = (), keys: Mapping[str, Any] | None = None,
           progress: bool | None = None) -> Run:
    """Continue a run where it stopped; arguments as for `train`. Data of the program must be given again."""
    run, keys = os.fspath(run), _texts(keys)
    return _follow(_with_bar(callbacks, progress), lambda tell: _library.resume(run, keys, *_sets(data, lambda: _library.data_facts_of_run(run, keys)), tell))


def simulate(job: JobLike, cluster: str | os.PathLike, *, steps: int = 0, times_only: bool = False, callbacks: Iterable[Callback] = (),
             run: str | os.PathLike = "", keys: Mapping[str, Any] | None = None) -> Run:
    """Train a job on the cluster of a file, in virtual time: ``end["virtual_seconds"]``.

    `steps` ends the run early; with `times_only` no gradient is computed. Other arguments are those of `train`.
    """
    given = _job(job, None, keys)
    return _follow(callbacks, lambda tell: _library.simulate(given, os.fspath(cluster), steps, times_only, os.fspath(run), tell))


def plan(job: JobLike, *, cluster: str | os.PathLike | None = None, only: Iterable[str] = (), without: Iterable[str] = (),
         trial_seconds: float = 20, keys: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Compare the ways to train a job on this machine, or on the cluster of a file.

    Returns
    -------
    dict
        ``candidates``, the best first, and ``chosen``, an index; as `yoke plan --json`.
    """
    return _library.plan(_job(job, None, keys), None if cluster is None else os.fspath(cluster), [*only], [*without], trial_seconds)


def list(kind: str = "kinds") -> builtins.list[dict[str, Any]]:
    """What a job can name: ``layers``, ``models``, ``formats``, ..., each with ``name`` and ``summary``."""
    return _library.list(kind)
