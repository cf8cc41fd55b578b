"""Wrong inputs: each is an exception with a sentence."""
import module

module.need()

import os
import pathlib
import tempfile
import unittest
import warnings

import numpy as np
import scipy.sparse

import yoke

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)
NET = {"model": {"name": "mlp", "widths": [8]}, "train": {"epochs": 1, "learning_rate": 0.05, "batch": 32}, "node": {"threads": 1}}
DIGITS = {**NET, "data": {"format": "synthetic-digits", "train_size": 100, "test_size": 50}}


def job(**sections):
    return {**DIGITS, **sections}


def csr(ids, width=4):
    return scipy.sparse.csr_matrix((np.ones(len(ids), np.float32), ids, np.arange(len(ids) + 1)), (len(ids), width))


def with_value(value):
    changed = X.copy()
    changed[7, 2] = value
    return changed


# A sentence, and what is wrong.
CASES = {
    # Jobs.
    "unknown section": lambda: yoke.train(job(trian={})),
    "did you mean 'epochs'": lambda: yoke.train(job(train={"epoch": 1})),
    "train.epochs: .*whole|train.epochs: .*integer|train.epochs": lambda: yoke.train(job(train={"epochs": "many"})),
    "train.learning_rate": lambda: yoke.train(job(train={"learning_rate": -1.0})),
    "train.batch": lambda: yoke.train(job(train={"batch": 0})),
    "known: .*adam": lambda: yoke.train(job(train={"rule": "adum"})),
    "unknown name 'lenat'; did you mean 'lenet'": lambda: yoke.train(job(model={"name": "lenat"})),
    "lacks the key 'name'": lambda: yoke.train(job(model={})),
    "unknown strategy 'allreduse'": lambda: yoke.train(job(cluster={"strategy": "allreduse", "replicas": 2})),
    "expected a plain value": lambda: yoke.train(job(train={"epochs": object()})),
    "expected a table|a section|expected .*table": lambda: yoke.train({**DIGITS, "train": 3}),
    "unknown format 'synthetic-digts'": lambda: yoke.train(job(data={"format": "synthetic-digts"})),
    "cannot read": lambda: yoke.train("absent.toml"),
    "broken.toml": lambda: yoke.train("broken.toml"),
    "nonsense.key|nonsense": lambda: yoke.train(DIGITS, keys={"nonsense.key": 1}),
    # Data.
    "value of nan": lambda: yoke.train(NET, (with_value(np.nan), Y)),
    "value of inf": lambda: yoke.train(NET, (with_value(np.inf), Y)),
    "expected numbers, got": lambda: yoke.train(NET, (X.astype(str), Y)),
    "got an array of complex": lambda: yoke.train(NET, (X.astype(complex), Y)),
    "2 to 6 axes": lambda: yoke.train(NET, (X[:, 0], Y)),
    "no features": lambda: yoke.train(NET, (X[:, :0], Y)),
    "no training examples": lambda: yoke.train(NET, (X[:0], Y[:0])),
    "60 examples": lambda: yoke.train(NET, (X, Y[:10])),
    "one class": lambda: yoke.train(NET, (X, Y * 0)),
    "label each, or a matrix": lambda: yoke.train(NET, (X, np.zeros((60, 2, 2)))),
    "target nan": lambda: yoke.train(NET, (X, np.where(Y, np.nan, 0.5)), keys={"data.task": "regression"}),
    "expected numbers to predict": lambda: yoke.train(NET, (X, Y.astype(str)), keys={"data.task": "regression"}),
    "more than 100 different whole numbers": lambda: yoke.train(NET, (RANDOM.normal(size=(200, 2)), np.arange(200.0))),
    "test examples are": lambda: yoke.train(NET, {"train": (X, Y), "test": (X[:, :2], Y)}),
    "'6' is not one of the training's": lambda: yoke.train(NET, {"train": (X, Y), "test": (X, Y + 6)}),
    "dict with 'train' and 'test'": lambda: yoke.train(NET, {"training": (X, Y)}),
    r"expected a pair \(x, y\)": lambda: yoke.train(NET, (X, Y, Y)),
    "the iterator gave no batch": lambda: yoke.train(NET, iter([])),
    r"a batch: expected a pair": lambda: yoke.train(NET, iter([X])),
    r"the next examples are \{2\}|the next examples are": lambda: yoke.train(NET, iter([(X, Y), (X[:, :2], Y)])),
    "mean of|sparse data cannot be shifted": lambda: yoke.train({**NET, "data": {"normalize": "standard"}}, (csr([0, 1, 2, 3]), Y[:4])),
    "progress|tqdm|label": lambda: yoke.train(NET, (X, None)),
    # Models.
    "no checkpoint": lambda: yoke.Model.load("absent"),
    "absent.onnx": lambda: yoke.Model.load("absent.onnx"),
    "broken.onnx": lambda: yoke.Model.load("broken.onnx"),
    "the examples are 2; expected 4": lambda: model().predict(X[:, :2]),
    "sparse; expected dense": lambda: model().predict(scipy.sparse.csr_matrix(X)),
    "ends in .onnx": lambda: model().export("model.txt"),
    "top: expected at least 1": lambda: model().best(X, top=0),
    "'maybe' is not one of": lambda: model().evaluate(X[:2], ["0", "maybe"]),
    # Runs, lists, plans, simulations.
    "no run directory": lambda: yoke.resume("absent"),
    "holds a run already": lambda: (yoke.train(NET, (X, Y), run="twice"), yoke.train(NET, (X, Y), run="twice")),
    "unknown kind 'colours'": lambda: yoke.list("colours"),
    "cannot read absent.toml": lambda: yoke.simulate(DIGITS, "absent.toml"),
    "unknown .*'splitt'|'splitt'": lambda: yoke.plan(DIGITS, only=["splitt"]),
    # Estimators.
    "sample_weight: expected 60 numbers": lambda: yoke.YokeClassifier().fit(X, Y, sample_weight=[1, 2]),
    "0 or more": lambda: yoke.YokeClassifier().fit(X, Y, sample_weight=-np.ones(60)),
    "all weights are zero": lambda: yoke.YokeClassifier().fit(X, Y, sample_weight=np.zeros(60)),
    "two classes or more": lambda: yoke.YokeClassifier().fit(X, Y * 0),
    "a class is not one of": lambda: yoke.YokeClassifier().partial_fit(X, Y, classes=[1, 2]),
    "warm_start: the classes": lambda: yoke.YokeClassifier(warm_start=True).fit(X, Y).fit(X, Y + 1),
    "sets of labels have none": lambda: yoke.YokeMultiLabelClassifier(class_weight="balanced").fit(X, (X > 0).astype(int)),
    "features": lambda: yoke.YokeRegressor().fit(X, X[:, 0]).predict(X[:, :2]),
    "epochs": lambda: yoke.YokeRegressor(epochs=0).fit(X, X[:, 0]),
}


def model():
    if not os.path.exists("trained"):
        yoke.train(NET, (X, Y), run="trained")
    return yoke.Model.load("trained")


class MistakesTest(unittest.TestCase):
    def test_each_is_a_sentence(self):
        warnings.simplefilter("ignore")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        self.assertGreaterEqual(len(CASES), 40)
        for sentence, work in CASES.items():
            with tempfile.TemporaryDirectory() as folder, self.subTest(sentence):
                os.chdir(folder)
                pathlib.Path("broken.toml").write_text("[model\n")
                pathlib.Path("broken.onnx").write_bytes(b"no model")
                with self.assertRaisesRegex(ValueError, sentence) as caught:
                    work()
                text = str(caught.exception)
                self.assertNotIn("incompatible function arguments", text)
                self.assertLess(len(text), 600)
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
