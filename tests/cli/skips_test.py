"""Tests that cannot run here say so and why, and tools/results.py counts them as skipped."""
import os
import pathlib
import subprocess
import sys
import unittest

from program import YOKE, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # exit status
sys.path.insert(0, str(ROOT / "tools"))
from results import cases_of


class SkipsTest(ProgramTest):
    def script(self, name, *words, **environment):
        return subprocess.run([sys.executable, ROOT / "tests" / name, *words], env=environment, capture_output=True, text=True, timeout=60)

    def test_without_an_mpi(self):
        os.symlink(YOKE, self.path("yoke"))  # its folder holds no libraries
        for name, words in (("ranks", []), ("stop", []), ("pause", ["PauseTest.test_ranks_under_mpi"])):
            done = self.script(f"cli/{name}_test.py", "-v", *words, **{**os.environ, "YOKE": self.path("yoke")})
            self.assertEqual(done.returncode, 0, done.stderr)
            cases = list(cases_of(name, done.stderr, False, pathlib.Path("none")))
            self.assertEqual({case.outcome for case in cases}, {"skipped"}, done.stderr)
            self.assertRegex(cases[0].reason, "an MPI leaks|no MPI with its launcher")

    def test_without_data(self):
        done = self.script("train/examples_slow_test.py", **{name: value for name, value in os.environ.items() if name != "YOKE_DATA"})
        self.assertEqual(done.returncode, SKIPPED, done.stderr)
        self.assertIn("skipped: the real data sets are not here", done.stdout)


if __name__ == "__main__":
    unittest.main()
