"""The scripts of examples/python, and what they end with."""
import module

module.need()

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


class ExamplesTest(unittest.TestCase):
    def run_script(self, name):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, FOLDER / name], cwd=folder, env=os.environ, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def number(self, name, pattern):
        out = self.run_script(name)
        return float(re.search(pattern, out)[1])

    def test_digits(self):
        self.assertGreater(self.number("digits.py", r"test accuracy ([\d.]+)"), 0.85)

    def test_extreme_classification(self):
        self.assertGreater(self.number("extreme_classification.py", r"'p_at_1': ([\d.]+)"), 0.5)

    def test_callback(self):
        self.assertLess(self.number("callback.py", r"interrupted after (\d+)"), 500)

    def test_fine_tuned_resnet(self):
        self.assertGreater(self.number("fine_tuned_resnet.py", r"fine-tuned ([\d.]+)"), 0.85)

    def test_regression_table(self):
        self.assertGreater(self.number("regression_table.py", r"r2 ([\d.]+)"), 0.98)

    def test_averaging_strategy(self):
        out = self.run_script("averaging_strategy.py")
        for where in ("threads", "simulated"):
            self.assertGreater(float(re.search(where + r" ([\d.]+)", out)[1]), 0.6)

    def test_all_are_tested(self):
        source = pathlib.Path(__file__).read_text()
        for script in FOLDER.glob("*.py"):
            self.assertIn(f'"{script.name}"', source)


if __name__ == "__main__":
    unittest.main()
