"""Vectors of words from the command line: trained on text whose words have classes, exported, and read as word2vec's format says."""
import importlib.util
import os
import random
import unittest

from program import ProgramTest

JOB = """[data]
format = "skip-gram"
train = "text.txt"
test_share = 0.1
window = 2
subsample = 0
lowercase = true
[model]
name = "xmc"
hidden = 16
output = "lsh"
loss = "softmax"
[train]
epochs = 4
batch = 64
rule = "adam"
learning_rate = 0.02
[node]
threads = 1
"""
CLASSES, WORDS = 4, 5


def text():
    """Sentences of one class each: its nouns and its verbs by turns, each noun with each verb."""
    draw = random.Random(1)
    lines = []
    for _ in range(1500):
        kind = draw.randrange(CLASSES)
        lines.append(" ".join(f"{part}{kind}{draw.randrange(WORDS)}" for part in ["Noun", "verb"] * 4))
    return "\n".join(lines) + "\n"


def vectors(content):
    """By the format's definition: "words dimensions", then a word and its numbers a line, all apart by one blank."""
    first, *lines = content.splitlines()
    words, dimensions = map(int, first.split(" "))
    table = {line.split(" ")[0]: list(map(float, line.split(" ")[1:])) for line in lines}
    assert len(table) == len(lines) == words and all(len(row) == dimensions for row in table.values())
    return table


def cosine(a, b):
    def dot(x, y):
        return sum(p * q for p, q in zip(x, y))
    return dot(a, b) / (dot(a, a) * dot(b, b)) ** 0.5


def nearest(table, word, count):
    return sorted(table, key=lambda other: -cosine(table[word], table[other]))[1:count + 1]


class SkipGramTest(ProgramTest):
    def train(self):
        self.write("text.txt", text())
        self.write("job.toml", JOB)
        self.good("train", "job.toml", "--run", "r", "--quiet")

    def test_nearest_words_are_of_the_same_class(self):
        self.train()
        (event,) = self.good("export", "r/last", "vectors.txt", "--json").events()
        self.assertEqual((event["words"], event["dimensions"]), (2 * CLASSES * WORDS, 16))
        table = vectors(self.read("vectors.txt"))
        self.assertIn("noun00", table)
        for word in table:
            same = [other for other in nearest(table, word, WORDS - 1) if other[:-1] == word[:-1]]
            self.assertGreaterEqual(len(same), WORDS - 2, word)
        if importlib.util.find_spec("gensim"):
            from gensim.models import KeyedVectors
            read = KeyedVectors.load_word2vec_format(self.path("vectors.txt"))
            self.assertEqual(read.most_similar("noun00")[0][0], nearest(table, "noun00", 1)[0])

    def test_predict_names_the_words_around_a_word(self):
        self.train()
        self.write("words.txt", "Noun21 verb30\n")
        first, second = self.good("predict", "r/last", "words.txt", "--top", "5", "--json").events()
        self.assertEqual({label[:-1] for label in first["labels"][:5]}, {"verb2"})
        self.assertEqual({label[:-1] for label in second["labels"][:5]}, {"noun3"})
        self.write("words.txt", "noun21\nmouse")
        refused = self.yoke("predict", "r/last", "words.txt")
        self.assertEqual((refused.code, refused.error.count("\n")), (2, 1))
        self.assertIn("words.txt:2: 'mouse' is none of the 40 words that the model knows", refused.error)
        test = self.good("eval", "r/last", "--json").events()[-1]["metrics"]
        self.assertGreater(test["p_at_1"], 0.2)

    def refused(self, *words):
        result = self.yoke(*words)
        self.assertEqual((result.code, result.out, result.error.count("\n")), (2, "", 1), words)
        return result.error

    def test_what_is_not_exported(self):
        self.train()
        before = sorted(os.listdir(self.folder))
        self.assertIn("text.txt: the output would replace the input", self.refused("export", "r", "text.txt"))
        self.assertEqual(self.read("text.txt"), text())
        for name in ("v.vec", "v.txt.gz", "x.pt", "v", "-"):
            self.assertEqual(self.refused("export", "r", name), f"yoke: {name}: expected a name that ends in .onnx, or in .txt for vectors of words\n")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_model_without_a_hidden_layer_has_no_vectors(self):
        self.write("text.txt", text())
        self.write("flat.toml", JOB.replace('"xmc"\nhidden = 16\noutput = "lsh"\nloss = "softmax"', '"linear"'))
        self.good("train", "flat.toml", "--run", "f", "--quiet", "--set", "train.epochs=1")
        self.assertIn("train one with a hidden layer", self.refused("export", "f", "vectors.txt"))

    def test_only_models_of_text_have_vectors(self):
        self.good("train", "tiny.toml", "--run", "t", "--quiet")
        refused = self.yoke("export", "t/last", "vectors.txt")
        self.assertEqual((refused.code, refused.error.count("\n")), (2, 1))
        self.assertIn("was not trained on text", refused.error)


if __name__ == "__main__":
    unittest.main()
