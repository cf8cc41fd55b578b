"""`bench/paper.py NAME --quick` of each paper prints a table of the paper's values and ours.

guards: bench/papers bench/paper.py bench/lib examples/papers (900 s)
"""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds; on two quiet cores less than 300


class PapersSlowTest(unittest.TestCase):
    def test_each_prints_its_table(self):
        environment = {**os.environ, "YOKE": os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))}
        for path in sorted((ROOT / "bench/papers").glob("[a-z]*.py")):
            with self.subTest(path.stem):
                done = subprocess.run([sys.executable, "bench/paper.py", path.stem, "--quick"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=LIMIT)
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                self.assertRegex(done.stdout, r"\| figure \| paper \| ours \|")
                self.assertIn("--quick, not a measurement", done.stdout)


if __name__ == "__main__":
    unittest.main()
