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
# The words that those need which have parts or ask for more than options.
WORDS = {"devices.py": ["curve"], "failures.py": ["goodput"], "plan.py": ["plain", "--jobs", "sector"], "precision.py": ["job.toml"],
         "predicted.py": ["steps"], "simulate.py": ["weak"], "slide.py": ["memory"], "strategies.py": ["table"], "figures.py": ["no-such-figure"]}
# Those that read a data set, and what lets them begin with it.
READERS = {"devices.py": ["curve"], "devices_real.py": [], "plan.py": ["plain", "--jobs", "sector"], "precision.py": ["job.toml"],
           "slide_accuracy.py": []}
RUNS = ["devices.py", "precision.py", "strategies.py"]  # those that keep runs in a folder
JOB = """[data]
format = "csv"
train = "$YOKE_DATA/x.csv"
[model]
name = "mlp"
[train]
learning_rate = 0.1
"""
MISSING = {"YOKE": "bin/yoke", "YOKE_DATA": "data", "YOKE_BENCH_BUILD": "build/release", "YOKE_CACHE": "cache"}


class BenchScriptsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        pathlib.Path(self.folder, "job.toml").write_text(JOB)

    def run_script(self, script, words, missing, **more):
        """Where the variables in `missing` name what is not there."""
        there = {"YOKE": os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))}
        nowhere = {name: f"{self.folder}/nowhere/{place}" for name, place in MISSING.items() if name in missing}
        return subprocess.run([sys.executable, str(BENCH / script), *words], cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **there, **nowhere, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=60, **{"stdout": subprocess.DEVNULL, **more})

    def explained(self, words, missing, pattern):
        """Each of {script: words} says what is missing: in its own sentence, which may follow those of programs that it has called."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for script, done in zip(words, pool.map(lambda script: self.run_script(script, words[script], missing), words)):
                with self.subTest(script):
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
                    self.assertRegex(done.stderr, pattern)
                    self.assertRegex(done.stderr, rf"^([^\n]+\n){{0,2}}{script}: [^\n]+\n$")

    def test_all_with_parts_have_help(self):
        for script in (script for script in SCRIPTS if "@part(" in (BENCH / script).read_text()):
            with self.subTest(script):
                done = self.run_script(script, ["--help"], [], stdout=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage: ", done.stdout)

    def test_all_is_missing(self):
        self.assertGreater(len(SCRIPTS), 10)
        os.remove(self.folder + "/job.toml")
        self.explained({script: WORDS.get(script, []) for script in SCRIPTS}, MISSING, "missing|No such file|ended with|no figure")

    def test_data_alone_are_missing(self):
        self.explained(READERS, ["YOKE_DATA"], r"/nowhere/data/.*(there is no such file|No such file or directory; YOKE_DATA names the folder)")

    def test_the_program_alone_is_missing(self):
        words = {script: WORDS.get(script, []) for script in SCRIPTS if "torch" not in (BENCH / script).read_text() and script != "figures.py"}
        self.assertGreater(len(words), 8)
        self.explained(words, ["YOKE", "YOKE_BENCH_BUILD"], ": No such file or directory; (build it: |YOKE_DATA names)")  # where there are no data either

    def test_the_folder_of_runs_is_missing(self):
        words = {script: [*WORDS.get(script, []), "--runs", "nowhere/runs"] for script in RUNS}
        self.explained(words, ["YOKE", "YOKE_BENCH_BUILD"], "; build it: ")

    def test_an_error_of_no_file(self):
        raised = "from lib import explain; raise OSError(28, 'No space left on device')"
        done = subprocess.run([sys.executable, "-c", raised], env={**os.environ, "PYTHONPATH": str(BENCH)}, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, "-c: No space left on device\n"))

    def test_nowhere_to_print(self):
        with open("/dev/full", "w") as full:
            done = self.run_script("plan.py", ["momentum"], ["YOKE"], stdout=full)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^plan.py: [^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
