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

    def run_blocks(self, page, names):
        """Runs the page's blocks in Python, with a small job in place of those that it names; returns how many there are."""
        for job in ("job.toml", "digits.toml"):
            pathlib.Path(job).write_text('[data]\nformat = "synthetic-digits"\ntrain_size = 500\ntest_size = 100\n[model]\nname = "mlp"\n'
                                         'widths = [16]\n[train]\nlearning_rate = 0.05\n[node]\nthreads = 1\n')
        code = re.findall(r"^```python\n(.*?)^```", (CLONE / page).read_text(), re.MULTILINE | re.DOTALL)
        for block in code:
            if "sklearn" in block:
                from sklearn.datasets import load_digits
                names.update(zip("xy", load_digits(return_X_y=True)))
            exec(block, names)  # noqa: S102
        return len(code)

    def test_the_readme(self):
        self.assertEqual(self.run_blocks("README.md", {}), 1)

    def test_the_page_of_python(self):
        names = {"x": np.zeros((3, 784), np.float32), "y": np.arange(3)}
        self.assertGreaterEqual(self.run_blocks("docs/python.md", names), 4)


if __name__ == "__main__":
    unittest.main()
