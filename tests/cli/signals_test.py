"""Ctrl-C and SIGTERM end a run in order; a second one ends it at once."""
import os
import signal
import time
import unittest

from program import ProgramTest


class SignalsTest(ProgramTest):
    def started(self, *words):
        """A run that has begun to train."""
        process = self.start("train", "tiny.toml", *([] if "--run" in words else ["--run", "r"]), *words)
        self.addCleanup(process.kill)
        while not (line := process.stdout.readline()).startswith("run directory"):
            self.assertTrue(line, "the run ended early")
        return process

    def test_the_first_ends_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.started("--set", "train.epochs=100000", "--run", f"r{number}")
            process.stdout.readline()  # an epoch
            process.send_signal(number)
            out, error = process.communicate(timeout=60)
            self.assertEqual((process.returncode, error), (128 + number, ""))
            self.assertIn("interrupted", out)
            self.assertIn(f"yoke train --resume r{number}", out)
            self.assertTrue(os.path.exists(self.path(f"r{number}/last/model.safetensors")))

    def test_the_second_ends_at_once(self):
        # One step of this job takes seconds, and the first signal waits for its end.
        process = self.started("--set", "data.train_size=60000", "--set", "train.batch=60000", "--set", "model.widths=[4000, 4000]")
        time.sleep(1)  # before its first step a run obeys at once
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "the first signal did not wait for the step")
        began = time.time()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, error), (130, ""))
        self.assertLess(time.time() - began, 2)
        self.assertNotIn("interrupted", out)
        self.assertFalse(os.path.exists(self.path("r/last")))

    def test_a_resumed_run_goes_on_with_its_record(self):
        process = self.started("--set", "train.epochs=100000")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        done = int(self.read("r/metrics.jsonl").splitlines()[-1].split('"epochs":')[1].split(".")[0])
        self.good("train", "--resume", "r", "--set", f"train.epochs={done + 2}", "--quiet")
        epochs = [line for line in self.read("r/metrics.jsonl").splitlines() if '"event":"epoch"' in line]
        self.assertEqual(len(epochs), done + 2)


if __name__ == "__main__":
    unittest.main()
