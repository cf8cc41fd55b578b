#!/usr/bin/env python3
"""Vectors of words by training time: the hashed output, the full softmax, and sampled softmax in PyTorch.

usage: tools/bench bench/skip_gram.py [options]

All sides train one epoch on the same examples, which `yoke convert` writes: of the text that examples/skip-gram.toml makes, one block of 200 lines
in --one-in. The network is the same, too: a vector of --hidden numbers for each word, relu, a score for each word; Adam, the rate falling to zero.
The hashed output has a fraction --share of the words active besides labels. PyTorch has no sampled softmax of its own; this is TensorFlow's: --samples
negatives a batch, drawn log-uniformly over the words by frequency, scores less log(expected count), hits of an example's own labels left out; gradients
are sparse, by SparseAdam.
"""
import gzip
import math
import time
from typing import NamedTuple

import slide_torch
from lib.options import main, part
from lib.places import CORES, DATA, PROGRAM
from lib.runner import events, execute, trained, write_job
from lib.tables import print_table
from slide_jobs import DECAY, told

BLOCK = 200  # lines
SIDES = ("hashed", "full softmax")
FREQUENT = 20000  # words among which neighbours are sought
NEIGHBOURS = 4


class Point(NamedTuple):
    """An evaluation."""
    seconds: float  # of training
    examples: int
    loss: float
    p_at_1: float


