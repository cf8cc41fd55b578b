"""Signals: a stop ends a run in order, a second one ends it at once, and so does the first while data are read; a file that may not grow."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from program import YOKE, ProgramTest


class SignalsTest(ProgramTest):
    def started(self, *words):
        """A run that has begun to train."""
        process = self.start("train", "tiny.toml", *([] if "--run" in words else ["--run", "r"]), *words)
        self.addCleanup(process.kill)
        while not (line := process.stdout.readline()).startswith("run directory"):
            self.assertTrue(line, "the run ended early")
        return process

    def test_the_first_ends_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
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

    def test_nohup_stays(self):
        process = self.start("train", "tiny.toml", "--set", "train.epochs=100000", "--run", "r", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.addCleanup(process.kill)
        while not process.stdout.readline().startswith("epoch"):
            pass
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "SIGHUP was to be ignored")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)


class LoadingTest(ProgramTest):
    def reading(self, *words):
        """A run whose data come from a pipe that nobody writes to."""
        os.mkfifo(self.path("slow.csv"))
        job = self.read("tiny.toml").replace('format = "synthetic-digits"\ntrain_size = 300\ntest_size = 60', 'format = "csv"\ntrain = "slow.csv"')
        self.write("slow.toml", job)
        process = self.start("train", "slow.toml", "--run", "r", *words)
        self.addCleanup(process.kill)
        self.pipe = os.open(self.path("slow.csv"), os.O_WRONLY)  # waits for the reader
        self.addCleanup(os.close, self.pipe)
        os.write(self.pipe, b"1,2,0\n3,4,1\n")
        return process

    def test_a_signal_ends_it_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                process = self.reading()
                began = time.time()
                process.send_signal(number)
                out, error = process.communicate(timeout=60)
                self.assertLess(time.time() - began, 10)
                self.assertEqual((process.returncode, error), (128 + number, ""))
                self.assertIn("nothing was trained", out)
                self.assertFalse(os.path.exists(self.path("r")), "a run that has not begun leaves nothing")
                os.remove(self.path("slow.csv"))

    def test_it_is_told(self):
        process = self.reading("--json")
        event = json.loads(process.stdout.readline())
        self.assertEqual(event["event"], "loading")
        self.assertGreaterEqual(event["seconds"], 1)
        self.assertGreaterEqual(event["bytes"], 12)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(json.loads(out.splitlines()[-1])["event"], "message")


class FullTest(ProgramTest):
    def test_standard_output(self):
        for words in ([], ["--json"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([YOKE, "train", "tiny.toml", "--run", "r", *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"^yoke: cannot write standard output: No space left on device \(make room\); there is no checkpoint yet.*\n$")
                self.assertFalse(os.path.exists(self.path("r")), "a run that has not begun leaves nothing")

    def test_a_limit_on_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        process = self.start("train", "tiny.toml", "--run", "r", preexec_fn=limit)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, error)
        self.assertRegex(error, r"^yoke: cannot write \S*safetensors: .*ulimit -f unlimited.*\n$")


if __name__ == "__main__":
    unittest.main()
