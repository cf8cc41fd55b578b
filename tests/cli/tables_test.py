"""Tables: columns by name, categories, missing cells, regression; predictions in files and confusion matrices."""
import csv
import json
import math
import os
import random
import struct
import unittest
import zipfile

from program import ProgramTest

NAMES = ["age", "city", "size", "bought", "price", "tax"]
JOB = """[data]
format = "csv"
train = "train.csv"
test = "test.csv"
{data}
[model]
name = "mlp"
widths = [16]
{model}
[train]
epochs = 15
batch = 32
rule = "adam"
learning_rate = 0.01
{train}
[node]
threads = 1
"""
CLASSES = 'label = "bought"\ndrop = ["price", "tax"]'
PRICES = 'label = "price"\ndrop = ["bought", "tax"]\ntask = "regression"'


def people(count, seed):
    draw, rows = random.Random(seed), []
    for _ in range(count):
        age, city, size = draw.randint(18, 80), draw.choice(["Paris", "Lima", "Oslo"]), draw.uniform(0, 1)
        price = round(2 * age + 30 * (city == "Lima") + 5 * size, 3)
        rows.append([age, city, "" if draw.random() < 0.1 else round(size, 4), "yes" if age > 50 or city == "Oslo" else "no", price, price / 4])
    return rows


