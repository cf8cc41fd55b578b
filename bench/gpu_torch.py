#!/usr/bin/env python3
"""PyTorch's half of bench/gpu.py: the examples a second of one form of a training step, as a line of JSON.

usage: bench/gpu_torch.py MODEL BATCH PRECISION IMAGE CLASSES DEVICE FORM [SECONDS]

PRECISION is tf32 or bf16 (autocast), IMAGE like 3x224x224 or 54. FORM is eager, graph (the whole step in one CUDA graph) or compiled
(torch.compile, in one graph where it can be captured).
"""
import contextlib
import json
import sys
import time

from torch_step import make_model  # first: it explains what is missing

import torch  # noqa: I001

FORMS = ("eager", "graph", "compiled")


def step_of(name, batch, precision, image, classes, device, compiled):
    torch.manual_seed(1)
    model, x = make_model(name, classes).to(device), torch.rand((batch, *image), device=device)
    if len(image) == 3:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    y, loss_of = torch.randint(classes, (batch,), device=device), torch.nn.CrossEntropyLoss()
    model(x)  # lazy layers get their sizes
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)

    def loss():
        kind = torch.device(device).type
        with torch.autocast(kind, torch.bfloat16) if precision == "bf16" else contextlib.nullcontext():
            return loss_of(model(x), y)

    forward = torch.compile(loss) if compiled else loss

    def step():
        optimizer.zero_grad(set_to_none=False)
        forward().backward()
        optimizer.step()

    return step


def captured(step):
    """One replay of the step's graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def rate(step, device, seconds):
    """Steps a second."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    end = time.perf_counter() + seconds / 3  # warm-up
    while time.perf_counter() < end:
        step()
        wait()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            step()
        steps += 10
        wait()
    return steps / (time.perf_counter() - start)


def main():
    if len(sys.argv) not in (8, 9) or sys.argv[7] not in FORMS:
        sys.exit(__doc__)
    name, batch, precision, image, classes, device, form = sys.argv[1:8]
    seconds = float(sys.argv[8]) if len(sys.argv) > 8 else 3.0
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    step = step_of(name, int(batch), precision, tuple(map(int, image.split("x"))), int(classes), device, form == "compiled")
    if form != "eager" and device.startswith("cuda"):
        try:
            step = captured(step)
        except RuntimeError:
            if form == "graph":
                raise
    print(json.dumps({"examples_per_second": int(batch) * rate(step, device, seconds), "pytorch": torch.__version__}))


if __name__ == "__main__":
    main()
