"""The papers' tables: each script of bench/papers says what it is, and what it lacks; each job of examples/papers is one."""
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPERS = sorted(path.stem for path in (ROOT / "bench/papers").glob("[a-z]*.py"))
YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))


def call(*words, **environment):
    return subprocess.run([*map(str, words)], cwd=ROOT, env={**os.environ, "YOKE": YOKE, "PYTHONDONTWRITEBYTECODE": "1", **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


class PapersTest(unittest.TestCase):
    def test_each_has_help(self):
        for words in ([], *([name] for name in PAPERS)):
            with self.subTest(words):
                done = call(sys.executable, "bench/paper.py", *words, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage: ", done.stdout)

    def test_each_says_what_is_missing(self):
        for name in PAPERS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = call(sys.executable, "bench/paper.py", name, "--quick", YOKE=folder + "/yoke", YOKE_BENCH_BUILD=folder)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                self.assertRegex(done.stderr, r"(^|\n)paper.py: [^\n]*\n$")  # may follow lines of progress

    def test_no_such_paper(self):
        listed = ", ".join(PAPERS)
        for words, told in ([], "name a paper: "), (["easgdd", "--quick"], "no paper easgdd; there are "):
            done = call(sys.executable, "bench/paper.py", *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"paper.py: {told}{listed}\n"))

    def test_each_has_a_section_and_a_command(self):
        page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
        for name in PAPERS:
            self.assertIn(f"make paper-{name} ", page)

    def test_each_job_is_read(self):
        for path in sorted((ROOT / "examples/papers").glob("*.toml")):
            data = tomllib.loads(path.read_text(encoding="utf-8")).get("data")
            if data is None:
                continue  # a cluster
            few = ["--set", "data.train_size=20", "--set", "data.test_size=10"] if data["format"].startswith("synthetic") else []
            with self.subTest(path.name):
                done = call(YOKE, "info", path, *few, YOKE_DATA="/nowhere")  # the whole job is read before its files
                if done.returncode != 0:
                    self.assertRegex(done.stderr, "^yoke: /nowhere/[^\n]*: there is no such file\n$")


if __name__ == "__main__":
    unittest.main()
