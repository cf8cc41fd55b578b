"""Trains a network further that is an ONNX file, on other data."""
import numpy as np
import yoke

random = np.random.default_rng(1)
x = random.normal(size=(1000, 10)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(int)
job = {"model": {"name": "mlp", "widths": [32]}, "train": {"epochs": 20, "rule": "adam", "learning_rate": 0.005}}
yoke.train(job, (x, y)).model().export("network.onnx")

moved = x + 0.5
network = {"model": {"file": "network.onnx"}, "train": {"epochs": 5, "rule": "adam", "learning_rate": 0.002}}
print("before", yoke.Model.load("network.onnx").evaluate(moved, y)["accuracy"])
print("after", yoke.train(network, (moved, y)).model().evaluate(moved, y)["accuracy"])
