"""The benchmarks of bench/ where something is missing: one sentence, not a traceback."""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if "__main__" in path.read_text() and path.name != "gpu.py")  # which needs no build: it travels
# The words that those need which have parts or ask for more than options.
WORDS = {"devices.py": ["curve"], "failures.py": ["goodput"], "plan.py": ["plain", "--jobs", "sector"], "precision.py": ["job.toml"],
         "predicted.py": ["steps"], "python.py": ["calls"], "simulate.py": ["weak"], "slide.py": ["memory"], "strategies.py": ["table"], "figures.py": ["no-such-figure"]}
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
        self.explained({script: WORDS.get(script, []) for script in SCRIPTS}, MISSING, "missing|No such file|ended with|no figure|name a paper")

    def test_data_alone_are_missing(self):
        self.explained(READERS, ["YOKE_DATA"], r"/nowhere/data/.*(there is no such file|No such file or directory; YOKE_DATA names the folder)")

    def test_the_data_of_a_job_are_missing(self):
        pathlib.Path(self.folder, "job.toml").write_text(JOB.replace("x.csv", "covtype-20k/covtype.20k.data.xz"))
        self.explained({"precision.py": ["job.toml"]}, ["YOKE_DATA"], "there is no such file(.|\n)*; to get it: tools/fetch-data covtype\n$")

    def test_a_missing_program_is_built(self):
        build = pathlib.Path(self.folder, "clone/build/release")
        shutil.copytree(BENCH / "lib", build.parents[1] / "bench/lib", ignore=shutil.ignore_patterns("__pycache__"))
        cmake = pathlib.Path(self.folder, "bin/cmake")
        cmake.parent.mkdir()
        cmake.write_text(f"#!/bin/sh\necho $* noise\nmkdir -p {build}/bench\ntouch {build}/bench/$4\n")
        cmake.chmod(0o755)
        call = [sys.executable, "-c", "from lib import build, explain; print(build.program('virtual_run')); print(build.program('virtual_run'))"]
        environment = {**os.environ, "PYTHONPATH": str(build.parents[1] / "bench"), "PATH": f"{cmake.parent}:{os.environ['PATH']}"}
        environment.pop("YOKE_BENCH_BUILD", None)

        def called(**more):
            done = subprocess.run(call, env={**environment, **more}, capture_output=True, text=True, timeout=60)
            return done.returncode, done.stdout.split(), done.stderr

        self.assertEqual(called(), (2, [], f"-c: {build} has no configured build: run make build\n"))
        build.mkdir(parents=True)
        (build / "build.ninja").touch()
        program = str(build / "bench/virtual_run")
        self.assertEqual(called(YOKE_BENCH_BUILD="other"), (0, ["other/bench/virtual_run"] * 2, ""))
        self.assertEqual(called(), (0, [program] * 2, f"building: cmake --build {build} --target virtual_run\n"))

    def test_the_program_alone_is_missing(self):
        words = {script: WORDS.get(script, []) for script in SCRIPTS if "torch" not in (BENCH / script).read_text() and script not in ("figures.py", "paper.py")}
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
