"""`make install`: what it brings works without the clone."""
import os
import re
import subprocess
import tempfile
import unittest

from program import YOKE

BIN = os.path.dirname(YOKE)
CLONE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
# The release program's folder is build/bin, every other build has its own.
BUILD = os.path.join(CLONE, "build/release") if BIN == os.path.join(CLONE, "build/bin") else os.path.dirname(BIN)
SMALL = ["--set", "train.epochs=1", "--set", "data.train_size=500", "--set", "data.test_size=100"]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.prefix = os.path.join(cls.temporary.name, "prefix")
        cls.work = os.path.join(cls.temporary.name, "work")
        os.mkdir(cls.work)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)

    def yoke(self, *words):
        """The installed program's output, in an empty folder, with nothing of the clone in reach."""
        environment = {"PATH": os.path.join(self.prefix, "bin") + ":/usr/bin:/bin", "HOME": self.work}
        done = subprocess.run(["yoke", *words], cwd=self.work, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_demo_runs(self):
        demo = os.path.join(self.prefix, "share/yoke/examples/demo.toml")
        self.assertRegex(self.yoke("train", demo, "--run", "r", *SMALL), r"\ntest accuracy 0\.\d{4}\n$")
        self.assertIn("accuracy", self.yoke("eval", "r/last"))
        self.assertIn("run directory runs/demo-", self.yoke("train", demo, *SMALL))

    def test_help_names_files_that_are_there(self):
        for words in (["--help"], ["train", "--help"], ["info", "--help"]):
            files = re.findall(r"\S+/(?:demo\.toml|first-hour\.md)", self.yoke(*words))
            self.assertTrue(files)
            for file in files:
                self.assertTrue(file.startswith(self.prefix) and os.path.exists(file), file)

    def test_all_parts_are_there(self):
        for file in ("share/doc/yoke/first-hour.md", "share/doc/yoke/LICENSE", "share/yoke/examples/strategies/allreduce.toml"):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, file)), file)
        self.assertEqual(sorted(os.listdir(os.path.join(self.prefix, "include"))), ["yoke", "yoke.h"])
        libraries = os.path.join(BIN, "yoke-mpi")
        if os.path.isdir(libraries):
            self.assertEqual(sorted(os.listdir(libraries)), sorted(os.listdir(os.path.join(self.prefix, "libexec/yoke-mpi"))))
        for file in ("bin/yoke", "lib/libyoke.so"):
            linked = subprocess.run(["ldd", os.path.join(self.prefix, file)], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("not found", linked)
            self.assertNotIn(CLONE, linked)

    def test_manual_pages(self):
        pages = os.path.join(self.prefix, "share/man")
        commands = re.findall(r"BR yoke\\-(\w+) \(1\)", self.yoke("man"))
        self.assertEqual(set(os.listdir(os.path.join(pages, "man1"))), {"yoke.1", *(f"yoke-{command}.1" for command in commands)})
        with open(os.path.join(pages, "man5/yoke-keys.5"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.yoke("man", "keys"))

    def build_example(self, build):
        source = os.path.join(self.prefix, "share/yoke/examples/library")
        for words in (["-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-S", source], ["--build", build]):
            done = subprocess.run(["cmake", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_has_a_strategy_and_a_layer_of_its_own(self):
        build = os.path.join(self.work, "build")
        self.build_example(build)
        with open(os.path.join(self.work, "own.toml"), "w") as out:
            out.write('[data]\nformat = "synthetic-digits"\ntrain_size = 2000\ntest_size = 200\n[train]\nepochs = 2\nlearning_rate = 0.05\n'
                      '[node]\nthreads = 1\n[cluster]\nreplicas = 2\nstrategy = "averaging"\nperiod = 4\n[[model.layer]]\ntype = "flatten"\n'
                      '[[model.layer]]\ntype = "linear"\noutputs = 32\n[[model.layer]]\ntype = "softsign"\n'
                      '[[model.layer]]\ntype = "linear"\noutputs = 10\n')

        def train(*words):
            return subprocess.run([os.path.join(build, "train"), "own.toml", *words], cwd=self.work, capture_output=True, text=True, timeout=120)
        done = train("own")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(float(re.search(r"test accuracy ([\d.]+)", done.stdout)[1]), 0.5)
        self.assertRegex(done.stdout, r"the first of 10 outputs: 0\.\d{4}\n$")
        wrong = train("wrong", "cluster.perid=3")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("period", wrong.stderr)

    def test_a_c_program_predicts(self):
        demo, build = os.path.join(self.prefix, "share/yoke/examples/demo.toml"), os.path.join(self.work, "build")
        self.yoke("train", demo, "--run", "c", *SMALL)
        self.build_example(build)
        predict = os.path.join(build, "predict")
        done = subprocess.run([predict, os.path.join(self.work, "c")], input="0 " * 784 * 2, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^(\d 0\.\d{4}\n)\1$")
        absent = subprocess.run([predict, "absent"], capture_output=True, text=True, timeout=60)
        self.assertEqual((absent.returncode, absent.stderr), (2, "there is no checkpoint absent\n"))


if __name__ == "__main__":
    unittest.main()
