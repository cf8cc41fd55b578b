"""What columns become: vectors of categories, words of texts, sets of labels in arrays; the features of a model to start from."""
import json
import os
import random
import struct
import unittest

from program import ProgramTest, png

JOB = """[data]
format = "csv"
train = "train.csv"
test = "test.csv"
{data}
[model]
name = "mlp"
widths = [16]
[train]
epochs = {epochs}
batch = 32
rule = "adam"
learning_rate = 0.01
[node]
threads = 1
"""
GOOD, BAD, OTHER = ("lovely", "warm", "Great"), ("dull", "cold", "awful"), ("the", "film", "a", "plot", "été", "of")


def towns(count, seed):
    """A number, one of 40 towns, and a class that hangs on both."""
    draw, rows = random.Random(seed), []
    for _ in range(count):
        town, size = draw.randrange(40), draw.uniform(100, 102)
        rows.append([size, f"town{town}", draw.choice("xyz"), "yes" if (town * 7 % 40 < 20) == (size > 101) else "no"])
    return rows


def reviews(count, seed):
    draw, rows = random.Random(seed), []
    for i in range(count):
        words = [draw.choice(OTHER) for _ in range(8)] + [draw.choice(GOOD if i % 2 else BAD)]
        draw.shuffle(words)
        rows.append([" ".join(words) + "!", draw.uniform(0, 9), draw.choice("pq"), "good" if i % 2 else "bad"])
    return rows


