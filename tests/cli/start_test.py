"""model.start and `yoke train JOB --from`: training starts from the weights of a checkpoint or an ONNX file."""
import json
import os
import struct
import unittest

from program import TINY, ProgramTest

CSV = "[data]\nformat = \"csv\"\ntrain = \"%s\"\nheader = \"yes\"\n[model]\n%s\n[train]\nepochs = 1\nbatch = 8\nlearning_rate = %s\n[node]\nthreads = 1\n"
STILL = "1e-15"  # no weight changes


class StartTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.end = self.good("train", "tiny.toml", "--run", "r", "--json").events()[-1]

    def fine_tuned(self, model, *words):
        self.write("new.toml", TINY.replace('name = "mlp"\nwidths = [16]', model).replace("0.02", STILL).replace("epochs = 2", "epochs = 1"))
        return self.good("train", "new.toml", "--json", *words).events()

    def test_the_weights_are_those_of_the_checkpoint(self):
        for model, words in (('start = "r/last"', ()), ('start = "r"', ()), ('name = "mlp"\nwidths = [16]', ("--from", "r"))):
            *events, end = self.fine_tuned(model, *words)
            self.assertEqual(end["test"], self.end["test"], model)
            self.assertTrue(any("4 parameters start from" in event.get("message", "") for event in events))

    def test_an_onnx_file(self):
        self.good("export", "r/last", "m.onnx")
        for model in ('start = "m.onnx"', 'name = "mlp"\nwidths = [16]\nstart = "m.onnx"'):
            end = self.fine_tuned(model)[-1]
            self.assertAlmostEqual(end["test"]["loss"], self.end["test"]["loss"], places=5)

    def test_the_head_alone_is_drawn_anew(self):
        for model in ('start = "r"\nreplace_head = true', 'name = "mlp"\nwidths = [16]\nstart = "r"\nreplace_head = true'):
            *events, end = self.fine_tuned(model, "--run", "h%d" % len(model))
            self.assertTrue(any("2 parameters start from" in e.get("message", "") and "linear2.weight, linear2.bias" in e["message"] for e in events))
            self.assertNotEqual(end["test"], self.end["test"])

    def test_a_run_needs_its_start_no_more(self):
        self.fine_tuned('start = "r"', "--run", "f")
        os.rename(self.path("r"), self.path("elsewhere"))
        self.good("eval", "f")
        end = self.good("train", "--resume", "f", "--set", "train.epochs=2", "--json").events()[-1]
        self.assertEqual(end["epochs"], 2)

    def table(self, name, classes):
        rows = [f"{i % 3},{i % 5},{classes[i % len(classes)]}" for i in range(60)]
        return self.write(name, "\n".join(["a,b,y", *rows, ""]))

    def test_other_classes_need_a_new_head(self):
        self.table("two.csv", ["cat", "dog"])
        self.write("two.toml", CSV % ("two.csv", 'name = "mlp"\nwidths = [4]', "0.1"))
        self.good("train", "two.toml", "--run", "two", "--quiet")
        for classes, said in ((["cat", "dog", "cow"], "two has 2 classes, and the data has 3: model.replace_head = true"),
                              (["cat", "cow"], "two was trained on other classes (cat, dog) than those of the data (cat, cow)")):
            self.table("new.csv", classes)
            for model in ('start = "two"', 'start = "two"\nname = "mlp"\nwidths = [4]'):
                self.write("new.toml", CSV % ("new.csv", model, STILL))
                result = self.yoke("train", "new.toml", "--run", "refused")
                self.assertEqual(result.code, 2)
                self.assertIn(said, result.error)
                self.assertFalse(os.path.exists(self.path("refused")))
                self.good("train", "new.toml", "--set", "model.replace_head=true", "--quiet")

    def weights(self, run, name):
        with open(self.path(run + "/last/model.safetensors"), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            start, end = header[name]["data_offsets"]
            content = file.read()[start:end]
        rows = header[name]["shape"][0]
        return [content[i * len(content) // rows:(i + 1) * len(content) // rows] for i in range(rows)]

    def test_classes_of_the_same_name_keep_their_outputs(self):
        self.table("two.csv", ["cat", "dog"])
        self.write("two.toml", CSV % ("two.csv", 'name = "mlp"\nwidths = [4]', "0.1"))
        self.good("train", "two.toml", "--run", "two", "--quiet")
        self.table("new.csv", ["ape", "cow", "dog"])
        self.write("new.toml", CSV % ("new.csv", 'start = "two"\nreplace_head = true\nkeep_classes = true', STILL))
        events = self.good("train", "new.toml", "--run", "new", "--json").events()
        self.assertTrue(any("but for 1 classes of the same name" in event.get("message", "") for event in events))
        for name in ("linear2.weight", "linear2.bias"):
            old, new = self.weights("two", name), self.weights("new", name)
            self.assertEqual(new[2], old[1])
            self.assertNotIn(new[0], old if name == "linear2.weight" else [])
        result = self.yoke("train", "two.toml", "--set", "model.keep_classes=true")
        self.assertEqual(result.code, 2)
        self.assertIn("model.keep_classes: needs model.start", result.error)

    def test_the_body_may_be_frozen(self):
        job = ("train", "tiny.toml", "--from", "r", "--set", "model.replace_head=true", "--set", "train.groups=[{parameters='linear2.*', rate=2}]")
        self.good(*job, "--set", "train.freeze=linear1.*", "--quiet")
        result = self.yoke(*job, "--set", "train.freeze=['convolution*']")
        self.assertEqual(result.code, 2)
        self.assertIn("train.freeze: 'convolution*' matches no parameter; the model has linear1.weight, linear1.bias", result.error)

    def test_mistakes(self):
        for model, said in (('start = "nowhere"', "there is no checkpoint"), ('name = "mlp"\nreplace_head = true', "needs model.start"),
                            ('name = "mlp"\nwidths = [8]\nstart = "r"', "'linear1.weight' is 16x784"), ('name = "lenet"\nstart = "r"', "500x800 in this model"),
                            ('file = "m.onnx"\nstart = "r"', "both 'start' and 'file'")):
            self.write("new.toml", TINY.replace('name = "mlp"\nwidths = [16]', model))
            result = self.yoke("train", "new.toml", "--run", "n")
            self.assertEqual(result.code, 2, model)
            self.assertIn(said, result.error)
        self.assertIn("leave out --from", self.yoke("train", "--resume", "r", "--from", "r").error)


if __name__ == "__main__":
    unittest.main()
