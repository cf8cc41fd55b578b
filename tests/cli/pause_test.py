"""A run that was stopped (SIGSTOP, Ctrl-Z) for longer than its timeouts goes on: of ranks as threads, on several devices, under each MPI."""
import os
import signal
import time
import unittest

import launchers
from program import ProgramTest

JOB = ("--set", "data.train_size=3000", "--set", "train.epochs=60", "--json")


class PauseTest(ProgramTest):
    def await_epoch(self, process):
        while '"event":"epoch"' not in (line := process.stdout.readline()):
            self.assertTrue(line, "the run ended early")

    def pause(self, pids, seconds):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def finished(self, process):
        out, error = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 0, error)
        self.assertIn('"reason":"finished"', out)
        return out

    def test_ranks_as_threads(self):
        for strategy in ("allreduce", "async_sgd"):
            process = self.start("train", "tiny.toml", *JOB, "--replicas", "3", "--strategy", strategy, "--set", "cluster.timeout=1")
            self.addCleanup(process.kill)
            self.await_epoch(process)
            self.pause([process.pid], 3)
            self.finished(process)

    def test_a_device_is_not_dropped(self):
        process = self.start("train", "tiny.toml", *JOB, "--executor", "split", "--set", 'node.devices=["cpu","emulated:0"]',
                             "--set", "node.device_timeout=0.5", "--set", "train.epochs=200")
        self.addCleanup(process.kill)
        self.await_epoch(process)
        for _ in range(5):
            self.pause([process.pid], 0.8)
            time.sleep(0.05)
        self.assertNotIn("goes on without it", self.finished(process))

    def test_ranks_under_mpi(self):
        for name in launchers.needed_launchers():
            with self.subTest(name):
                process = launchers.start(self, name, 2, "train", "tiny.toml", *JOB, "--strategy", "allreduce", "--set", "cluster.timeout=1")
                self.addCleanup(process.kill)
                self.await_epoch(process)
                ranks = launchers.rank_processes(process)
                self.assertGreaterEqual(len(ranks), 2)  # and what watches over them
                self.pause(ranks, 3)
                self.finished(process)


if __name__ == "__main__":
    unittest.main()