class FeaturesTest(ProgramTest):
    def tables(self, names, rows):
        self.table("train.csv", names, rows[100:])
        self.table("test.csv", names, rows[:100])

    def job(self, data, epochs=15):
        self.write("job.toml", JOB.format(data=data, epochs=epochs))

    def train(self, run, *words):
        return self.good("train", "job.toml", "--run", run, "--json", *words).events()[-1]

    def refused(self, sentence, *words):
        result = self.yoke(*words)
        self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
        self.assertIn(sentence, result.error)

    def npy(self, name, shape, numbers):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        with open(self.path(name), "wb") as out:
            out.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(numbers)}d", *numbers))

    def test_vectors_of_categories(self):
        self.tables(["size", "town", "kind", "class"], towns(1300, 1))
        self.job('category_encoding = "embedding"', epochs=40)
        end = self.train("e")
        self.assertGreater(end["test"]["accuracy"], 0.95)
        self.assertAlmostEqual(self.good("eval", "e", "--json").events()[-1]["metrics"]["accuracy"], end["test"]["accuracy"])
        shown = self.good("info", "job.toml").out
        self.assertRegex(shown, r"embedding1 +embedding +23 +828")  # a number, 41 vectors of 20 numbers and 4 of 2
        self.table("new.csv", ["kind", "town", "size"], [["x", "town3", 100], ["w", "nowhere", 101]])
        self.assertEqual(len(self.good("predict", "e", "new.csv", "--json").events()), 2)
        self.refused("layer 'embedding1' (embedding) has no counterpart in ONNX", "export", "e", "e.onnx")
        self.refused('vectors of categories are looked up by number, which nothing may change; expected normalize = "auto"',
                     "train", "job.toml", "--set", "data.normalize=standard")
        self.job('category_encoding = "embedding"', epochs=7)
        self.good("train", "job.toml", "--run", "part", "--quiet")
        self.good("train", "--resume", "part", "--quiet", "--set", "train.epochs=40")
        self.assertEqual(self.good("eval", "part", "--json").events()[-1]["metrics"], self.good("eval", "e", "--json").events()[-1]["metrics"])
        own = 'layer = [ { type = "embedding", dimensions = 3 }, { type = "linear", outputs = 2 } ]'
        self.write("job.toml", self.read("job.toml").replace('name = "mlp"\nwidths = [16]', own))
        self.assertRegex(self.good("info", "job.toml").out, r"embedding1 +embedding +7 +135")
        self.refused("looks up its tables on the CPU only", "train", "job.toml", "--set", 'node.devices=["emulated:0"]')

    def test_words_of_a_column(self):
        self.tables(["review", "size", "kind", "class"], reviews(700, 2))
        for run, words, features in (("hashed", "", (1 << 18) + 3), ("few", "hashes = 64", 64 + 3), ("known", "vocabulary = 12", 12 + 3), ("all", "vocabulary = 1000", 12 + 3)):
            self.job(f'text = "review"\n{words}', epochs=4)
            end = self.train(run)
            self.assertGreater(end["test"]["accuracy"], 0.85 if run == "few" else 0.97, run)
            self.assertEqual(self.good("info", "job.toml", "--json").events()[0]["layers"][0]["type"], "sparse_linear+relu" if "+" in self.good("info", "job.toml").out else "sparse_linear")
            with open(self.path(f"{run}/last/checkpoint.json")) as file:
                self.assertEqual(json.load(file)["data"]["input"], [features])
            self.assertAlmostEqual(self.good("eval", run, "--json").events()[-1]["metrics"]["accuracy"], end["test"]["accuracy"])
        self.table("new.csv", ["kind", "review", "size"], [["p", "a LOVELY, lovely film", ""], ["q", '"awful": dull plot', 3]])
        for run in ("hashed", "known"):
            self.assertEqual([event["labels"][0] for event in self.good("predict", run, "new.csv", "--json").events()], ["good", "bad"])
        self.job('text = "review"\ncategory_encoding = "embedding"')
        self.refused("data.category_encoding: free text makes features sparse", "train", "job.toml")
        self.job('text = "comment"')
        self.refused("no column is named 'comment', as data.text says", "train", "job.toml")

    def test_a_file_a_text(self):
        for place, rows in (("train", reviews(300, 3)), ("test", reviews(80, 4))):
            for i, (text, _, _, kind) in enumerate(rows):
                os.makedirs(self.path(f"texts/{place}/{kind}"), exist_ok=True)
                self.write(f"texts/{place}/{kind}/{i}.txt", text)
        with open(self.path("texts/train/good/image.png"), "wb") as out:
            out.write(png(1))
        self.write("texts/test/good/wrong.txt", "cold, dull, awful")
        self.job("vocabulary = 12", epochs=6)
        text = self.read("job.toml").replace('"csv"', '"text-folder"').replace('test = "test.csv"\n', "").replace("train.csv", "texts")
        self.write("job.toml", text)
        self.assertIn("texts by folder: 300 training, 0 validation, 81 test", self.good("train", "job.toml", "--run", "t").out)
        event = self.good("eval", "t", "--mistakes", "1", "--json").events()[-1]
        self.assertGreater(event["metrics"]["accuracy"], 0.97)
        self.assertRegex(event["mistakes"][0]["file"], r"texts/test/good/wrong\.txt$")
        found = self.good("predict", "t", "texts/test/bad", "--json").events()
        self.assertEqual((len(found), {one["labels"][0] for one in found}), (40, {"bad"}))
        self.write("texts/train/good/0.txt", "a lovely word that no other text has")
        self.write("texts/train/bad/1000.txt", "zebra zebra zebra zebra " * 99)
        said = self.good("train", "job.toml", "--run", "s", "--from", "t").out
        self.assertIn("data.vocabulary: no effect", said)
        data = [json.loads(self.read(f"{run}/last/checkpoint.json"))["data"]["encodings"] for run in ("t", "s")]
        self.assertEqual(*data)
        os.makedirs(self.path("empty"), exist_ok=True)
        self.refused("empty: holds no text", "train", "job.toml", "--set", "data.train=empty")

    def test_sets_of_labels_in_arrays(self):
        draw = random.Random(5)
        x = [draw.uniform(-1, 1) for _ in range(1200)]
        self.npy("x.npy", (400, 3), x)
        self.npy("y.npy", (400, 3), [float(value > 0) for value in x])
        self.job('test_share = 0.2\ntask = "multi_label"')
        text = self.read("job.toml").replace('"csv"', '"numpy"').replace('test = "test.csv"\n', "").replace('"train.csv"', '["x.npy", "y.npy"]')
        self.write("job.toml", text)
        self.train("m")
        event = self.good("eval", "m", "--details", "--json").events()[-1]
        self.assertGreater(event["details"]["micro_f1"], 0.9)
        self.good("predict", "m", "x.npy", "--threshold", "0.5")

    def test_a_start_gives_a_table_its_features(self):
        names = ["size", "town", "kind", "class"]
        self.tables(names, towns(900, 6))
        self.job('label = "class"', epochs=3)
        end = self.train("old")
        moved = [[size + 1000, town, kind if i % 9 else "w", label] for i, (size, town, kind, label) in enumerate(towns(300, 7))]
        self.table("test.csv", names, towns(900, 6)[:100])
        self.table("train.csv", names[::-1], [row[::-1] for row in moved])
        self.write("new.toml", self.read("job.toml").replace("0.01", "1e-15").replace('name = "mlp"\nwidths = [16]', 'start = "old"'))
        *events, now = self.good("train", "new.toml", "--run", "new", "--json").events()
        self.assertTrue(any("4 parameters start from" in event.get("message", "") for event in events))
        self.assertAlmostEqual(now["test"]["loss"], end["test"]["loss"], places=5)
        self.good("train", "--resume", "new", "--set", "train.epochs=4", "--quiet")
        self.table("train.csv", names[:3] + ["mood"], [[*row[:3], i % 3] for i, row in enumerate(moved)])
        self.table("test.csv", names[:3] + ["mood"], [[*row[:3], i % 3] for i, row in enumerate(moved)])
        self.good("train", "new.toml", "--run", "head", "--quiet", "--set", "model.replace_head=true", "--set", "data.label=mood")
        self.good("eval", "head")

    def test_other_data_leave_a_tables_features_alone(self):
        self.tables(["a", "b", "c"], [[draw, draw % 7, "xy"[draw % 2]] for draw in range(200)])
        self.job("", epochs=1)
        self.write("job.toml", self.read("job.toml").replace("[16]", "[1]"))
        self.train("csv")
        self.write("many.txt", "".join(f"{i % 2} 1:{i} 30000000:2\n" for i in range(20)))
        self.npy("x3.npy", (60, 3), [i % 11 for i in range(180)])
        self.npy("x2.npy", (60, 2), [100 + i % 13 for i in range(120)])
        self.npy("y.npy", (60,), [i % 2 for i in range(60)])
        os.makedirs(self.path("photos/cat"))
        os.makedirs(self.path("photos/dog"))
        for i in range(12):
            with open(self.path(f"photos/{('cat', 'dog')[i % 2]}/{i}.png"), "wb") as out:
                out.write(png(20 * i))
        for kind, train, said in (("libsvm", '"many.txt"', "no parameter of"), ("numpy", '["x3.npy", "y.npy"]', "'linear1.weight' is"),
                                  ("image-folder", '"photos"', "'linear1.weight' is"), ("numpy", '["x2.npy", "y.npy"]', "")):
            self.write("new.toml", self.read("job.toml").replace('"csv"', f'"{kind}"').replace('"train.csv"', train).replace('test = "test.csv"\n', ""))
            result = self.yoke("train", "new.toml", "--run", "new", "--from", "csv", "--set", "model.replace_head=true")
            self.assertEqual(result.code, 2 if said else 0, result.error)
            self.assertIn(said, result.error)
        means = [json.loads(self.read(f"{run}/last/checkpoint.json"))["data"]["mean"] for run in ("csv", "new")]
        self.assertEqual(*means)

    def test_another_start_replaces_the_first(self):
        names = ["size", "town", "kind", "class"]
        rows = towns(400, 6)
        self.tables(names, rows)
        self.job("", epochs=2)
        self.train("first")
        self.tables(names, [[size + 1000, "new " + town, kind, label] for size, town, kind, label in rows])
        end = self.train("other")
        still = ("--json", "--set", "train.learning_rate=1e-15", "--from")
        self.tables(names, rows)
        self.good("train", "job.toml", "--run", "tuned", *still, "first")
        self.tables(names, [[size + 1000, "new " + town, kind, label] for size, town, kind, label in rows])
        now = self.good("train", "tuned/job.toml", "--run", "again", *still, "other").events()[-1]
        self.assertAlmostEqual(now["test"]["loss"], end["test"]["loss"], places=5)

    def test_keys_of_features_have_no_effect_on_a_start(self):
        self.tables(["review", "size", "kind", "class"], reviews(300, 2))
        self.job('text = "review"\nvocabulary = 12\nlabel = "class"', epochs=1)
        self.assertNotIn("no effect", self.good("train", "job.toml", "--run", "t").out)
        self.job('columns = ["review", "size"]\ncategory_encoding = "embedding"\nhashes = 64\nlabel = "class"', epochs=1)
        said = self.good("train", "job.toml", "--from", "t").out
        self.assertIn("data.columns, data.category_encoding, data.hashes: no effect, as the features are those of the model to start from", said)

    def test_images_of_the_training_set_are_named(self):
        for kind in ("cat", "dog"):
            os.makedirs(self.path(f"photos/{kind}"))
            for i in range(6):
                with open(self.path(f"photos/{kind}/{i}.png"), "wb") as out:
                    out.write(png(20 * i))
        self.write("job.toml", '[data]\nformat = "image-folder"\ntrain = "photos"\n[model]\nname = "linear"\n[train]\nepochs = 1\n')
        self.good("train", "job.toml", "--run", "p", "--quiet")
        mistakes = self.good("eval", "p", "--train", "--mistakes", "2", "--json").events()[-1]["mistakes"]
        self.assertEqual(len(mistakes), 2)
        for mistake in mistakes:
            self.assertRegex(mistake["file"], r"photos/(cat|dog)/\d\.png$")


if __name__ == "__main__":
    unittest.main()
