"""Sets of labels from tables and LIBSVM; what `yoke eval` tells beyond metrics; runs of several seeds."""
import csv
import json
import math
import random
import re
import shutil
import unittest

from program import TINY, ProgramTest

JOB = """[data]
format = "%s"
train = "train.%s"
test = "test.%s"
task = "multi_label"
%s
[model]
name = "mlp"
widths = [16]
[train]
epochs = 20
batch = 16
rule = "adam"
learning_rate = 0.01
[node]
threads = 1
"""


def things(count, seed):
    """x, y and the labels that they have."""
    draw = random.Random(seed)
    for _ in range(count):
        x, y = draw.uniform(-1, 1), draw.uniform(-1, 1)
        yield x, y, [name for name, has in (("left", x < 0), ("low", y < 0), ("far", x * x + y * y > 1)) if has]


def f1(truth, decided):
    both = sum(a and b for a, b in zip(truth, decided))
    return 2 * both / (sum(truth) + sum(decided))


class ScoresTest(ProgramTest):
    def tables(self):
        for name, count, seed in (("train.csv", 600, 1), ("test.csv", 200, 2)):
            with open(self.path(name), "w", newline="") as out:
                csv.writer(out).writerows([["x", "y", "tags"], *([x, y, ";".join(tags)] for x, y, tags in things(count, seed))])

    def test_an_evaluation_is_kept_for_the_report(self):
        self.write("tiny.toml", TINY)
        self.good("train", "tiny.toml", "--run", "kept")
        told = self.good("eval", "kept/last", "--keep").out
        self.assertIn("kept/evaluation.json: see `yoke report`", told)
        with open(self.path("kept/evaluation.json"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual((len(kept["mistakes"]), len(kept["points"]), kept["checkpoint"]), (20, 10, "kept/last"))
        picture = kept["mistakes"][0]["picture"]
        self.assertEqual(len(picture["pixels"]), 2 * picture["width"] * picture["height"] * picture["channels"])
        for rate, recall, precision in kept["points"][0]["points"]:
            self.assertTrue(0 <= rate <= 1 and 0 <= recall <= 1 and 0 <= precision <= 1)
        self.good("report", "kept")
        with open(self.path("kept/report.html"), encoding="utf-8") as page:
            self.assertIn('"evaluation":', page.read())
        self.good("train", "--resume", "kept", "--set", "train.epochs=3")
        shutil.copytree(self.path("kept/last"), self.path("alone"))
        self.assertIn("no checkpoint of a run", self.yoke("eval", "alone", "--keep").error)

    def test_labels_in_a_cell(self):
        self.tables()
        self.write("job.toml", JOB % ("csv", "csv", "csv", 'label = "tags"'))
        self.assertRegex(self.good("train", "job.toml", "--run", "r").out, r"labels: 3 kinds, 1\.\d+ an example")
        event = self.good("eval", "r", "--details", "--top", "1,2", "--propensities", "--json").events()[-1]
        details = event["details"]
        self.assertGreater(details["micro_f1"], 0.9)
        self.assertAlmostEqual(details["p_at_1"], event["metrics"]["p_at_1"])
        rows = [e for e in self.good("predict", "r", "test.csv", "--top", "3", "--json").events() if e["event"] == "prediction"]
        truth = [set(tags) for *_, tags in things(200, 2)]
        decided = [{name for name, score in zip(row["labels"], row["scores"]) if score >= 0.5} for row in rows]
        each = {name: f1([name in t for t in truth], [name in d for d in decided]) for name in ("left", "low", "far")}
        self.assertAlmostEqual(details["macro_f1"], sum(each.values()) / 3, places=6)
        gain = best = weighted = best_weighted = 0
        counts = {name: sum(name in tags for *_, tags in things(600, 1)) for name in each}
        c = (math.log(600) - 1) * 2.5 ** 0.55
        inverse = {name: 1 + c * (count + 1.5) ** -0.55 for name, count in counts.items()}
        for t, row in zip(truth, rows):
            dcg = sum(1 / math.log2(i + 2) for i, name in enumerate(row["labels"][:2]) if name in t)
            best = sum(1 / math.log2(i + 2) for i in range(min(2, len(t))))
            gain += dcg / best / 200 if best else 0
            weighted += sum(inverse[name] for name in row["labels"][:2] if name in t)
            best_weighted += sum(sorted((inverse[name] for name in t), reverse=True)[:2])
        self.assertAlmostEqual(details["ndcg_at_2"], gain, places=6)
        self.assertAlmostEqual(details["psp_at_2"], weighted / best_weighted, places=6)
        some = [e for e in self.good("predict", "r", "test.csv", "--threshold", "0.5", "--json").events() if e["event"] == "prediction"]
        self.assertEqual([set(row["labels"]) for row in some], decided)

    def test_a_column_a_label(self):
        for name, count, seed in (("train.csv", 600, 1), ("test.csv", 200, 2)):
            with open(self.path(name), "w", newline="") as out:
                csv.writer(out).writerows([["x", "y", "left", "low"], *([x, y, int("left" in tags), int("low" in tags)] for x, y, tags in things(count, seed))])
        self.write("job.toml", JOB % ("csv", "csv", "csv", 'label = ["left", "low"]'))
        self.good("train", "job.toml", "--run", "r", "--quiet")
        event = self.good("eval", "r", "test.csv", "--details", "--json").events()[-1]
        self.assertGreater(event["details"]["micro_f1"], 0.9)
        (first, *_) = self.good("predict", "r", "test.csv", "--json").events()
        self.assertIn(first["labels"][0], ("left", "low"))
        self.write("bad.csv", "x,y,left,low\n1,1,2,0\n")
        result = self.yoke("eval", "r", "bad.csv")
        self.assertEqual(result.code, 2)
        self.assertIn("expected 0 or 1, whether the example has this label, got '2'", result.error)

    def test_libsvm(self):
        for name, count, seed in (("train.svm", 600, 1), ("test.svm", 200, 2)):
            lines = (f"{','.join(str(('left', 'low', 'far').index(tag) + 7) for tag in tags)} 1:{x} 2:{y}" for x, y, tags in things(count, seed))
            self.write(name, "\n".join(lines) + "\n")
        self.write("job.toml", JOB % ("libsvm", "svm", "svm", ""))
        self.good("train", "job.toml", "--run", "r", "--quiet")
        self.assertGreater(self.good("eval", "r", "--details", "--json").events()[-1]["details"]["macro_f1"], 0.85)
        self.assertIn(self.good("predict", "r", "test.svm", "--json").events()[0]["labels"][0], ("7", "8", "9"))
        result = self.yoke("train", "job.toml", "--set", 'data.task="classes"')
        self.assertIn('data.task = "multi_label" reads several', result.error)

    def test_classes(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        event = self.good("eval", "r", "--details", "--top", "1,3", "--mistakes", "5", "--curves", "c.csv", "--json").events()[-1]
        details, mistakes = event["details"], event["mistakes"]
        self.assertAlmostEqual(details["p_at_1"], event["metrics"]["accuracy"])
        self.assertTrue(0 < details["calibration_error"] < 1)
        self.assertLessEqual(len(mistakes), 5)
        own = [one["probability"] for one in mistakes]
        self.assertEqual(own, sorted(own))
        self.assertTrue(all(one["class"] != one["found"] for one in mistakes))
        with open(self.path("c.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["class"] for row in rows}, set("0123456789"))
        last = [row for row in rows if row["class"] == "3"][-1]
        self.assertEqual((float(last["recall"]), float(last["false_positive_rate"])), (1, 1))
        self.assertIn("worst mistakes", self.good("eval", "r", "--mistakes", "5").out)
        for words, sentence in ((("--propensities",), "--propensities needs --top"), (("--top", "0"), "--top: expected numbers"),
                                (("--curves", "c.txt"), "expected a name that ends in .csv")):
            result = self.yoke("eval", "r", *words, *(("--details",) if words == ("--propensities",) else ()))
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn(sentence, result.error)

    def test_training_accuracy(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        event = self.good("eval", "r", "--train", "--json").events()[-1]
        self.assertEqual(event["examples"], 300)
        self.assertEqual(self.yoke("eval", "r", "x.csv", "--train").code, 2)

    def test_an_onnx_file(self):
        self.tables()
        self.write("job.toml", (JOB % ("csv", "csv", "csv", 'label = "tags"')))
        self.good("train", "job.toml", "--run", "r", "--quiet")
        self.good("export", "r", "m.onnx")
        self.write("x.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y, _ in things(50, 3)))
        ours = [e for e in self.good("predict", "r", "x.csv", "--json").events() if e["event"] == "prediction"]
        same = [e for e in self.good("predict", "m.onnx", "x.csv", "--format", "csv", "--json").events() if e["event"] == "prediction"]
        self.assertEqual([e["labels"] for e in same], [e["labels"] for e in ours])
        for one, other in zip(ours, same):
            self.assertAlmostEqual(one["scores"][0], other["scores"][0], places=4)

    def test_runs_of_several_seeds(self):
        values = []
        for seed in (1, 2, 3):
            end = self.good("train", "tiny.toml", "--run", f"s{seed}", "--json", "--set", f"train.seed={seed}").events()[-1]
            values.append(end["test"]["accuracy"])
        event = self.good("report", "s1", "s2", "s3", "--csv", "f.csv", "--json").events()[-1]
        (group,) = event["seeds"]
        self.assertEqual(group["runs"], ["s1", "s2", "s3"])
        mean = sum(values) / 3
        self.assertAlmostEqual(group["metrics"]["test_accuracy"]["mean"], mean)
        self.assertAlmostEqual(group["metrics"]["test_accuracy"]["deviation"], math.sqrt(sum((v - mean) ** 2 for v in values) / 2))
        with open(self.path("f.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        epochs = [row for row in rows if row["event"] == "epoch"]
        self.assertEqual([(row["run"], row["seed"], row["epoch"]) for row in epochs], [(f"s{s}", str(s), str(e)) for s in (1, 2, 3) for e in (1, 2)])
        ends = [float(row["test_accuracy"]) for row in rows if row["event"] == "end"]
        self.assertEqual([round(v, 6) for v in ends], [round(v, 6) for v in values])
        self.assertRegex(self.good("report", "s1", "s2").out, r"2 runs by seed, s1, \.\.\.:.*test_accuracy [\d.]+ \+- [\d.]+")
        self.assertEqual(json.loads(json.dumps(self.good("report", "s1", "--json").events()[-1]["seeds"])), [])


class SaidTest(ProgramTest):
    """What the program says by itself."""

    def test_the_start_line_names_validation_examples(self):
        text = self.good("train", "tiny.toml", "--set", "data.validation_share=0.1", "--set", "train.epochs=1").out
        self.assertIn("270 training, 30 validation and 60 test examples", text)
        self.assertRegex(text, r"validation \(loss [\d.]+  accuracy [\d.]+\)  test \(loss [\d.]+  accuracy [\d.]+\)")
        text = re.sub(r", \d+ % waiting for data", "", text)  # told where a busy machine reads slowly
        self.assertLessEqual(max(len(line) for line in text.splitlines() if line.startswith("epoch")), 120)

    def test_threads_beyond_the_cores(self):
        self.assertIn("node.threads: 500 threads on the", self.good("train", "tiny.toml", "--threads", "500", "--set", "train.epochs=1").out)

    def test_a_resume_that_trains_nothing_changes_nothing(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        before = self.read("r/job.toml")
        self.good("train", "--resume", "r", "--set", "train.seed=9")
        self.assertEqual(self.read("r/job.toml"), before)

    def test_names_of_files_say_what_is_written(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        for words in (("report", "r", "-o", "x.png"), ("export", "r", "x.pt")):
            result = self.yoke(*words)
            self.assertEqual(result.code, 2)
            self.assertIn("expected a name that ends in", result.error)

    def test_another_delimiter(self):
        self.write("t.csv", "a;b;y\n1;2;x\n2;3;z\n")
        self.write("job.toml", TINY.replace('"synthetic-digits"\ntrain_size = 300\ntest_size = 60', '"csv"\ntrain = "t.csv"'))
        self.assertIn('data.delimiter = ";" divides it', self.yoke("train", "job.toml").error)

    def test_layers_are_told_apart(self):
        names = ["features_block_%d_of_the_trunk_of_this_network_number_one" % i for i in (1, 2, 3)]
        layers = "".join(f'[[model.layer]]\ntype = "linear"\nname = "{name}"\noutputs = 10\n' for name in names)
        self.write("long.toml", TINY.replace('[model]\nname = "mlp"\nwidths = [16]\n', '[[model.layer]]\ntype = "flatten"\n' + layers + '[[model.layer]]\ntype = "softmax_cross_entropy"\n'))
        lines = [line.split()[0] for line in self.good("info", "long.toml").out.splitlines() if " linear " in line]
        self.assertEqual(len(set(lines)), 3, lines)

    def test_the_normalization_of_an_exported_file(self):
        job = TINY.replace("[model]", 'normalize = "standard"\n[model]', 1)
        self.write("n.toml", job)
        end = self.good("train", "n.toml", "--run", "r", "--json").events()[-1]
        self.good("export", "r", "m.onnx")
        self.write("file.toml", TINY.replace('name = "mlp"\nwidths = [16]', 'file = "m.onnx"').replace("0.02", "1e-15").replace("epochs = 2", "epochs = 1"))
        again = self.good("train", "file.toml", "--json").events()[-1]
        self.assertAlmostEqual(again["test"]["loss"], end["test"]["loss"], places=4)


if __name__ == "__main__":
    unittest.main()