def write_text(arguments):
    """The part of the training text that is used, as a file beside the jobs."""
    with gzip.open(DATA / "text/train.txt.gz", "rt", encoding="utf-8") as lines, open(arguments.runs / "train.txt", "w", encoding="utf-8") as out:
        out.writelines(line for number, line in enumerate(lines) if number // BLOCK % arguments.one_in == 0)


def job_of(name, arguments, **more):
    """A job file of one of our sides."""
    output = {"output": "lsh", "lsh": {"share": arguments.share, "correct": True}} if name == "hashed" else {"output": "dense"}
    data = {"format": "skip-gram", "train": "train.txt", "test": str(DATA / "text/test.txt.gz"), "subsample": 1e-4}
    return write_job(arguments.runs / f"{name.replace(' ', '-')}.toml", {
        "data": data, "model": {"name": "xmc", "hidden": arguments.hidden, "loss": "softmax", **output},
        "train": {"epochs": 1, "batch": arguments.batch, "rule": "adam", "learning_rate": arguments.rate, "schedule": DECAY, **more}})


def ours(name, steps, arguments):
    """(evaluations, words, vectors) of one of our sides, evaluated every so many steps."""
    run = trained(job_of(name, arguments, evaluate_every={"steps": steps}), {}, arguments.runs, "--threads", arguments.threads, keep=True)
    execute([PROGRAM, "export", run.folder / "last", run.folder / "vectors.txt"])
    points = [Point(one["training_seconds"], one["examples"], one["test"]["loss"], one["test"]["p_at_1"]) for one in run.evaluations]
    told(f"{name}: {points[-1]}")
    return points, *read_vectors(run.folder / "vectors.txt")


def read_vectors(file):
    """(words, [vector of each]) of word2vec's text format, without its first line."""
    lines = [line.split(" ") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return [line[0] for line in lines], [list(map(float, line[1:])) for line in lines]


class Examples:
    """Words [N] and their labels [N, most], filled up with -1, of an XMC file."""

    def __init__(self, torch, file):
        examples = slide_torch.read_xmc(file)
        most = max(len(labels) for labels, _, _ in examples)
        self.words = torch.tensor([features[0] for _, features, _ in examples])
        self.labels = torch.tensor([labels + [-1] * (most - len(labels)) for labels, _, _ in examples])


class SampledSoftmax:
    """The network, and a step of it."""

    def __init__(self, torch, words, arguments):
        self.torch, self.count, self.samples = torch, words, arguments.samples
        torch.manual_seed(1)
        self.vectors, self.output, self.output_bias = (torch.nn.Embedding(words, width, sparse=True) for width in (arguments.hidden, arguments.hidden, 1))
        self.bias = torch.nn.Parameter(torch.zeros(arguments.hidden))
        torch.nn.init.xavier_uniform_(self.vectors.weight)
        torch.nn.init.uniform_(self.output.weight, -arguments.hidden**-0.5, arguments.hidden**-0.5)
        torch.nn.init.zeros_(self.output_bias.weight)
        tables = [self.vectors.weight, self.output.weight, self.output_bias.weight]
        self.optimizers = [torch.optim.SparseAdam(tables, lr=arguments.rate), torch.optim.Adam([self.bias], lr=arguments.rate)]

    def hidden(self, words):
        return self.torch.relu(self.vectors(words) + self.bias)

    def log_expected(self, words):
        """log of how often a word is expected among the samples: word r of the frequent has probability log((r + 2) / (r + 1)) / log(words + 1)."""
        return self.torch.log(self.samples * self.torch.log((words + 2.0) / (words + 1.0)) / math.log(self.count + 1))

    def draw(self):
        ranks = self.torch.exp(self.torch.rand(self.samples) * math.log(self.count + 1)).long() - 1
        return ranks.clamp_(0, self.count - 1)

    def loss(self, words, labels):
        """The mean of -log p(label), p over an example's labels and the samples."""
        hidden, samples, none = self.hidden(words), self.draw(), labels < 0
        known = labels.clamp(min=0)
        own = (hidden.unsqueeze(1) * self.output(known)).sum(2) + self.output_bias(known).squeeze(2) - self.log_expected(known)
        own = own.masked_fill(none, -math.inf)
        drawn = hidden @ self.output(samples).T + self.output_bias(samples).squeeze(1) - self.log_expected(samples)
        drawn = drawn.masked_fill((labels.unsqueeze(2) == samples).any(1), -math.inf)
        norm = self.torch.logsumexp(self.torch.cat([own, drawn], 1), 1, keepdim=True)
        return ((norm - own).masked_fill(none, 0).sum(1) / (~none).sum(1)).mean()

    def step(self, words, labels, left):
        """One step, with the fraction `left` of the rate."""
        loss = self.loss(words, labels)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.param_groups[0]["lr"] = optimizer.defaults["lr"] * left
            optimizer.step()

    def evaluate(self, data, at_once=512):
        """(loss of the full softmax, P@1)."""
        losses, hits = [], []
        with self.torch.no_grad():
            for words, labels in zip(data.words.split(at_once), data.labels.split(at_once)):
                scores, none = self.hidden(words) @ self.output.weight.T + self.output_bias.weight.T, labels < 0
                own = self.torch.log_softmax(scores, 1).gather(1, labels.clamp(min=0)).masked_fill(none, 0)
                losses.append(-own.sum(1) / (~none).sum(1))
                hits.append((labels == scores.argmax(1, keepdim=True)).any(1).float())
        return self.torch.cat(losses).mean().item(), self.torch.cat(hits).mean().item()


def theirs(torch, words, steps, arguments):
    """The same of the sampled softmax."""
    train, test = (Examples(torch, arguments.runs / f"examples/{name}.txt") for name in ("train", "test"))
    network, points, seconds = SampledSoftmax(torch, len(words), arguments), [], 0.0
    batches = torch.randperm(len(train.words)).split(arguments.batch)
    for number, batch in enumerate(batches, 1):
        began = time.perf_counter()
        network.step(train.words[batch], train.labels[batch], 1 - (number - 1) / len(batches))
        seconds += time.perf_counter() - began
        if number % steps == 0 or number == len(batches):
            points.append(Point(seconds, min(number * arguments.batch, len(train.words)), *network.evaluate(test)))
    told(f"sampled softmax: {points[-1]}")
    with torch.no_grad():
        return points, words, torch.relu(network.vectors.weight + network.bias)


def neighbours(torch, words, vectors, asked):
    """The nearest of the frequent words by cosine."""
    few = words[:FREQUENT]
    units = torch.nn.functional.normalize(torch.as_tensor(vectors[:FREQUENT]), dim=1)
    for word in (word for word in asked if word in few):
        best = (units @ units[few.index(word)]).topk(NEIGHBOURS + 1).indices.tolist()
        yield word, ", ".join(few[one] for one in best if few[one] != word)


def cells(points, seconds):
    """The last evaluation until then."""
    past = [point for point in points if point.seconds <= seconds]
    return ["", "", ""] if not past else [f"{past[-1].examples:,}", f"{past[-1].loss:.3f}", f"{past[-1].p_at_1:.4f}"]


@part(one_in=4, hidden=200, batch=512, rate=0.01, share=0.02, samples=1024, evaluations=20, threads=CORES,
      words=["king", "iron", "horse", "seven", "capitalism", "workers", "shakespeare"], quick={"one_in": 100, "hidden": 32, "evaluations": 4})
def skip_gram(arguments):
    """Loss and P@1 of three sides over their seconds of training, and nearest words."""
    write_text(arguments)
    torch = slide_torch.load(arguments.threads)
    examples = events("convert", job_of("full softmax", arguments), arguments.runs / "examples")[0]["examples"]
    steps = math.ceil(examples / arguments.batch / arguments.evaluations)
    found = {name: ours(name, steps, arguments) for name in SIDES}
    words = found["hashed"][1]
    found["sampled softmax, PyTorch"] = theirs(torch, words, steps, arguments)
    print_table(["seconds of training", *(f"{name}: {what}" for name in found for what in ("examples", "loss", "P@1"))],
                ([f"{seconds:.1f}", *(cell for points, _, _ in found.values() for cell in cells(points, seconds))] for seconds in times(found)))
    print_table(["", "seconds of the epoch", "loss", "P@1", "seconds to the full softmax's last loss"], summary(found))
    near = {name: dict(neighbours(torch, *side[1:], arguments.words)) for name, side in found.items()}
    print_table(["nearest words", *near], ([word, *(one.get(word, "") for one in near.values())] for word in near["hashed"]))
    return f"{examples:,} examples, {len(words):,} words; one run each"


def times(found):
    """From the first evaluation of all to the last, each twice the one before."""
    first, last = (choose(points[place].seconds for points, _, _ in found.values()) for choose, place in ((min, 0), (max, -1)))
    return [*(first * 2**k for k in range(math.ceil(math.log2(last / first)))), last]


def summary(found):
    goal = found["full softmax"][0][-1].loss
    for name, (points, _, _) in found.items():
        reached = next((f"{point.seconds:.0f}" for point in points if point.loss <= goal), "not reached")
        yield [name, f"{points[-1].seconds:.1f}", f"{points[-1].loss:.3f}", f"{points[-1].p_at_1:.4f}", reached]


if __name__ == "__main__":
    main(__doc__)
