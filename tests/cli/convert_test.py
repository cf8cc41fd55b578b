"""yoke convert: XMC text into xmc-binary and back, what it says, and that a failure leaves nothing behind."""
import gzip
import os
import unittest

from program import ProgramTest

LOOSE = "3 6 5\r\n3,1 5:0.50 0:1e0\r\n 2:-0.1\r\n4 \r\n\r\n"
CANONICAL = "3 6 5\n1,3 0:1 5:0.5\n 2:-0.1\n4 \n"
JOB = """[data]
format = "xmc-binary"
train = "train.xmcb"
test = "test.xmcb"
[model]
name = "xmc"
hidden = 16
[train]
epochs = 1
batch = 32
[node]
threads = 1
"""


class ConvertTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("loose.txt", LOOSE)

    def test_there_and_back(self):
        self.good("convert", "loose.txt", "a.xmcb")
        self.good("convert", "a.xmcb", "a.txt")
        self.assertEqual(self.read("a.txt"), CANONICAL)
        self.good("convert", "a.txt", "b.xmcb", "--from", "xmc", "--to", "xmc-binary")
        with open(self.path("a.xmcb"), "rb") as a, open(self.path("b.xmcb"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_text_to_text_is_canonical(self):
        self.good("convert", "loose.txt", "a.txt", "--to", "xmc")
        self.assertEqual(self.read("a.txt"), CANONICAL)
        self.good("convert", "a.txt", "b.txt", "--to", "xmc")
        self.assertEqual(self.read("b.txt"), CANONICAL)

    def test_compressed_files(self):
        with gzip.open(self.path("loose.txt.gz"), "wt", newline="") as out:
            out.write(LOOSE)
        self.good("convert", "loose.txt.gz", "a.xmcb")
        with open(self.path("a.xmcb"), "rb") as a, gzip.open(self.path("a.xmcb.gz"), "wb") as out:
            out.write(a.read())
        self.good("convert", "a.xmcb.gz", "a.txt")
        self.assertEqual(self.read("a.txt"), CANONICAL)

    def test_what_it_says(self):
        self.assertRegex(self.good("convert", "loose.txt", "a.xmcb").out,
                         r"^a\.xmcb \(xmc-binary\): 3 examples, 6 features, 5 labels, 384 B in ")
        event, = self.good("convert", "a.xmcb", "a.txt", "--json").events()
        self.assertGreaterEqual(event.pop("seconds"), event.pop("load_seconds"))
        self.assertEqual(event, {"event": "convert", "input": "a.xmcb", "output": "a.txt", "from": "xmc-binary", "to": "xmc",
                                 "examples": 3, "features": 6, "labels": 5, "feature_entries": 3, "label_entries": 3,
                                 "bytes": len(CANONICAL)})

    def test_training_on_binary_is_training_on_text(self):
        self.good("synthesize", "xmc", "--train-size", 200, "--test-size", 50, "--features", 300, "--labels", 20, "--out", ".")
        for name in ("train", "test"):
            self.good("convert", f"{name}.txt", f"{name}.xmcb")
        self.write("binary.toml", JOB)
        self.write("text.toml", JOB.replace("xmc-binary", "xmc").replace(".xmcb", ".txt"))
        weights = []
        for job in ("binary", "text"):
            self.good("train", f"{job}.toml", "--run", job, "--quiet")
            with open(self.path(f"{job}/last/model.safetensors"), "rb") as file:
                weights.append(file.read())
        self.assertEqual(weights[0], weights[1])

    def test_the_data_of_a_job(self):
        self.write("words.txt", "a b a b a b")
        self.write("words.toml", '[data]\nformat = "skip-gram"\ntrain = "words.txt"\ntest = "words.txt"\nmin_count = 1\nsubsample = 0\nwindow = 1\n'
                                 '[model]\nname = "xmc"\n[train]\nepochs = 1\n')
        train, test = self.good("convert", "words.toml", "sets", "--json").events()
        self.assertEqual((train["output"], test["output"]), ("sets/train.txt", "sets/test.txt"))
        self.assertEqual((train["examples"], train["features"], train["labels"], train["to"]), (6, 2, 2, "xmc"))
        self.assertEqual(self.read("sets/train.txt"), "6 2 2\n" + "1 0:1\n0 1:1\n" * 3)
        self.assertEqual(self.read("sets/test.txt"), self.read("sets/train.txt"))
        self.good("convert", "sets/train.txt", "train.xmcb")

    def test_the_validation_share_of_a_job(self):
        self.good("synthesize", "xmc", "--train-size", 80, "--test-size", 20, "--features", 300, "--labels", 20, "--out", ".")
        self.write("share.toml", JOB.replace("xmc-binary", "xmc").replace(".xmcb", ".txt").replace("[model]", "validation_share = 0.25\n[model]"))
        sets = self.good("convert", "share.toml", "sets", "--json").events()
        self.assertEqual([(each["output"], each["examples"]) for each in sets],
                         [("sets/train.txt", 60), ("sets/validation.txt", 20), ("sets/test.txt", 20)])
        self.assertTrue(self.read("sets/validation.txt").startswith("20 300 20\n"))

    def test_mistakes_are_one_line_and_leave_nothing(self):
        self.good("convert", "loose.txt", "good.xmcb")
        with open(self.path("good.xmcb"), "rb") as good, open(self.path("cut.xmcb"), "wb") as cut:
            cut.write(good.read()[:-64])
        before = sorted(os.listdir(self.folder))
        for words, expected in [([], "a file to read"), (["loose.txt"], "a file to write"), (["none", "a"], "none: there is no such file"),
                                (["loose.txt", "a", "--to", "xmc-binry"], "did you mean 'xmc-binary'"),
                                (["loose.txt", "a", "--to", "idx"], "idx"),
                                (["tiny.toml", "a", "--to", "xmc"], "leave out --from and --to"),
                                (["tiny.toml", "a"], "tiny.toml: XMC text holds sparse examples with several labels, and the data of format synthetic-digits are of another kind"),
                                (["loose.txt", "a", "--from", "xmc-binary"], "wrong magic number"),
                                (["cut.xmcb", "a"], "cut.xmcb: the file ends at byte 320"),
                                (["loose.txt", "absent/a"], "absent/a: cannot be written")]:
            with self.subTest(words=" ".join(words)):
                result = self.yoke("convert", *words)
                self.assertEqual((result.code, result.out), (2, ""))
                self.assertIn(expected, result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


if __name__ == "__main__":
    unittest.main()
