"""The benchmarks of bench/ where something is missing: one sentence, not a traceback."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if "__main__" in path.read_text())
# Those that ask for more than options.
WORDS = {"devices_table.py": ["out"], "plan_sweep.py": ["job.toml"], "precision_curves.py": ["job.toml"], "simulate_failures.py": ["goodput"],
         "simulate_scale.py": ["weak"], "slide_accuracy.py": ["--data", "citeulike"], "slide_speed.py": ["memory"]}


class BenchScriptsTest(unittest.TestCase):
    def run_script(self, script, folder):
        nowhere = os.path.join(folder, "nowhere")
        environment = dict(os.environ, YOKE=nowhere + "/bin/yoke", YOKE_DATA=nowhere + "/data", YOKE_BENCH_BUILD=nowhere + "/build/release",
                           YOKE_CACHE=nowhere + "/cache", PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, str(BENCH / script), *WORDS.get(script, [])], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_what_is_missing_is_said(self):
        self.assertGreater(len(SCRIPTS), 20)
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            for script, done in zip(SCRIPTS, pool.map(lambda script: self.run_script(script, folder), SCRIPTS)):
                with self.subTest(script):
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
                    self.assertRegex(done.stderr.splitlines()[-1], rf"^{script}: .*(missing|No such file|ended with)")


if __name__ == "__main__":
    unittest.main()
