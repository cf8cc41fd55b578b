"""train.early_stopping: why a run ended, and where its last and best weights are."""
import unittest

from program import ProgramTest

STUCK = ("--set", "train.learning_rate=1e-15", "--set", "train.epochs=9", "--set", "train.early_stopping={patience=2, metric='accuracy'}")


class EarlyStoppingTest(ProgramTest):
    def test_the_end_says_why_and_where(self):
        end = self.good("train", "tiny.toml", "--run", "r", "--json", *STUCK).events()[-1]
        self.assertEqual((end["reason"], end["epochs"]), ("early_stopping", 3))
        self.assertTrue(end["best"].endswith("r/best"))
        best, last = (self.good("eval", f"r/{name}", "--json").events()[-1]["metrics"] for name in ("best", "last"))
        self.assertEqual(last, end["test"])
        self.assertEqual(best["accuracy"], last["accuracy"])
        text = self.good("train", "--resume", "r").out
        self.assertIn("already ended (early_stopping)", text)
        self.assertRegex(text, r"stopped early after 3 epochs.*\n.*in r/last \(the test metrics are theirs\), the best ones \(test accuracy 0\.\d+\) in r/best")

    def test_mistakes(self):
        for text, said in (("{metric='accuracy'}", "patience"), ("{patience=0}", "at least 1"), ("{patience=2, metric='speed'}", "unknown value 'speed'"),
                           ("3", "train.early_stopping")):
            result = self.yoke("train", "tiny.toml", "--set", f"train.early_stopping={text}")
            self.assertEqual(result.code, 2, text)
            self.assertIn(said, result.error)
        result = self.yoke("train", "tiny.toml", *STUCK, "--set", "checkpoint.best=loss")
        self.assertEqual(result.code, 2)
        self.assertIn("checkpoint.best looks at loss and train.early_stopping at accuracy", result.error)


if __name__ == "__main__":
    unittest.main()
