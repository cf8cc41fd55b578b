"""1,000 fits leave memory, files and threads as 200 did.

guards: python src/api src/train (60 s)
"""
import module

module.need()

import gc
import os
import pathlib
import tempfile
import unittest

import numpy as np

import yoke

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(100, 10)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)


def state():
    """Megabytes, open files, threads."""
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


class LeaksTest(unittest.TestCase):
    def test_many_fits(self):
        def fits(count):
            for _ in range(count):
                yoke.YokeClassifier(epochs=5, random_state=1).fit(X, Y).predict(X)
            return state()
        before, after = fits(200), fits(800)
        print(f"after 200 fits {before}, after 1,000 {after}")
        self.assertLess(after[0] - before[0], 8)
        self.assertEqual(after[1:], before[1:])

    def test_many_strategies(self):
        class Each(yoke.Strategy, name="leaks_test"):
            def step(self, step):
                self.update()
        job = {"model": {"name": "mlp", "widths": [8]}, "train": {"epochs": 1, "learning_rate": 0.05}, "node": {"threads": 1},
               "cluster": {"strategy": "leaks_test", "replicas": 2}}

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def runs(first, count):
            for turn in range(first, first + count):
                yoke.train(job, (X, Y), run=f"{folder.name}/{turn}")
            return state()
        before, after = runs(0, 30), runs(30, 100)
        self.assertLess(after[0] - before[0], 8)
        self.assertEqual(after[1:], before[1:])


if __name__ == "__main__":
    unittest.main()
