"""train.weights = "bf16": runs that stop and resume end with the same bytes, in half the memory; what reads the checkpoints; what
is refused."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import ProgramTest

JOB = """[data]
format = "synthetic-xmc"
features = 2000
labels = 5000
train_size = 2000
test_size = 500
[model]
name = "xmc"
hidden = 32
output = "lsh"
loss = "softmax"
lsh = { group = 16 }
[train]
epochs = 2
batch = 100
rule = "adam"
learning_rate = 0.003
weights = "bf16"
[node]
threads = 1
"""
CLUSTER = """[[nodes]]
operations_per_second = 2e9
bytes_per_second = 5e9
[network]
latency = 2e-5
bytes_per_second = 1.25e9
"""
F32 = ("--set", "train.weights=f32")


class Bf16RowsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("job.toml", JOB)

    def files(self, run):
        contents = []
        for name in ("model", "optimizer"):
            with open(self.path(f"{run}/last/{name}.safetensors"), "rb") as file:
                contents.append(file.read())
        return contents

    def loss(self, *words):
        return json.loads(self.good("eval", *words, "--json").out.splitlines()[-1])["metrics"]["loss"]

    def test_resumes_with_the_same_bytes(self):
        for executor in ("single", "hogwild"):
            more = ("--executor", executor)
            self.good("train", "job.toml", "--run", executor, *more)
            self.good("train", "job.toml", "--run", executor + "2", "--set", "train.epochs=1", *more)
            self.good("train", "--resume", executor + "2", "--set", "train.epochs=2")
            self.assertEqual(self.files(executor), self.files(executor + "2"))

    def test_its_checkpoints_are_read_by_all(self):
        self.good("train", "job.toml", "--run", "run")
        self.assertEqual(self.loss("run/last"), self.last_loss("run"))
        self.good("eval", "run/last", "--search", "tables")
        self.good("info", "run/last")
        self.good("train", "--resume", "run", "--set", "train.epochs=3", *F32)
        wide = self.files("run")
        self.good("train", "--resume", "run", "--set", "train.epochs=4", "--set", "train.weights=bf16")
        narrow = self.files("run")
        self.assertLess(len(narrow[0]), 0.55 * len(wide[0]))
        self.assertLess(len(narrow[1]), len(wide[1]))  # both hold the hash tables

    def last_loss(self, run):
        events = [json.loads(line) for line in self.read(run + "/metrics.jsonl").splitlines()]
        return [event for event in events if event["event"] == "epoch"][-1]["test"]["loss"]

    def test_a_simulation_trains_the_same(self):
        self.write("cluster.toml", CLUSTER)
        self.good("train", "job.toml", "--run", "real")
        self.good("simulate", "job.toml", "--cluster", "cluster.toml", "--run", "simulated")
        self.assertEqual(self.files("simulated"), self.files("real"))
        self.assertEqual(self.last_loss("simulated"), self.last_loss("real"))

    def test_the_forecast_halves(self):
        def memory(*words):
            return json.loads(self.good("info", "job.toml", "--json", *words).out.splitlines()[-1])["memory"]
        narrow, wide = memory(), memory(*F32)
        for part in ("parameters", "rule_state"):
            self.assertLess(narrow[part], 0.55 * wide[part])

    def test_both_roundings_train(self):
        for rounding in ("stochastic", "nearest"):
            self.good("train", "job.toml", "--run", rounding, "--set", "train.rounding=" + rounding)
        self.assertNotEqual(self.files("stochastic"), self.files("nearest"))

    def test_what_is_refused(self):
        for words, sentence in (
            (("--executor", "split"), "executor single or hogwild, not executor split"),
            (("--replicas", "2"), "not strategy allreduce"),
            ((*F32, "--set", "train.rounding=nearest"), "of weights that are stored in bf16")):
            result = self.yoke("train", "job.toml", "--run", "refused", *words)
            self.assertEqual(result.code, 2, result.error)
            self.assertIn(sentence, result.error)
        self.write("dense.toml", JOB.replace('format = "synthetic-xmc"\nfeatures = 2000\nlabels = 5000', 'format = "synthetic-digits"').replace(
            'name = "xmc"\nhidden = 32\noutput = "lsh"\nloss = "softmax"\nlsh = { group = 16 }', 'name = "lenet"'))
        self.assertIn("the model has no such layer", self.yoke("train", "dense.toml").error)


if __name__ == "__main__":
    unittest.main()
