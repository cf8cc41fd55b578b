#!/usr/bin/env python3
"""The safetensors Python package reads our checkpoints: names, shapes and numbers. Runs in the test environment that tools/setup makes."""
import os, subprocess, sys, tempfile

YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import packages  # noqa: E402

packages.need("numpy", "safetensors")
from safetensors.numpy import load_file  # noqa: E402

JOB = """[data]
format = "synthetic-digits"
train_size = 100
test_size = 20
[model]
name = "mlp"
widths = [7]
[train]
epochs = 1
rule = "{rule}"
[node]
threads = 1
"""


def tensors(folder, rule):
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB.format(rule=rule))
    subprocess.run([YOKE, "train", "job.toml", "--run", rule, "--quiet"], cwd=folder, check=True)
    last = f"{folder}/{rule}/last"
    return load_file(last + "/model.safetensors"), load_file(last + "/optimizer.safetensors")


with tempfile.TemporaryDirectory(prefix="yoke-package-") as place:
    model, optimizer = tensors(place, "adam")
    assert sorted(t.shape for t in model.values()) == [(7,), (7, 784), (10,), (10, 7)], {n: t.shape for n, t in model.items()}
    assert all(name.count(".") == 1 and t.dtype == "float32" and 0 < abs(t).max() < 10 for name, t in model.items())
    assert {name.rpartition(".")[0] for name in optimizer} == set(model), sorted(optimizer)
    assert len(optimizer) == 2 * len(model) and all(t.any() for t in optimizer.values())
    model, optimizer = tensors(place, "sgd")
    assert len(model) == 4 and not optimizer, "sgd keeps no state"
    print("read by safetensors:", ", ".join(f"{name} {t.shape}" for name, t in model.items()))
