"""ONNX from the command line: training from a file, what it needs, `yoke info` and `yoke export`."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model"))
from onnx_support import np, onnx, onnxruntime  # noqa: E402

from program import TINY, ProgramTest  # noqa: E402

FROM_FILE = TINY.replace('name = "mlp"\nwidths = [16]', 'file = "m.onnx"').replace("epochs = 2", "epochs = 1") \
    .replace("learning_rate = 0.02", "learning_rate = 1e-9")


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
