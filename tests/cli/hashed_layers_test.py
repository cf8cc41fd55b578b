"""What a run tells of its hashed layers: the counts of active outputs add up, and the parts of the steps' time."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import ProgramTest

JOB = """[data]
format = "synthetic-xmc"
features = 2000
labels = 5000
train_size = 4000
test_size = 100
[model]
name = "xmc"
hidden = 32
output = "lsh"
loss = "softmax"
lsh = { %s }
[train]
epochs = 2
batch = 64
rule = "adam"
learning_rate = 0.003
[node]
threads = 1
"""
PARTS = ["rebuild", "hash", "query", "gather", "product", "merge"]


class HashedLayersTest(ProgramTest):
    def epochs(self, options, *words):
        """The layer's counts and the steps' time, by epoch, from metrics.jsonl; and what was printed."""
        self.write("hashed.toml", JOB % options)
        result = self.yoke("train", "hashed.toml", "--run", "run", *words)
        self.assertEqual(result.code, 0, result.error)
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        epochs = [line for line in lines if line["event"] == "epoch"]
        return [(*line["layers"].values(), line.get("step_seconds")) for line in epochs], result.out

    def test_counts_and_time(self):
        epochs, printed = self.epochs("hard = 100, random = 50", "--set", "train.epochs=8")
        self.assertEqual(len(epochs), 8)
        ratios = []
        for counts, seconds in epochs:
            self.assertEqual(counts["sets"], 63)
            self.assertAlmostEqual(counts["active"], counts["labels"] + counts["found"] + counts["random"])
            self.assertAlmostEqual(counts["found"] + counts["random"], 150)
            self.assertGreater(counts["bucket_load"], 1)
            parts = sum(counts[part + "_seconds"] for part in PARTS) + seconds["update"] + seconds["other_layers"]
            ratios.append(parts / seconds["all"])
        # The best epoch: other processes may take the time between two parts.
        self.assertLess(min(abs(1 - ratio) for ratio in ratios), 0.05, ratios)
        self.assertIn("empty_queries 0,", printed)
        self.assertIn("seconds of steps: all", printed)

    def test_the_papers_form_draws_nothing_at_random(self):
        for counts, _ in self.epochs('form = "paper", family = "dwta", hashes = 8, tables = 5, slots = 4096')[0]:
            self.assertEqual(counts["sets"], 4000)
            self.assertEqual(counts["random"], 0)
            self.assertGreater(counts["labels"], 1)

    def test_softmax_unless_told(self):
        self.write("hashed.toml", JOB.replace('loss = "softmax"\n', "") % "")
        for words, loss in (((), "softmax"), (("--set", "model.loss=sigmoid"), "sigmoid"), (("--set", "model.output=dense", "--set", "model.lsh="), "sigmoid")):
            self.assertIn(loss + "_cross_entropy1", self.good("info", "hashed.toml", *words).out)

    def losses(self, options, threads):
        """The test loss by epoch."""
        shutil.rmtree(self.path("run"), ignore_errors=True)
        self.epochs(options, "--threads", threads)
        return [json.loads(line)["test"]["loss"] for line in self.read("run/metrics.jsonl").splitlines() if '"test"' in line]

    def test_updates_without_locks(self):
        merged = self.losses("group = 1", "1")
        self.assertEqual(self.losses("group = 1", "2"), merged)
        self.assertEqual(self.losses('group = 1, updates = "lock_free"', "1"), merged)
        for raced, loss in zip(self.losses('group = 1, updates = "lock_free"', "2"), merged, strict=True):
            self.assertAlmostEqual(raced, loss, delta=0.01 * loss)

    def test_a_checkpoint_with_tables_of_another_shape(self):
        note = " has no hash tables of this job's shape and functions: they are built anew"
        # With easgd_sync1 each rank keeps its own tables in the checkpoint.
        for more in ("", "bucket = 2000, "):  # packed
            for words in ((), ("--replicas", "2", "--strategy", "easgd_sync1")):
                with self.subTest(more=more, words=words):
                    shutil.rmtree(self.path("run"), ignore_errors=True)
                    self.epochs(more + "hashes = 9, slots = 512", *words)
                    self.assertNotIn(note, self.good("train", "--resume", "run", "--set", "train.epochs=3").out)
                    self.assertIn(note, self.good("train", "--resume", "run", "--set", "train.epochs=4", "--set", "model.lsh.slots=128").out)
                    lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
                    counts, = [line for line in lines if line["event"] == "epoch"][-1]["layers"].values()
                    self.assertGreater(counts["found"], 0)
                    self.assertGreater(counts["bucket_load"], 5000 / 512 * 2)

    def test_a_checkpoint_with_tables_of_other_functions(self):
        note = " has no hash tables of this job's shape and functions: they are built anew"
        self.epochs("hashes = 20, slots = 256")
        self.assertIn(note, self.good("train", "--resume", "run", "--set", "train.epochs=3", "--set", "model.lsh.hashes=24").out)
        self.assertNotIn(note, self.good("train", "--resume", "run", "--set", "train.epochs=4").out)

    def test_tables_that_were_not_rebuilt_since_the_start(self):
        warning = "of the weights before training"
        self.epochs("rehash_every = 1000")
        self.assertIn(warning, self.good("eval", "run", "--search", "trained").out)
        shutil.rmtree(self.path("run"))
        self.epochs("rehash_every = 20")
        self.assertNotIn(warning, self.good("eval", "run", "--search", "trained").out)

    def test_buckets_that_hold_too_few(self):
        _, printed = self.epochs('form = "paper", hashes = 20, tables = 2, slots = 65536, share = 0.1')
        self.assertIn("about 2 of the 500 outputs asked for", printed)
        self.assertIn("set slots = ", self.good("info", "hashed.toml").out)

    def test_options_are_judged_before_the_data_are_read(self):
        absent = '[data]\nformat = "xmc"\ntrain = "absent.txt"\n'
        self.write("hashed.toml", absent + JOB[JOB.index("[model]"):] % "tabels = 3")
        result = self.yoke("train", "hashed.toml", "--run", "run")
        self.assertEqual(result.code, 2)
        self.assertIn("model.lsh.tabels", result.error)

    def test_an_executor_that_updates_in_place(self):
        epochs, _ = self.epochs('sampler = "uniform"', "--executor", "hogwild", "--set", "node.threads=2")
        for counts, seconds in epochs:
            self.assertGreater(counts["random"], 0)
            self.assertNotIn("bucket_load", counts)
            self.assertIsNone(seconds)

    def test_threads_share_tables(self):
        epochs, _ = self.epochs("group = 8", "--executor", "hogwild", "--set", "node.threads=2")
        for counts, _ in epochs:
            self.assertEqual(counts["sets"], 500)  # of both threads
            self.assertGreater(counts["found"], 100)
        self.assertNotIn("built anew", self.good("train", "--resume", "run", "--set", "train.epochs=3").out)


if __name__ == "__main__":
    unittest.main()
