"""What the program takes of memory, measured from outside: training a wide output layer takes little more than its
weights, the rule's state and its tables; describing it takes none of them; evaluating it takes the weights once.

guards: src/params src/lsh src/model/layers/lsh src/train/checkpoint (30 s)"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import YOKE, ProgramTest, Result

WIDE = """[data]
format = "synthetic-xmc"
features = 20000
labels = 200000
train_size = 1000
test_size = 100
[model]
name = "xmc"
hidden = 128
output = "lsh"
[train]
epochs = 1
batch = 64
rule = "adam"
learning_rate = 0.003
"""
MEGABYTE = 1_000_000
PROGRAM = 100 * MEGABYTE  # the program, its libraries, the data and the work of a batch


class MemoryTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("wide.toml", WIDE)
        shared = "/dev/shm"  # 500 MB are written: not to the disk where that can be avoided
        room = os.access(shared, os.W_OK) and os.statvfs(shared).f_bavail * os.statvfs(shared).f_frsize > 4e9
        runs = tempfile.TemporaryDirectory(dir=shared if room else None)
        self.addCleanup(runs.cleanup)
        self.run = os.path.join(runs.name, "run")

    def measured(self, *words):
        """Events of a run of the program, and the most memory it took, in bytes."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
            child = subprocess.Popen([YOKE, *words, "--json"], cwd=self.folder, stdout=out, stderr=error, text=True)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), error.seek(0)
            done = Result(subprocess.CompletedProcess(child.args, child.returncode, out.read(), error.read()))
        self.assertEqual(done.code, 0, done.error)
        return done.events(), usage.ru_maxrss * 1024

    def test_training_and_evaluating(self):
        events, peak = self.measured("train", "wide.toml", "--run", self.run)
        memory = events[-1]["memory"]
        model = memory["parameters"] + memory["rule_state"] + memory["tables"]
        weights = (20000 + 200000) * 128 * 4
        self.assertGreaterEqual(memory["parameters"], weights)
        self.assertGreaterEqual(memory["rule_state"], 2 * memory["parameters"])
        self.assertGreater(memory["tables"], 0)
        self.assertLess(memory["gradients"], weights / 4, "a dense gradient?")
        self.assertAlmostEqual(memory["ratio"], memory["peak"] / model)
        self.assertLess(memory["ratio"], 1.3)
        self.assertLess(abs(memory["peak"] - peak), 20 * MEGABYTE)
        with self.subTest("evaluating"):
            _, peak = self.measured("eval", self.run)
            self.assertLess(peak, weights + PROGRAM)
        with self.subTest("resuming"):
            events, _ = self.measured("train", "--resume", self.run, "--set", "train.epochs=2")
            self.assertLess(events[-1]["memory"]["ratio"], 1.3)

    def test_describing_takes_no_tables(self):
        events, peak = self.measured("info", "wide.toml")
        memory = events[-1]["memory"]
        self.assertGreater(memory["tables"], 50 * MEGABYTE)
        self.assertLess(peak, memory["tables"])

    def test_the_forecast_is_near_the_peak(self):
        for options in ["", "lsh = { sampler = 'uniform', group = 1 }\n",
                        "lsh = { family = 'dwta', hashes = 8, tables = 50, bucket = 128 }\n"]:
            with self.subTest(options):
                self.write("wide.toml", WIDE.replace("[train]", options + "[train]"))
                forecast = self.measured("info", "wide.toml")[0][-1]["memory"]["total"]
                _, peak = self.measured("train", "wide.toml", "--run", self.run, "--set", "checkpoint.every_epochs=0")
                self.assertLess(abs(forecast / peak - 1), 0.1, f"{forecast / 1e6:.0f} MB for {peak / 1e6:.0f}")
                shutil.rmtree(self.run)

    def test_the_forecast_holds_for_other_sizes(self):
        for labels, options in [(60000, ""), (60000, "group = 1, share = 0.05"), (200000, "group = 1, share = 0.02"),
                                (60000, "sampler = 'uniform', share = 0.1"),
                                (60000, "form = 'paper', slots = 2048, share = 0.05"),
                                # the second rebuild touches the last pages of the tables
                                (60000, "slots = 4194304, hashes = 22, tables = 2, rehash_every = 1")]:
            with self.subTest(labels=labels, options=options):
                job = WIDE.replace("200000", str(labels)).replace("hidden = 128", "hidden = 64")
                job = job.replace("batch = 64", "batch = 256").replace("test_size = 100", "test_size = 0")
                self.write("wide.toml", job.replace("[train]", f"lsh = {{ {options} }}\n[train]"))
                forecast = self.measured("info", "wide.toml")[0][-1]["memory"]["total"]
                _, peak = self.measured("train", "wide.toml", "--run", self.run, "--set", "checkpoint.every_epochs=0")
                self.assertLess(abs(forecast / peak - 1), 0.1, f"{forecast / 1e6:.0f} MB for {peak / 1e6:.0f}")
                shutil.rmtree(self.run)


if __name__ == "__main__":
    unittest.main()
