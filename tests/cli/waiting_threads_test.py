"""Waiting threads: they sleep soon while other programs hold the cores, and as the environment says where it does."""
import os
import pathlib
import subprocess
import sys
import time
import unittest

from program import ProgramTest

JOB = ("--set", "train.epochs=100000", "--set", "node.threads=2", "--set", "model.widths=[256]", "--quiet")


def names_of_threads(process):
    """The names of its threads, those that end meanwhile left out."""
    names = []
    for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        try:
            names.append((thread / "comm").read_text().strip())
        except OSError:
            pass
    return names


class WaitingThreadsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.processors = sorted(os.sched_getaffinity(0))[:2]
        if len(self.processors) < 2:
            self.skipTest("needs two processors")
        counted = pathlib.Path("/proc/self/schedstat")
        if not counted.exists() or counted.read_text().startswith("0 "):
            self.skipTest("this system does not count how long threads wait for a processor")

    def train(self, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOMP_", "OMP_", "YOKE_SPIN"))}
        process = self.start("train", "tiny.toml", *JOB, env=kept | environment)
        os.sched_setaffinity(process.pid, self.processors)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def holds(self, process, name, seconds):
        """Whether it has a thread of this name within so many seconds."""
        until = time.time() + seconds
        while name not in names_of_threads(process):
            if time.time() > until:
                return False
            time.sleep(0.1)
        return True

    def test_they_sleep_while_others_hold_the_cores(self):
        for processor in self.processors:
            other = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{processor}])\nwhile True: pass"])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
        self.assertTrue(self.holds(self.train(), "short-spin", 30))

    def test_the_environment_decides(self):
        process = self.train(GOMP_SPINCOUNT="2000")
        self.assertFalse(self.holds(process, "spin-watch", 3))
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main()
