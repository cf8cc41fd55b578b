"""A model of more than 2^31 parameters, end to end: trained, written, read back and evaluated. It takes 18 GiB of memory,
or 10 GiB and as much of a disk; the test fails where there are less.

guards: src/params src/optim src/train/checkpoint src/model/layers/sparse (80 s)"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import YOKE, ProgramTest, Result

HIDDEN = 512
FEATURES = 2**31 // HIDDEN + 3  # the last three rows lie beyond 2^31 numbers
JOB = """[data]
format = "libsvm"
train = "train.svm"
test = "test.svm"
features = {features}
[model]
name = "xmc"
hidden = {hidden}
loss = "softmax"
[train]
epochs = {epochs}
batch = 8
rule = "sgd"
learning_rate = 0.5
[checkpoint]
every_epochs = 0
"""
GIBIBYTE = 2**30


def available():
    found = subprocess.run([YOKE, "doctor", "--json"], capture_output=True, text=True, check=True)
    memory = json.loads(found.stdout)["memory"]
    return min(memory["available"], memory["limit"] or memory["total"])


class LargeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        shared = "/dev/shm"  # a disk may take minutes for such a file
        in_memory = available() > 18 * GIBIBYTE and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 10e9
        self.runs = tempfile.TemporaryDirectory(dir=shared if in_memory else None)
        self.addCleanup(self.runs.cleanup)
        self.assertGreater(available(), 10 * GIBIBYTE, "this test needs 10 GiB of memory: end other programs, or leave out the label slow")
        self.assertGreater(shutil.disk_usage(self.runs.name).free, 10e9, "this test needs room for 10 GB")

    def large(self, *words):
        done = Result(subprocess.run([YOKE, *map(str, words), "--json"], cwd=self.folder, capture_output=True, text=True, timeout=600))
        self.assertEqual(done.code, 0, done.error)
        return done.events()

    def test_rows_beyond_2_to_31_numbers(self):
        # Each class has a feature of its own; those of the second half have the last rows.
        ids = [1, 2, FEATURES - 1, FEATURES]
        lines = [f"{k} {number}:1\n" for number, k in zip(ids, range(len(ids)))]
        self.write("train.svm", "".join(lines * 64))
        self.write("test.svm", "".join(lines))
        self.write("large.toml", JOB.format(features=FEATURES, hidden=HIDDEN, epochs=4))
        described = self.large("info", "large.toml")[0]
        self.assertGreater(described["memory"]["parameters"], 4 * 2**31)
        run = os.path.join(self.runs.name, "run")
        trained = self.large("train", "large.toml", "--run", run)
        self.assertEqual(trained[-1]["test"]["accuracy"], 1, trained[-1])
        model = os.path.join(run, "last", "model.safetensors")
        self.assertGreater(os.path.getsize(model), 4 * 2**31)
        read = self.large("eval", run)[-1]
        self.assertEqual(read["metrics"]["accuracy"], 1)
        self.assertAlmostEqual(read["metrics"]["loss"], trained[-1]["test"]["loss"], delta=1e-6)


if __name__ == "__main__":
    unittest.main()
