"""Strategies that are written in Python: to try an idea before it is written in C++."""
from __future__ import annotations

from typing import Any, ClassVar, Mapping, NamedTuple

import numpy as np

from yoke import _library
from yoke._library import UserError

_classes: dict[str, type[Strategy]] = {}


class Step(NamedTuple):
    """A training step of one replica."""

    step: int  #: Steps before this one.
    learning_rate: float
    examples: int  #: In this replica's gradient; if 0, the gradient is 0.
    last: bool  #: Whether it is the epoch's last.


class World:
    """The replicas of a run, and messages between them. All calls wait; arrays hold float32 in C order, and are written in place."""

    def __init__(self, replica: Any):
        self._replica = replica
        self.rank: int = replica.rank
        self.size: int = replica.size

    def all_reduce(self, values: np.ndarray) -> None:
        """Replace the values by their sums over all replicas, which all call it."""
        self._replica.all_reduce(_floats(values))

    def reduce(self, values: np.ndarray, root: int = 0) -> None:
        """Replace the values of the replica `root` by the sums; those of the others are overwritten."""
        self._replica.reduce(_floats(values), root)

    def broadcast(self, values: np.ndarray, root: int = 0) -> None:
        """Replace the values by those of the replica `root`."""
        self._replica.broadcast(_floats(values), root)

    def send(self, values: np.ndarray, to: int, tag: int = 0) -> None:
        """Send values, which may be changed afterwards."""
        self._replica.send(_floats(values), to, tag)

    def receive(self, into: np.ndarray, source: int = -1, tag: int = 0) -> int:
        """Wait for values of as many elements from `source` (-1: any); returns who sent them."""
        return self._replica.receive(_floats(into), source, tag)

    def barrier(self) -> None:
        """Wait until all replicas are here."""
        self._replica.barrier()

    def now(self) -> float:
        """Seconds; virtual ones in a simulation."""
        return self._replica.now()

    def charge(self, operations: float = 0, bytes: float = 0) -> None:
        """Count work of this strategy in a simulation."""
        self._replica.charge(operations, bytes)


def _floats(values: Any) -> np.ndarray:
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or not values.flags.c_contiguous or not values.flags.writeable:
        raise UserError("a message of a strategy is an array of float32 in C order that can be written")
    return values


class Strategy:
    """What replicas exchange, and when. A subclass with a name is a strategy that jobs can name.

    >>> class Averaging(Strategy, name="averaging", options={"period": 4}, replicas_differ=True):
    ...     '''Replicas train alone and average their values every `period` steps.'''
    ...     def step(self, step):
    ...         self.update()
    ...         if (step.step + 1) % self.options["period"] == 0:
    ...             self.world.all_reduce(self.values)
    ...             self.values /= self.world.size
    >>> job = {"cluster": {"strategy": "averaging", "replicas": 2, "period": 8}}

    There is an object for each replica. All make the same calls in the same order; an array of the run is valid until its end.

    Parameters
    ----------
    name : str
        The name; without one the class is only a base of others.
    options : dict
        Keys of the job's ``[cluster]`` and their defaults.
    replicas_differ : bool
        Whether replicas have values of their own. Otherwise each must make the same update.
    deterministic : bool
        Whether equal runs give equal bits.

    Attributes
    ----------
    world : World
        The replicas.
    values : array
        All parameters, packed, with gaps that are 0; views of them by name are `parameters`.
    gradient : array
        The gradient of the loss, packed in the same places; views by name are `gradients`.
    options : dict
        The keys of ``[cluster]``.
    seed : int
        The run's seed, for all draws.
    """

    world: World
    values: np.ndarray
    gradient: np.ndarray
    parameters: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    options: dict[str, Any]
    seed: int
    name: ClassVar[str] = ""
    _replica: Any

    def __init_subclass__(cls, name: str = "", options: Mapping[str, Any] | None = None, replicas_differ: bool = False,
                          deterministic: bool = False, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if not name:
            return
        summary = (cls.__doc__ or f"{cls.__name__} of Python").strip().splitlines()[0].rstrip(".")
        _library.register_strategy(name, summary, dict(options or {}), replicas_differ, deterministic)
        cls.name = name
        _classes[name] = cls

    def prepare(self) -> None:
        """Called once, when all replicas have the initial values, or a checkpoint's."""

    def view(self, step: Step) -> np.ndarray | None:
        """The values at which a step computes its gradient, if not `values`."""
        return None

    def step(self, step: Step) -> None:
        """Called when the gradient is complete: exchange and update."""
        raise NotImplementedError(f"the strategy {self.name} has no step")

    def update(self, scale: float = 1.0) -> None:
        """Let the job's rule change `values` by the gradient times `scale`; within `step`."""
        self._replica.update(scale)

    def quiesce(self) -> None:
        """Complete what is under way, before an evaluation or a checkpoint."""

    def model(self) -> np.ndarray | None:
        """The values that are the model, if not the mean of all replicas. All call it after `quiesce`; the first one's count."""
        return None

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps besides values: plain values, of the first replica."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""

    def finish(self) -> None:
        """Called at the end."""


def make(name: str, replica: Any, options: dict[str, Any]) -> Strategy:
    """Called by the compiled module for each replica."""
    own = _classes[name].__new__(_classes[name])
    own._replica, own.world, own.seed = replica, World(replica), replica.seed
    own.options, own.values, own.gradient = options, replica.values, replica.gradient
    own.parameters, own.gradients = {}, {}
    for slice_name, offset, shape, dense in replica.slices:
        end = offset + int(np.prod(shape))
        own.parameters[slice_name] = own.values[offset:end].reshape(shape)
        if dense:
            own.gradients[slice_name] = own.gradient[offset:end].reshape(shape)
    own.__init__()
    return own
