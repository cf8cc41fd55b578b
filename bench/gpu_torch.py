#!/usr/bin/env python3
"""PyTorch's half of bench/gpu.py: the rate of its best form, as a line of JSON.

usage: bench/gpu_torch.py MODEL BATCH PRECISION DEVICE          PRECISION is f32 (TF32 products) or bf16

Forms: eager, the whole step in one CUDA graph, and compiled with one.
"""
import contextlib
import json
import sys
import time

from torch_step import make_model  # first: it explains what is missing

import torch  # noqa: I001

SECONDS = 3
SHAPES = {"mlp": (1, 28, 28), "lenet": (1, 28, 28)}


def step_of(name, batch, precision, device, compiled):
    torch.manual_seed(1)
    model = make_model(name, 10).to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    x, y = torch.rand((batch, *SHAPES[name]), device=device), torch.randint(10, (batch,), device=device)
    loss_of = torch.nn.CrossEntropyLoss()

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


def rate(step, device):
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    for _ in range(20):
        step()
    wait()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        for _ in range(10):
            step()
        steps += 10
        wait()
    return steps / (time.perf_counter() - start)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    name, batch, precision, device = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    forms = {"eager": lambda: step_of(name, batch, precision, device, False)}
    if device.startswith("cuda"):
        forms["CUDA graph"] = lambda: captured(step_of(name, batch, precision, device, False))
        forms["compiled, CUDA graph"] = lambda: captured(step_of(name, batch, precision, device, True))
    rates = {form: batch * rate(make(), device) for form, make in forms.items()}
    best = max(rates, key=rates.get)
    print(json.dumps({"examples_per_second": rates[best], "form": best, "forms": rates}))


if __name__ == "__main__":
    main()
