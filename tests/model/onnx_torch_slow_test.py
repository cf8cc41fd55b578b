#!/usr/bin/env python3
"""Networks exported by PyTorch on the spot, both ways: yoke's scores against ONNX Runtime's; written again, they give the same
once more, and a step of training lowers the loss as its gradient says. Needs what tools/setup bench installs; says so and
checks nothing without it.

guards: src/model/onnx (60 s)"""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from onnx_support import CACHE, Refused, np, onnx, relative_error, runtime_scores, yoke_scores  # noqa: E402

TORCH = CACHE + "/venv-bench/bin/python"
LIMIT = 1e-4


def in_evaluation(file):
    """The model with its scores as output (before a softmax), normalization and dropout as after training."""
    model = onnx.load(file)
    graph = model.graph
    last = next(node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type in ("Softmax", "LogSoftmax"):
        graph.output[0].name = last.input[0]
    for node in graph.node:
        if node.op_type == "Dropout":
            del node.input[1:]
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
    return model


class ExportsTest(unittest.TestCase):
    def test_networks(self):
        can = "import torch, onnx, onnxscript"
        if not os.path.exists(TORCH) or subprocess.run([TORCH, "-c", can], capture_output=True).returncode:
            print("nothing was checked: no PyTorch here that can export; tools/setup bench installs one")
            return
        with tempfile.TemporaryDirectory() as exports:
            subprocess.run([TORCH, HERE + "/onnx_exports.py", exports], check=True, capture_output=True, timeout=500)
            self.check_folder(exports, 19)

    def scores(self, file, examples, folder, copy):
        (found,) = yoke_scores([(file, examples, copy)], folder, train=True)
        self.assertNotIsInstance(found, Refused, found)
        return found

    def check(self, file, folder):
        model = in_evaluation(file)
        names = {tensor.name for tensor in model.graph.initializer}
        shape = next(i for i in model.graph.input if i.name not in names).type.tensor_type.shape
        self.assertFalse(shape.dim[0].dim_value, "the batch axis should be free")
        examples = np.random.default_rng(7).standard_normal([5] + [d.dim_value for d in shape.dim[1:]], np.float32)
        copy, second = os.path.join(folder, "copy.onnx"), os.path.join(folder, "second.onnx")
        expected = runtime_scores(model, examples)
        self.assertLess(relative_error(self.scores(file, examples, folder, copy), expected), LIMIT)
        onnx.checker.check_model(copy, full_check=True)
        self.assertLess(relative_error(runtime_scores(copy, examples), expected), LIMIT)
        self.assertLess(relative_error(self.scores(copy, examples, folder, second), expected), LIMIT)
        with open(copy, "rb") as a, open(second, "rb") as b:
            self.assertEqual(a.read(), b.read(), "exported, read and exported again, a file should stay the same")

    def check_folder(self, exports, least):
        files = sorted(glob.glob(exports + "/*.onnx"))
        self.assertGreaterEqual(len(files), least)
        for file in files:
            with self.subTest(os.path.basename(file)), tempfile.TemporaryDirectory() as folder:
                self.check(file, folder)


if __name__ == "__main__":
    unittest.main()
