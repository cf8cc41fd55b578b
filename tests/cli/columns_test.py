"""Data beside those of training: matched by column name, read from standard input, images by their files."""
import gzip
import os
import random
import subprocess
import unittest
import zipfile

from program import YOKE, ProgramTest, Result, png

JOB = """[data]
format = "csv"
train = "train.csv"
normalize = "standard"
[model]
name = "linear"
[train]
epochs = 3
batch = 16
learning_rate = 0.1
[node]
threads = 1
"""


class ColumnsTest(ProgramTest):
    def table(self, name, names, rows):
        return self.write(name, "".join(",".join(map(str, row)) + "\n" for row in [names, *rows]))

    def refused(self, sentence, *words):
        result = self.yoke(*words)
        self.assertEqual(result.code, 2, result.out)
        self.assertEqual(result.error.count("\n"), 1)
        self.assertIn(sentence, result.error)

    def piped(self, content, *words):
        done = subprocess.run([YOKE, *words], cwd=self.folder, input=content, capture_output=True, timeout=120)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return Result(done)

    def train(self):
        draw = random.Random(3)
        self.rows = [[round(draw.gauss(5 * (k % 2), 0.5), 3), round(draw.gauss(100, 30), 2), ["ash", "elm"][k % 2]] for k in range(200)]
        self.table("train.csv", ["height", "age", "kind"], self.rows)
        self.write("job.toml", JOB)
        self.good("train", "job.toml", "--run", "r", "--quiet")

    def test_columns_are_matched_and_notes_are_no_results(self):
        self.train()
        self.table("plain.csv", ["height", "age"], [row[:2] for row in self.rows[:9]])
        self.table("more.csv", ["id", "age", "height"], [[7, row[1], row[0]] for row in self.rows[:9]])
        plain, more = self.good("predict", "r", "plain.csv"), self.good("predict", "r", "more.csv")
        self.assertEqual(plain.out, more.out)
        sentence = "more.csv: left out columns that the training data lack: 'id'"
        self.assertEqual(self.shown("predict", "r", "more.csv"), sentence + "\n" + more.out)
        note = self.good("predict", "r", "more.csv", "--json").events()[0]
        self.assertEqual(note, {"event": "note", "text": sentence})
        self.table("empty.csv", ["height", "age", "kind"], [[*row[:2], ""] for row in self.rows[:9]])  # as for a contest
        self.assertEqual(self.good("predict", "r", "empty.csv").out, plain.out)
        self.refused("empty.csv:2: expected a class in column 2 ('kind'), got nothing", "eval", "r", "empty.csv")
        self.table("other.csv", ["height", "years"], [row[:2] for row in self.rows[:9]])
        self.refused("other.csv:1: no column is named 'age'", "predict", "r", "other.csv")
        self.table("full.csv", ["id", "kind", "age", "height"], [[7, row[2], row[1], row[0]] for row in self.rows])
        evaluated = self.good("eval", "r", "full.csv").out
        self.assertIn("full.csv: left out columns that the training data lack: 'id'\n", evaluated)
        self.assertIn("accuracy  1", evaluated)

    def test_a_run_is_not_resumed_with_other_columns(self):
        self.train()
        self.table("train.csv", ["age", "height", "kind"], [[row[1], row[0], row[2]] for row in self.rows])
        self.refused("train a new run on these", "train", "--resume", "r", "--set", "train.epochs=5")

    def test_other_label_sets_are_counted_as_such(self):
        self.write("sets.toml", '[data]\nformat = "synthetic-xmc"\nfeatures = 50\nlabels = 20\ntrain_size = 60\ntest_size = 9\n'
                   '[model]\nname = "xmc"\nhidden = 4\n[train]\nepochs = 1\n[node]\nthreads = 1\n')
        self.good("train", "sets.toml", "--run", "s", "--quiet")
        self.refused("it has 70 examples and 20 labels, and the checkpoint was trained on 60 examples and 20 labels; resume with the data of before, or train "
                     "a new run", "train", "--resume", "s", "--set", "data.train_size=70", "--set", "train.epochs=2")
        self.refused("its examples have the shape 51, and the checkpoint was trained on 50; resume with the data of before",
                     "train", "--resume", "s", "--set", "data.features=51", "--set", "train.epochs=2")

    def test_standard_input(self):
        self.train()
        self.table("plain.csv", ["height", "age"], [row[:2] for row in self.rows[:9]])
        expected = self.good("predict", "r", "plain.csv").out
        content = self.read("plain.csv").encode()
        for given in (content, gzip.compress(content)):
            self.assertEqual(self.piped(given, "predict", "r", "-").out, expected)
        with open(self.path("plain.csv")) as file:
            done = subprocess.run([YOKE, "predict", "r", "-"], cwd=self.folder, stdin=file, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout, expected)
        wrong = self.piped(b"height,age\n1,x\n", "predict", "r", "-")
        self.assertEqual(wrong.code, 2)
        self.assertIn("standard input:2: column 1 ('age'): expected a finite number", wrong.error)

        self.assertEqual(self.piped(content, "predict", "r", "-", "-").code, 2)

    def test_images_are_named(self):
        for k in range(40):
            folder = self.path(f"images/{['dark', 'light'][k % 2]}")
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/{k}.png", "wb") as out:
                out.write(png(200 * (k % 2) + k))
        self.write("job.toml", JOB.replace("csv", "image-folder", 1).replace("train.csv", "images").replace('normalize = "standard"\n', ""))
        self.good("train", "job.toml", "--run", "r", "--quiet")
        lines = self.good("predict", "r", "images/dark/0.png", "images/light").out.splitlines()
        self.assertTrue(lines[0].startswith("0  images/dark/0.png  dark "), lines[0])
        self.assertTrue(lines[1].startswith("1  images/light/1.png  light "), lines[1])
        with zipfile.ZipFile(self.path("some.zip"), "w") as archive:
            archive.writestr("b.png", png(230))
            archive.writestr("a.png", png(1))
        event = self.good("predict", "r", "some.zip", "--json").events()
        self.assertEqual([(line["file"], line["labels"]) for line in event], [("some.zip:a.png", ["dark"]), ("some.zip:b.png", ["light"])])
        with open(self.path("some.zip"), "rb") as file:
            piped = self.piped(file.read(), "predict", "r", "-").out
        self.assertIn("0  standard input:a.png  dark ", piped)

    def test_what_never_ends(self):
        for words in (("train", "/dev/zero"), ("info", "/dev/zero")):
            result = self.yoke(*words)
            self.assertEqual(result.code, 2)
            self.assertIn("/dev/zero: the text is longer than 64 MB", result.error)


if __name__ == "__main__":
    unittest.main()
