#!/usr/bin/env python3
"""Full training steps of one of our models in PyTorch, for bench/step.py.

usage: bench/torch_step.py MODEL BATCH THREADS PRECISION IMAGE CLASSES VARIANT

VARIANT is eager, channels-last or compile (channels-last, torch.compile), or one of these with -flush: then denormals are
flushed (torch.set_flush_denormal). Reads a number of seconds from each line of its standard input and answers with a line of JSON:
images a second, the loss, peak memory. What is compiled is kept in $TORCHINDUCTOR_CACHE_DIR, or ~/.cache/yoke/inductor.
"""
import contextlib
import itertools
import json
import logging
import os
import pathlib
import resource
import sys
import time

from lib import explain  # noqa: F401

CACHE = os.environ.get("YOKE_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "yoke"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{CACHE}/inductor")  # read when torch is imported

import torch  # noqa: E402
from torch import nn  # noqa: E402


def caffenet(classes):
    """As our zoo has it: pooling before normalization, two groups, pools that round up."""
    def conv(inputs, outputs, kernel, **more):
        return [nn.Conv2d(inputs, outputs, kernel, **more), nn.ReLU(inplace=True)]
    pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)  # noqa: E731
    hidden = lambda inputs: [nn.Linear(inputs, 4096), nn.ReLU(inplace=True), nn.Dropout()]  # noqa: E731
    return nn.Sequential(*conv(3, 96, 11, stride=4), pool(), nn.LocalResponseNorm(5),
                         *conv(96, 256, 5, padding=2, groups=2), pool(), nn.LocalResponseNorm(5),
                         *conv(256, 384, 3, padding=1), *conv(384, 384, 3, padding=1, groups=2),
                         *conv(384, 256, 3, padding=1, groups=2), pool(), nn.Flatten(),
                         *hidden(9216), *hidden(4096), nn.Linear(4096, classes))


class SmallBlock(nn.Module):
    """A residual block of ResNet-20: two 3x3 convolutions; shortcuts without parameters."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.stride, self.added = stride, outputs - inputs

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu_(self.norm1(self.conv1(x)))))
        if self.stride > 1:
            x = nn.functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.added))
        return torch.relu_(y + x)


def resnet20(classes):
    blocks = [SmallBlock(16 * max(1, 2 ** stage // (2 if i == 0 else 1)), 16 * 2 ** stage, 2 if stage and i == 0 else 1)
              for stage in range(3) for i in range(3)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def make_model(name, classes):
    """The network as our zoo has it; torchvision's where they agree."""
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, classes))
    if name.startswith("sigmoid-"):  # sigmoid-6x512: hidden layers and their units
        layers, units = map(int, name.removeprefix("sigmoid-").split("x"))
        return nn.Sequential(nn.Flatten(), *(part for _ in range(layers) for part in (nn.LazyLinear(units), nn.Sigmoid())), nn.LazyLinear(classes))
    if name == "lenet":
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, classes))
    if name == "alexnet-cifar":
        return nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.MaxPool2d(3, 2), nn.ReLU(),
                             nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(), nn.AvgPool2d(3, 2),
                             nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(),
                             nn.Linear(576, 64), nn.Linear(64, classes))
    if name in ("caffenet", "resnet20"):
        return {"caffenet": caffenet, "resnet20": resnet20}[name](classes)
    import torchvision.models as zoo
    if name == "googlenet":
        return zoo.googlenet(num_classes=classes, aux_logits=False, init_weights=False)
    return getattr(zoo, name)(num_classes=classes)


def make_step(name, shape, classes, variant, precision="f32", wrap=None):
    """A function that trains the model by one batch and returns the loss. wrap: what joins the model to those of other ranks."""
    torch.manual_seed(1)
    memory = torch.contiguous_format if variant == "eager" else torch.channels_last
    model, momentum = make_model(name, classes), 0.9
    if name.startswith("sigmoid-"):  # which the papers train by plain SGD
        model(torch.rand(shape))  # its layers take their inputs from this
        momentum = 0
    model = model.to(memory_format=memory).train()
    model = wrap(model) if wrap else model
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=momentum, fused=True)
    batches = itertools.cycle([(torch.rand(shape).contiguous(memory_format=memory), torch.randint(classes, (shape[0],))) for _ in range(4)])

    def loss(x, y):
        with torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext():
            return loss_of(model(x), y)

    forward = torch.compile(loss) if variant == "compile" else loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        value = forward(*next(batches))
        value.backward()
        optimizer.step()
        return value

    return step


def rate(step, seconds):
    """Steps a second, after a fifth of the time as warm-up."""
    end = time.perf_counter() + seconds / 5
    while time.perf_counter() < end:
        value = step()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        value = step()
        steps += 1
    return steps / (time.perf_counter() - start), float(value.detach())


def main():
    logging.disable(logging.WARNING)  # PyTorch remarks that there is no CUDA
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    name, batch, threads, precision, image, classes, variant = sys.argv[1:]
    torch.set_flush_denormal(variant.endswith("-flush"))  # of this thread and those that it starts
    torch.set_num_threads(int(threads))
    shape = (int(batch), *map(int, image.split("x")))
    step = make_step(name, shape, int(classes), variant.removesuffix("-flush"), precision)
    for line in sys.stdin:
        steps, loss = rate(step, float(line))
        print(json.dumps({"images_per_second": steps * int(batch), "loss": loss, "pytorch": torch.__version__,
                          "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}), flush=True)


if __name__ == "__main__":
    main()