def npy(shape, numbers):
    """An array of f64 as numpy.save writes it."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(numbers)}d", *numbers)


class TablesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.table("train.csv", NAMES, people(800, 1))
        self.test = people(200, 2)
        self.table("test.csv", NAMES, self.test)

    def job(self, data, model="", train=""):
        self.write("job.toml", JOB.format(data=data, model=model, train=train))

    def train(self, *words):
        return self.good("train", "job.toml", "--json", *words).events()[-1]

    def refused(self, sentence, *words):
        result = self.yoke(*words)
        self.assertEqual(result.code, 2, result.out)
        self.assertEqual(result.error.count("\n"), 1, result.error)
        self.assertIn(sentence, result.error)

    def evaluated(self, *words):
        return self.good("eval", *words, "--json").events()[-1]

    def test_classes_with_categories_and_missing_cells(self):
        self.job(CLASSES)
        result = self.good("train", "job.toml", "--run", "c")
        self.assertIn("label: 2 classes", result.out)
        self.assertIn("missing numbers: ", result.out)
        event = self.evaluated("c")
        self.assertGreater(event["metrics"]["accuracy"], 0.95)
        self.table("turned.csv", NAMES[::-1], [row[::-1] for row in self.test])
        self.assertEqual(self.evaluated("c", "turned.csv")["metrics"], event["metrics"])
        matrix = event["confusion"]
        self.assertEqual(matrix["classes"], ["no", "yes"])
        self.assertEqual([sum(row) for row in matrix["counts"]], [sum(row[3] == kind for row in self.test) for kind in ("no", "yes")])
        right = matrix["counts"][0][0] + matrix["counts"][1][1]
        self.assertAlmostEqual(right / 200, event["metrics"]["accuracy"])
        yes = event["by_class"][1]
        self.assertAlmostEqual(yes["precision"], matrix["counts"][1][1] / (matrix["counts"][0][1] + matrix["counts"][1][1]))
        self.assertAlmostEqual(event["balanced_accuracy"], sum(one["recall"] for one in event["by_class"]) / 2)
        text = self.good("eval", "c").out
        self.assertRegex(text, r"class +examples +precision +recall +F1 +as no +as yes")

    def test_nothing_but_the_label(self):
        draw = random.Random(3)
        rows = [[draw.uniform(0, 1e6), draw.uniform(0, 1e-3), draw.choice("ab"), 7.5] for _ in range(1500)]
        self.table("train.csv", ["money", "share", "kind", "same", "class", "amount"],
                   [[*row, "yes" if row[0] / 1e6 + row[1] * 1e3 > 1 else "no", row[0] + 1e9 * row[1] + 1e5 * (row[2] == "a")] for row in rows])
        for label, drop, metric, least in (("class", "amount", "accuracy", 0.96), ("amount", "class", "r2", 0.98)):
            task = 'task = "regression"' if metric == "r2" else ""
            self.write("job.toml", f'[data]\nformat = "csv"\ntrain = "train.csv"\ntest_share = 0.2\nlabel = "{label}"\ndrop = ["{drop}"]\n{task}\n')
            *_, end = self.good("train", "job.toml", "--run", label, "--json").events()
            self.assertGreater(end["test"][metric], least)
            self.assertAlmostEqual(self.evaluated(label)["metrics"][metric], end["test"][metric])
            self.assertIn('name = "mlp"', self.read(label + "/job.toml"))
        self.good("train", "--resume", "class", "--set", "train.epochs=300")
        self.write("job.toml", '[data]\nformat = "csv"\ntrain = "train.csv"\nlabel = "class"\ndrop = "amount"\n[train]\nepochs = 3\n')
        self.assertEqual(self.train("--run", "few")["epochs"], 3)

    def test_regression_in_the_unit_of_the_data(self):
        self.job(PRICES)
        result = self.good("train", "job.toml", "--run", "r")
        self.assertRegex(result.out, r"target: [\d.]+ to [\d.]+, regression")
        event = self.evaluated("r")
        self.assertNotIn("confusion", event)
        self.assertGreater(event["metrics"]["r2"], 0.9)
        self.good("predict", "r", "test.csv", "--output", "p.csv")
        with open(self.path("p.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["index"] for row in rows], [str(i) for i in range(200)])
        errors = [float(row["prediction"]) - person[4] for row, person in zip(rows, self.test)]
        self.assertAlmostEqual(math.sqrt(sum(e * e for e in errors) / 200), event["metrics"]["rmse"], places=3)
        self.assertAlmostEqual(sum(map(abs, errors)) / 200, event["metrics"]["mae"], places=3)
        self.refused("--top has no effect", "predict", "r", "test.csv", "--top", "2")
        self.good("export", "r", "m.onnx")

    def test_several_targets_and_other_losses(self):
        for loss in ('loss = "huber"', 'loss = "quantile"\nloss_options = { level = 0.5 }', 'loss = "mean_absolute_error"'):
            self.job('label = ["price", "tax"]\ndrop = ["bought"]', model=loss, train="seed = 2")
            end = self.train("--run", loss.split('"')[1])
            self.assertGreater(end["test"]["r2"], 0.8, loss)
        self.good("predict", "huber", "test.csv", "--output", "p.jsonl")
        lines = [json.loads(line) for line in self.read("p.jsonl").splitlines()]
        self.assertEqual((len(lines), lines[3]["index"], len(lines[3]["values"])), (200, 3, 2))
        self.refused("does not fit the data, which have classes", "train", "job.toml", "--set", 'data.label="bought"', "--set", 'data.drop="tax"')

    def test_replicas_devices_and_resumes(self):
        self.job(PRICES)
        whole = self.train("--run", "whole")["test"]
        self.good("train", "job.toml", "--run", "part", "--quiet", "--set", "train.epochs=7")
        self.good("train", "--resume", "part", "--quiet", "--set", "train.epochs=15")
        self.assertEqual(self.evaluated("part")["metrics"], self.evaluated("whole")["metrics"])
        for words in (("--replicas", "2"), ("--replicas", "2", "--strategy", "compute_groups", "--set", "cluster.served_head=true"),
                      ("--executor", "split", "--set", 'node.devices=["cpu", "emulated:0"]'), ("--executor", "hogbatch"),
                      ("--set", 'node.devices=["emulated:0"]')):
            self.assertLess(self.train("--run", "-".join(words).replace("/", ""), *words)["test"]["rmse"], 3 * whole["rmse"] + 15, words)

    def test_weights_of_examples(self):
        rows = [[k % 2, "a" if k % 4 < 2 else "b", 9 if k % 4 < 2 else 1] for k in range(400)]
        self.table("train.csv", ["x", "kind", "count"], rows)
        self.table("test.csv", ["x", "kind"], [row[:2] for row in rows])
        self.job('label = "kind"\nweight = "count"')
        self.good("train", "job.toml", "--run", "w", "--quiet")
        event = self.good("predict", "w", "test.csv", "--json").events()[0]
        self.assertEqual(event["labels"], ["a"])
        self.assertAlmostEqual(event["scores"][0], 0.9, delta=0.05)

    def test_arrays(self):
        draw = random.Random(5)
        x = [draw.uniform(-1, 1) for _ in range(600)]
        y = [1000 + 50 * a - 20 * b for a, b in zip(x[::2], x[1::2])]
        with zipfile.ZipFile(self.path("xy.npz"), "w") as archive:
            archive.writestr("y.npy", npy((300,), y))
            archive.writestr("x.npy", npy((300, 2), x))
        with open(self.path("x.npy"), "wb") as out:
            out.write(npy((300, 2), x))
        self.write("job.toml", JOB.format(data="", model="", train="").replace("csv", "numpy", 1).replace('test = "test.csv"', "test_share = 0.2").replace("train.csv", "xy.npz"))
        self.assertGreater(self.train("--run", "n")["test"]["r2"], 0.9)
        values = [event["values"][0] for event in self.good("predict", "n", "x.npy", "--json").events()]
        self.assertLess(sum(abs(a - b) for a, b in zip(values, y)) / 300, 10)
        with zipfile.ZipFile(self.path("z.npz"), "w") as archive:
            archive.writestr("z.npy", npy((300,), y))
        self.refused("z.npz: no array is named x; there are z.npy", "predict", "n", "z.npz")

    def test_bad_requests_are_one_sentence(self):
        self.job('label = "cost"')
        self.refused("train.csv:1: no column is named 'cost', as data.label says; there are 'age', 'city'", "train", "job.toml")
        self.job('label = "age"\ndrop = ["tax"]\ntask = "classes"\ncategories = ["price"]')
        self.table("train.csv", NAMES, people(1500, 3))
        self.refused("column 4 ('price'): it has more than 1000 different texts", "train", "job.toml")
        self.job(CLASSES)
        self.good("train", "job.toml", "--run", "c", "--quiet")
        before = self.read("test.csv")
        self.refused("would replace the input", "predict", "c", "test.csv", "--output", "test.csv")
        os.link(self.path("train.csv"), self.path("same.csv"))
        self.refused("would replace the input", "predict", "c", "test.csv", "--output", "same.csv")
        self.refused("ends in .csv, .jsonl or .parquet", "predict", "c", "test.csv", "--output", "p.txt")
        self.assertEqual(self.read("test.csv"), before)


if __name__ == "__main__":
    unittest.main()
