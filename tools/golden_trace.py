#!/usr/bin/env python3
"""Computes the golden ten-step loss traces with PyTorch: tools/golden_trace.py > tests/node/golden_trace.toml

Run it with a Python that has PyTorch (`tools/setup bench` makes one: ~/.cache/yoke/venv-bench). Weights and batches come from
yoke's own generator, restated here, so that the test draws the same numbers and only the losses need to be stored.
"""
import math

import numpy as np
import torch

SEED, BATCH, STEPS, RATE, MOMENTUM = 1, 8, 10, 0.02, 0.9
INITIALIZE, DATA = 2, 99  # the word after the seed: base/random.h, tests/node/golden_trace_test.cc
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(x):
    """Random::Mix of base/random.h."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def bits(words, count):
    """The first `count` draws of the stream that `words` name."""
    key = np.uint64(0)
    with np.errstate(over="ignore"):
        for word in words:
            key = mix((key ^ np.uint64(word)) + GOLDEN)
        return mix(key + GOLDEN * np.arange(1, count + 1, dtype=np.uint64))


def uniform(words, count):
    return (bits(words, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def name_hash(name):
    """FNV-1a, as in params/store.cc."""
    value = 1469598103934665603
    for byte in name.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def parameter(name, shape, fan_in):
    """A parameter drawn by the initializer fan_in_uniform."""
    bound = 1 / math.sqrt(fan_in)
    drawn = -bound + 2 * bound * uniform((SEED, INITIALIZE, name_hash(name)), math.prod(shape))
    return torch.nn.Parameter(torch.from_numpy(drawn.astype(np.float32).reshape(shape)))


def batch(number):
    """Images [BATCH, 1, 28, 28] in [0, 1) and classes; steps alternate between two batches."""
    draws = uniform((SEED, DATA, number), BATCH * 784 + BATCH)
    images = draws[:BATCH * 784].astype(np.float32).reshape(BATCH, 1, 28, 28)
    return torch.from_numpy(images), torch.from_numpy((draws[BATCH * 784:] * 10).astype(np.int64))


def fill(model, names):
    """Gives every layer of the model that has weights yoke's first values."""
    layers = [layer for layer in model if hasattr(layer, "weight")]
    for layer, name in zip(layers, names, strict=True):
        fan_in = layer.weight[0].numel()
        layer.weight = parameter(f"{name}.weight", tuple(layer.weight.shape), fan_in)
        layer.bias = parameter(f"{name}.bias", tuple(layer.bias.shape), fan_in)
    return model


def trace(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        images, classes = batch(step % 2)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    nn = torch.nn
    lenet = nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    mlp = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    traces = {"lenet": trace(fill(lenet, ["convolution1", "convolution2", "linear1", "linear2"])),
              "mlp": trace(fill(mlp, ["linear1", "linear2", "linear3"]))}
    print(f"# Losses of ten steps, computed by PyTorch {torch.__version__}: tools/golden_trace.py makes this file.")
    for name, losses in traces.items():
        print(f"{name} = [{', '.join(f'{loss:.9g}' for loss in losses)}]")


if __name__ == "__main__":
    main()
