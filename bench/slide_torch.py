"""PyTorch's dense softmax on the CPU, for slide.py: how long a training step takes.

The same network, loss and data as our dense one: EmbeddingBag(sum) -> bias -> relu -> Linear -> log-softmax against 1/|labels|,
Adam. best_variant() tries what makes PyTorch faster, one change at a time, and keeps what does.
"""
import dataclasses
import logging
import signal
import statistics
import time

COMPILE_SECONDS = 90  # torch.compile gets no more than this.


@dataclasses.dataclass
class Variant:
    """How the same step runs."""
    bf16: bool = False  # Autocast.
    sparse: bool = False  # Sparse gradients of the embedding, SparseAdam for it.
    loss: str = "log_softmax"  # Or "logsumexp": the same value without the normalized scores.
    compiled: bool = False

    def __str__(self):
        words = ["bf16 autocast" if self.bf16 else "f32", f"{'sparse embedding' if self.sparse else 'dense'} gradients", self.loss]
        return ", ".join(words + ["torch.compile"] * self.compiled)


def read_xmc(path):
    """Examples of an XMC text file: a list of (label ids, feature ids, values)."""
    examples = []
    with open(path, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            labels, *features = line.rstrip("\n").split(" ")
            pairs = [feature.split(":") for feature in features if feature]
            examples.append(([int(one) for one in labels.split(",") if one], [int(i) for i, _ in pairs],
                             [float(v) for _, v in pairs]))
    return examples


def make_batch(torch, examples):
    """(features, offsets, values, rows, labels, weights) of some examples; the last three are the entries of the target, with
    zeros behind them so that their number seldom changes: torch.compile compiles anew for each."""
    features, offsets, values, rows, labels, weights = [], [], [], [], [], []
    for row, (own_labels, own_features, own_values) in enumerate(examples):
        offsets.append(len(features))
        features += own_features
        values += own_values
        rows += [row] * len(own_labels)
        labels += own_labels
        weights += [1 / len(own_labels)] * len(own_labels)
    for entries in (rows, labels, weights):
        entries += [0] * (-len(entries) % 1024)
    return (torch.tensor(features), torch.tensor(offsets), torch.tensor(values), torch.tensor(rows),
            torch.tensor(labels), torch.tensor(weights, dtype=torch.float32))


class Trainer:
    """The network and its optimizer in one variant."""
    def __init__(self, torch, shape, rate, variant):
        torch.manual_seed(1)
        self.torch, self.variant = torch, variant
        self.bag = torch.nn.EmbeddingBag(shape["features"], shape["hidden"], mode="sum", sparse=variant.sparse)
        torch.nn.init.uniform_(self.bag.weight, -shape["features"]**-0.5, shape["features"]**-0.5)  # As ours.
        self.bias = torch.nn.Parameter(torch.zeros(shape["hidden"]))
        self.output = torch.nn.Linear(shape["hidden"], shape["labels"])
        dense = [self.bias, *self.output.parameters()]
        self.optimizers = [torch.optim.Adam(dense + [self.bag.weight] * (not variant.sparse), lr=rate, fused=True)]
        if variant.sparse:
            self.optimizers.append(torch.optim.SparseAdam(self.bag.parameters(), lr=rate))
        self.head = torch.compile(self.loss_of, dynamic=False) if variant.compiled else self.loss_of

    def loss_of(self, hidden, rows, labels, weights):
        scores = self.output(hidden)
        if self.variant.loss == "logsumexp":
            scores = scores.float()
            return (self.torch.logsumexp(scores, 1).sum() - (scores[rows, labels] * weights).sum()) / len(hidden)
        return -(self.torch.log_softmax(scores, 1)[rows, labels] * weights).sum() / len(hidden)

    def hidden(self, features, offsets, values):
        return self.torch.relu(self.bag(features, offsets, per_sample_weights=values) + self.bias)

    def step(self, batch):
        features, offsets, values, rows, labels, weights = batch
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.variant.bf16):
            loss = self.head(self.hidden(features, offsets, values), rows, labels, weights)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()

    def times(self, batches, steps, warm):
        """Seconds of each of some steps."""
        return timed(lambda index: self.step(batches[index % len(batches)]), steps, warm)


def timed(call, steps, warm):
    """Seconds of each of some calls: call(0), call(1), ..."""
    taken = []
    for index in range(warm + steps):
        start = time.perf_counter()
        call(index)
        taken.append(time.perf_counter() - start)
    return taken[warm:]


def out_of_time(_signal, _frame):
    raise TimeoutError(f"took more than {COMPILE_SECONDS} s")


def quick(torch, shape, variant, batches):
    """A first look at a variant: the shorter of two steps, or None when it fails."""
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(COMPILE_SECONDS if variant.compiled else 0)
    try:
        seconds = min(Trainer(torch, shape, 1e-3, variant).times(batches, steps=2, warm=1 + variant.compiled))
        print(f"PyTorch, {variant}: {seconds:.2f} s a step", flush=True)
        return seconds
    except Exception as error:  # pylint: disable=broad-except
        print(f"PyTorch, {variant}: left out: {str(error).splitlines()[0] if str(error) else repr(error)}", flush=True)
        return None
    finally:
        signal.alarm(0)


def load(threads):
    """PyTorch on this many threads."""
    logging.disable(logging.WARNING)  # It remarks that there is no CUDA.
    import torch  # late: everything else works without it
    torch.set_num_threads(threads)
    return torch


def adam_update(threads, rows):
    """Seconds of Adam over all rows of a layer, by PyTorch's fused kernel; None without PyTorch."""
    try:
        torch = load(threads)
    except ImportError:
        return None
    weight = torch.nn.Parameter(torch.zeros(rows, 128))
    weight.grad = torch.ones_like(weight)
    adam = torch.optim.Adam([weight], fused=True)
    return statistics.median(timed(lambda _: adam.step(), 5, 1))


def best_variant(torch, shape, batches, compile_too):
    """The fastest variant found by changing one thing at a time."""
    best = Variant()
    fastest = quick(torch, shape, best, batches)
    if fastest is None:
        raise RuntimeError("PyTorch cannot train this network here")
    for change in ({"loss": "logsumexp"}, {"sparse": True}, {"bf16": True}) + ({"compiled": True},) * compile_too:
        candidate = dataclasses.replace(best, **change)
        seconds = quick(torch, shape, candidate, batches)
        if seconds is not None and seconds < fastest:
            best, fastest = candidate, seconds
    return best


def step_time(torch, shape, batches, variant, steps=8):
    """Median seconds of a step after warm-up."""
    return statistics.median(Trainer(torch, shape, 1e-3, variant).times(batches, steps, warm=2 + 6 * variant.compiled))
