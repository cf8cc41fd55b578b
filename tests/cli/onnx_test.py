"""ONNX from the command line: training from a file, what it needs, `yoke info` and `yoke export`."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model"))
from onnx_support import np, onnx, onnxruntime, relative_error, runtime_scores, yoke_scores  # noqa: E402

from program import TINY, ProgramTest  # noqa: E402

FROM_FILE = TINY.replace('name = "mlp"\nwidths = [16]', 'file = "m.onnx"').replace("epochs = 2", "epochs = 1") \
    .replace("learning_rate = 0.02", "learning_rate = 1e-9")


XMC = """[data]
format = "synthetic-xmc"
features = 500
labels = 300
train_size = 400
test_size = 100
[model]
name = "xmc"
hidden = 16
output = "lsh"
loss = "softmax"
[train]
epochs = 1
batch = 32
rule = "adam"
learning_rate = 1e-3
"""


class OnnxTest(ProgramTest):
    def exported(self):
        """A trained run `r` and its file; the test loss of its weights."""
        end = self.good("train", "tiny.toml", "--run", "r", "--json", "--set", "train.rule=adam",
                        "--set", "train.learning_rate=0.01", "--set", "train.epochs=6").events()[-1]
        self.good("export", "r/last", "m.onnx")
        self.write("file.toml", FROM_FILE)
        return end["test"]["loss"]

    def test_training_starts_from_the_file_or_anew(self):
        loss = self.exported()
        end = self.good("train", "file.toml", "--run", "f", "--json").events()[-1]
        self.assertAlmostEqual(end["test"]["loss"], loss, places=5)
        anew = self.good("train", "file.toml", "--set", "model.initialize=true", "--run", "a", "--json").events()[-1]
        self.assertGreater(anew["test"]["loss"], loss + 0.1)

    def test_a_complete_file_takes_values_and_gives_predictions(self):
        rows = [(i % 7 + 1000, i % 5 * 1e-3) for i in range(200)]
        for label, y in (("class", lambda a, b: "yes" if a + 1e3 * b > 1005 else "no"), ("price", lambda a, b: 50 * a + 0.25)):
            self.write("t.csv", f"a,b,{label}\n" + "".join(f"{a},{b},{y(a, b)}\n" for a, b in rows))
            self.write("t.toml", '[data]\nformat = "csv"\ntrain = "t.csv"\n[model]\nname = "linear"\n[train]\nepochs = 3\nlearning_rate = 0.05\n')
            self.good("train", "t.toml", "--run", label, "--quiet")
            self.good("export", label, "c.onnx", "--complete")
            found = runtime_scores(self.path("c.onnx"), np.array(rows, np.float32))
            self.write("new.csv", "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
            events = self.good("predict", label, "new.csv", "--top", "2", "--json").events() if label == "class" else self.good("predict", label, "new.csv", "--json").events()
            own = [dict(zip(e["labels"], e["scores"]))["yes"] for e in events] if label == "class" else [e["values"][0] for e in events]
            self.assertLess(np.abs(found[:, -1] - own).max() / np.abs(own).max(), 1e-3)
        self.write("rgb.toml", '[data]\nformat = "csv"\ntrain = "t.csv"\nmean = [3]\ndeviation = [2, 0.5]\n[model]\nname = "linear"\n[train]\nepochs = 1\n'
                   'learning_rate = 1e-9\n')
        self.good("train", "rgb.toml", "--run", "rgb", "--quiet")
        self.good("export", "rgb", "rgb.onnx", "--complete")
        read = {tensor.name: onnx.numpy_helper.to_array(tensor).ravel() for tensor in onnx.load(self.path("rgb.onnx")).graph.initializer}
        np.testing.assert_allclose([read["input.mean"], read["input.factor"]], [[3, 3], [0.5, 2]])
        result = self.yoke("info", "c.onnx")
        self.assertEqual(result.code, 2)
        self.assertIn("c.onnx computes normalization and probabilities in its graph", result.error)

    def test_a_checkpoint_needs_no_file(self):
        loss = self.exported()
        self.good("train", "file.toml", "--run", "f", "--quiet")
        os.remove(self.path("m.onnx"))
        (event,) = self.good("eval", "f", "--json").events()
        self.assertAlmostEqual(event["metrics"]["loss"], loss, places=5)
        self.good("export", "f", "again.onnx")
        self.good("info", "f")

    def test_export_says_what_it_wrote(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        (event,) = self.good("export", "r", "m.onnx", "--json").events()
        self.assertEqual(event["event"], "export")
        self.assertEqual(event["bytes"], os.path.getsize(self.path("m.onnx")))
        model = onnx.load(self.path("m.onnx"))
        onnx.checker.check_model(model, full_check=True)
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        self.assertEqual(metadata["input"], "value/255")
        self.assertEqual(json.loads(metadata["classes"]), [str(i) for i in range(10)])
        shape = onnxruntime.InferenceSession(self.path("m.onnx")).run(None, {"input": np.zeros([3, 1, 28, 28], np.float32)})[0].shape
        self.assertEqual(shape, (3, 10))

    def exported_with_data_beside(self):
        """The file with its weights in m.data; a function that changes where they lie, and loads the result."""
        self.exported()
        onnx.save(onnx.load(self.path("m.onnx")), self.path("e.onnx"), save_as_external_data=True, location="m.data", size_threshold=0)

        def refused(part, **changes):
            model = onnx.load(self.path("e.onnx"), load_external_data=False)
            for entry in model.graph.initializer[0].external_data:
                entry.value = changes.get(entry.key, entry.value)
            with open(self.path("changed.onnx"), "wb") as out:
                out.write(model.SerializeToString())
            result = self.yoke("info", "changed.onnx")
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn(part, result.error)
        return refused

    def test_external_data_stay_in_the_folder_and_in_the_file(self):
        refused = self.exported_with_data_beside()
        self.good("info", "e.onnx")
        refused("expected the name of a file beside it", location="../m.data")
        refused("expected the name of a file beside it", location="m.data\0.txt")
        refused("has a length of 999999999", length="999999999")
        refused("has a length of 4", length="4")
        refused("ends at byte", offset="99999999")
        with tempfile.TemporaryDirectory() as elsewhere:
            os.rename(self.path("m.data"), elsewhere + "/m.data")
            os.symlink(elsewhere + "/m.data", self.path("m.data"))
            refused("a link to another folder")
            os.unlink(self.path("m.data"))
            os.symlink(elsewhere, self.path("inner"))
            refused("a link to another folder", location="inner/m.data")

    def test_what_has_no_end_is_refused(self):
        os.symlink("/dev/zero", self.path("z.onnx"))
        with open(self.path("large.onnx"), "wb") as out:
            out.truncate(1 << 40)
        for words, part in ((("info", "z.onnx"), "is not a regular file"), (("info", "large.onnx"), "less than 2 GB"),
                            (("info", "/dev/zero"), "longer than"), (("train", "/dev/zero"), "longer than")):
            with self.subTest(words):
                result = self.yoke(*words)
                self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
                self.assertIn(part, result.error)

    def test_a_model_without_parameters_is_refused(self):
        """A pool that gives ten numbers, as a file and as a layer."""
        node = onnx.helper.make_node
        graph = onnx.helper.make_graph([node("MaxPool", ["x"], ["p"], kernel_shape=[10, 10], strides=[5, 18], pads=[1, 0, 1, 0]),
                                        node("Flatten", ["p"], ["y"])], "pool",
                                       [onnx.helper.make_tensor_value_info("x", 1, ["N", 1, 28, 28])],
                                       [onnx.helper.make_tensor_value_info("y", 1, ["N", 10])])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), self.path("m.onnx"))
        self.write("file.toml", FROM_FILE)
        self.write("layers.toml", TINY.replace('name = "mlp"\nwidths = [16]', '[[model.layer]]\ntype = "max_pool"\nkernel = 10\n'
                                               'stride = [5, 18]\npadding = [1, 0]\n[[model.layer]]\ntype = "flatten"'))
        for name in ("file.toml", "layers.toml"):
            result = self.yoke("train", name)
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn("the model has no parameters", result.error)

    def test_a_softmax_xmc_model_goes_on_as_one(self):
        self.write("xmc.toml", XMC)
        end = self.good("train", "xmc.toml", "--run", "r", "--json").events()[-1]
        self.good("export", "r/last", "m.onnx")
        metadata = {entry.key: entry.value for entry in onnx.load(self.path("m.onnx")).metadata_props}
        self.assertEqual(metadata["scores"], "one a label; softmax gives probabilities")
        model = XMC[:XMC.index("name")] + 'file = "m.onnx"\n' + XMC[XMC.index("[train]"):]
        self.write("file.toml", model.replace("1e-3", "1e-9"))
        first = self.good("train", "file.toml", "--run", "f")
        self.assertIn('model.output = "lsh"', first.out)
        self.assertAlmostEqual(self.good("eval", "f", "--json").events()[-1]["metrics"]["loss"], end["test"]["loss"], places=3)
        refused = self.yoke("train", "file.toml", "--set", "model.output=lsh", "--set", "model.lsh={slots = 3000}")
        self.assertIn("model.lsh.slots: expected a power of two", refused.error)
        again = self.good("train", "file.toml", "--run", "h", "--set", "model.output=lsh", "--set", "model.lsh={tables = 8}")
        self.assertNotIn("hashes it again", again.out)
        self.assertIn("lsh_linear", self.good("info", "h").out)

    def test_pools_that_round_up_are_what_they_were(self):
        """Also where a last window would start past the image, which yoke leaves out."""
        self.write("file.toml", FROM_FILE)
        images = np.random.default_rng(1).random((4, 1, 28, 28), np.float32)
        for kind, settings in (("max_pool", "kernel = 3\nstride = 5"), ("average_pool", "kernel = [3, 2]\nstride = [2, 3]\npadding = 1"),
                               ("max_pool", "kernel = [2, 3]\nstride = [3, 2]\npadding = 1"),
                               ("average_pool", "kernel = [2, 3]\nstride = [2, 2]\npadding = [1, 1]"),
                               ("average_pool", "kernel = [2, 3]\nstride = [2, 2]\npadding = [1, 1]\ncount_padding = false")):
            with self.subTest(settings):
                layers = f'[[model.layer]]\ntype = "{kind}"\nceil_mode = true\n{settings}\n[[model.layer]]\ntype = "linear"\noutputs = 10'
                self.write("pool.toml", TINY.replace('name = "mlp"\nwidths = [16]', layers))
                name = f"r{abs(hash((kind, settings)))}"
                end = self.good("train", "pool.toml", "--run", name, "--json").events()[-1]
                self.good("export", name, "m.onnx")
                model = onnx.load(self.path("m.onnx"))
                onnx.checker.check_model(model, full_check=True)
                (found,) = yoke_scores([(self.path("m.onnx"), images, None)], self.path(""))
                self.assertLess(relative_error(found, runtime_scores(model, images)), 1e-5)
                self.good("train", "file.toml", "--run", name + "f", "--quiet")
                (event,) = self.good("eval", name + "f", "--json").events()
                self.assertAlmostEqual(event["metrics"]["loss"], end["test"]["loss"], places=5)

    def test_a_pool_without_a_form_in_onnx_is_refused(self):
        layers = '[[model.layer]]\ntype = "average_pool"\nceil_mode = true\nkernel = 2\nstride = [9, 5]\n[[model.layer]]\ntype = "linear"\noutputs = 10'
        self.write("pool.toml", TINY.replace('name = "mlp"\nwidths = [16]', layers))
        self.good("train", "pool.toml", "--run", "r", "--quiet")
        result = self.yoke("export", "r", "m.onnx")
        self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
        self.assertIn("layer 'average_pool1' leaves out its last window", result.error)

    def test_info_describes_a_file(self):
        self.exported()
        (event,) = self.good("info", "m.onnx", "--json").events()
        self.assertEqual(event["parameters"], 784 * 16 + 16 + 16 * 10 + 10)
        self.assertEqual((event["input"], event["outputs"]), ([1, 28, 28], 10))

    def test_mistakes_are_one_sentence(self):
        self.exported()
        self.write("broken.onnx", "no model")
        self.write("features.csv", "1,2,0\n3,4,1\n")
        for settings, part in ((["model.file=broken.onnx"], "broken.onnx is not an ONNX file"),
                               (["model.file=gone.onnx"], "there is no file"),
                               (['model.name="mlp"'], "[model] has both 'name' and 'file'"),
                               (["data.format=csv", "data.train=features.csv", "data.train_size=", "data.test_size="],
                                "takes 1x28x28 and an example of the data is 2")):
            with self.subTest(settings[0]):
                result = self.yoke("train", "file.toml", *[word for s in settings for word in ("--set", s)])
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(result.error.count("\n"), 1)
                self.assertIn(part, result.error)


if __name__ == "__main__":
    unittest.main()
