"""What the documentation of the package says: examples in docstrings, and the lines of docs/python.md."""
import module

module.need()

import doctest
import importlib
import os
import pathlib
import pkgutil
import re
import tempfile
import unittest

import numpy as np

import yoke

CLONE = pathlib.Path(__file__).resolve().parents[2]


class DocsTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_docstrings(self):
        tried = 0
        for name in ("yoke", *(f"yoke.{found.name}" for found in pkgutil.iter_modules(yoke.__path__) if found.name not in ("_yoke", "__main__"))):
            done = doctest.testmod(importlib.import_module(name))
            self.assertEqual(done.failed, 0, name)
            tried += done.attempted
        self.assertGreater(tried, 8)

    def test_all_public_names_have_docstrings(self):
        for name in yoke.__all__:
            one = getattr(yoke, name)
            self.assertTrue(one.__doc__, name)
            for member, value in vars(one).items() if isinstance(one, type) else ():
                if callable(value) and not member.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")

    def test_the_page_of_python(self):
        from sklearn.datasets import load_digits
        pathlib.Path("job.toml").write_text('[data]\nformat = "synthetic-digits"\ntrain_size = 500\ntest_size = 100\n[model]\nname = "mlp"\n'
                                            'widths = [16]\n[train]\nlearning_rate = 0.05\n[node]\nthreads = 1\n')
        digits, classes = load_digits(return_X_y=True)
        names = {"x": np.zeros((3, 784), np.float32), "y": np.arange(3)}
        code = re.findall(r"^```python\n(.*?)^```", (CLONE / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(code), 4)
        for block in code:
            if "sklearn" in block:
                names.update(x=digits, y=classes)
            exec(block, names)  # noqa: S102


if __name__ == "__main__":
    unittest.main()
