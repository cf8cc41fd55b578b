"""Type hints: those of the package, those of the compiled module, which are generated, and a program that uses them."""
import module

module.need()

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import mypy  # noqa: F401
except ImportError:
    mypy = None

GOOD = """
import numpy as np
import yoke
run: yoke.Run = yoke.train({"model": {"name": "mlp"}}, (np.zeros((4, 2)), [0, 1, 0, 1]), keys={"train.epochs": 1})
accuracy: float = run.test["accuracy"]
model: yoke.Model = yoke.Model.load(run.checkpoint)
scores: np.ndarray = model.predict(np.zeros((1, 2)))
names: list[str] = model.classes
class Own(yoke.Strategy, name="own"):
    def step(self, step: yoke.Step) -> None:
        self.update(1 / self.world.size)
        rate: float = step.learning_rate
"""
BAD = {"yoke.train(3)": "train", "yoke.Model.load(1.5)": "load", "yoke.Model.load('a').predict()": "predict", "yoke.plan('a', only=3)": "plan"}


class TypingTest(unittest.TestCase):
    def check(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", folder, "--no-error-summary", *words], capture_output=True, text=True,
                                  env={**os.environ, "MYPYPATH": module.MODULE}, timeout=300)

    def test_the_stub_has_what_the_package_imports(self):
        stub = pathlib.Path(module.MODULE, "yoke/_yoke.pyi").read_text()
        for name in ("class Examples", "class Model", "class Replica", "def train(", "def register_strategy(", "class UserError"):
            self.assertIn(name, stub)
        self.assertTrue(pathlib.Path(module.MODULE, "yoke/py.typed").exists())

    @unittest.skipUnless(mypy, "mypy is not installed: tools/setup python")
    def test_programs_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(GOOD)
            done = self.check(str(program))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            program.write_text("import yoke\n" + "\n".join(BAD))
            found = self.check(str(program)).stdout
            for line, name in enumerate(BAD.values(), 2):
                self.assertRegex(found, rf"program.py:{line}: error: .*{name}")


if __name__ == "__main__":
    unittest.main()
