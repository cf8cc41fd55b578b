"""--search tables of eval and predict: what it prints, against the exact search; what is refused."""
import os
import unittest
from unittest import mock

from program import ProgramTest

WIDE = """[data]
format = "synthetic-xmc"
features = 800
labels = 5000
train_size = 1500
test_size = 200
[model]
name = "xmc"
hidden = 32
loss = "softmax"
[train]
epochs = 2
batch = 64
rule = "adam"
learning_rate = 0.01
[node]
threads = 1
"""


class SearchTest(ProgramTest):
    def trained(self, *settings):
        self.write("wide.toml", WIDE)
        words = [word for setting in settings for word in ("--set", setting)]
        self.good("train", "wide.toml", "--run", "r", "--quiet", *words)
        self.write("new.txt", "3 800 5000\n1,2 3:0.5 8:0.25 700:1\n9 1:1\n 5:0.5\n")

    def evaluated(self, *words):
        (event,) = self.good("eval", "r", "--json", *words).events()
        self.assertEqual(event["event"], "eval")
        return event

    def test_eval_reports_recall_and_cost(self):
        self.trained("model.output=lsh", 'model.lsh={ sampler = "uniform" }')
        exact = self.evaluated()["metrics"]
        found = self.evaluated("--search", "tables")
        self.assertEqual(set(found["metrics"]), {"p_at_1", "p_at_3", "p_at_5", "recall_at_1", "recall_at_5"})
        self.assertGreater(found["metrics"]["recall_at_1"], 0.9)
        self.assertAlmostEqual(found["metrics"]["p_at_1"], exact["p_at_1"], delta=0.1)
        self.assertLess(found["scored_share"], 0.9)
        self.assertAlmostEqual(found["scored_share"], found["scored"] / 5000)
        self.assertGreater(found["search_microseconds"], 0)
        self.assertGreater(found["exact_microseconds"], 0)
        self.assertEqual(found["examples"], 200)
        all_found = self.evaluated("--search", "tables", "--hashes", 1, "--bucket", 5000, "--threads", 2)
        self.assertGreater(all_found["metrics"]["recall_at_5"], 0.999)
        self.assertGreater(all_found["scored"], 4900)
        text = self.good("eval", "r", "--search", "tables").out
        for word in ("recall_at_1", "recall_at_5", "scored", "of 5,000 outputs", "exact"):
            self.assertIn(word, text)
        self.assertNotIn("loss", text)

    def test_predict_finds_what_the_exact_search_finds(self):
        for settings, environment in ((["node.precision=bf16"], self.bf16_environment()),
                                      (["model.loss=sigmoid", "train.epochs=1"], {})):
            with self.subTest(settings), mock.patch.dict(os.environ, environment):
                self.setUp()
                self.trained(*settings)
                words = ("predict", "r", "new.txt", "--format", "xmc", "--top", 3, "--json")
                exact = self.good(*words).events()
                found = self.good(*words, "--search", "tables", "--hashes", 1, "--bucket", 5000).events()
                self.assertEqual(len(found), 3)
                for a, b in zip(exact, found):
                    self.assertEqual(a["labels"], b["labels"])
                    for p, q in zip(a["scores"], b["scores"]):
                        self.assertAlmostEqual(p, q, delta=1e-3 + 0.1 * p)
                few = self.good(*words, "--search", "tables", "--threads", 2)
                self.assertEqual(few.out, self.good(*words, "--search", "tables", "--threads", 1).out)

    def test_the_tables_of_the_training(self):
        self.trained("model.output=lsh", "model.lsh={ hashes = 4, rehash_every = 10 }")
        found = self.evaluated("--search", "trained")
        self.assertEqual(found["search"], "trained")
        self.assertEqual((found["tables"], found["always"]), (24, 0))
        self.assertGreater(found["metrics"]["recall_at_1"], 0.8)
        self.assertLess(found["scored_share"], 0.99)
        self.assertGreater(found["build_seconds"], 0)
        self.assertIn(" read in ", self.good("eval", "r", "--search", "trained").out)
        words = ("predict", "r", "new.txt", "--format", "xmc", "--top", 5000, "--json")
        for exact, some in zip(self.good(*words).events(), self.good(*words, "--search", "trained").events()):
            self.assertLess(len(some["labels"]), 5000)
            self.assertEqual(some["labels"][0], next(label for label in exact["labels"] if label in some["labels"]))

    def test_predict_says_where_tables_do_not_pay(self):
        self.trained("train.epochs=1")
        self.write("many.txt", "64 800 5000\n" + "".join(f"1 {i}:0.5 {i + 300}:1\n" for i in range(64)))
        shown = self.shown("predict", "r", "many.txt", "--format", "xmc", "--search", "tables", "--hashes", 1, "--bucket", 5000)
        self.assertRegex(shown, r"^--search tables does not pay here: \d+ us an example, all scores take \d+, and it finds 100\.0 % of what they find\n0  ")

    def test_refusals(self):
        self.good("train", "tiny.toml", "--run", "narrow", "--quiet")
        self.trained("train.epochs=1")
        for words, expected in [
            (["eval", "narrow", "--search", "tables"], ["at least 4096 outputs", "has 10", "exact"]),
            (["eval", "r", "--search", "hashing"], ["--search", "exact", "tables", "trained"]),
            (["eval", "narrow", "--search", "trained"], ["at least 4096 outputs", "has 10", "exact"]),
            (["predict", "r", "new.txt", "--format", "xmc", "--search", "trained"], ["no hash tables", "lsh_linear", "--search tables"]),
            (["eval", "r", "--search", "trained", "--tables", 3], ["--tables", "--search tables"]),
            (["eval", "r", "--tables", 3], ["--tables", "--search tables"]),
            (["predict", "r", "new.txt", "--format", "xmc", "--hashes", 3], ["--hashes", "--search tables"]),
            (["eval", "r", "--search", "tables", "--hashes", 99], ["--hashes", "24"]),
        ]:
            with self.subTest(words):
                result = self.yoke(*words)
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
                self.assertEqual(result.out, "")
                for word in expected:
                    self.assertIn(word, result.error)


if __name__ == "__main__":
    unittest.main()
