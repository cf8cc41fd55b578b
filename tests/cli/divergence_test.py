"""Runs that diverge, alone and with replicas that keep weights of their own: what is named good is good, and training goes on from it."""
import json
import math
import os
import random
import unittest

import launchers
from checkpoint_files import change_header, multiply
from program import ProgramTest

PLACES = ((), ("--replicas", 2, "--strategy", "easgd_sync3"), ("--replicas", 2, "--strategy", "easgd_async"))
LABELS = '[data]\nformat = "xmc"\ntrain = "x.txt"\ntest = "x.txt"\n[model]\nname = "mlp"\nwidths = []\n[train]\nepochs = 2\nbatch = 8\nlearning_rate = %s\n[node]\nthreads = 1\n'
EACH_STEP = ("--set", "checkpoint.every_steps=1")


class DivergenceTest(ProgramTest):
    def diverged(self, run, *words):
        """Trains and diverges; returns the sentence."""
        result = self.yoke("train", *words, "--quiet")
        self.assertEqual(result.code, 3, result.error)
        self.assertRegex(result.error, r"\Ayoke: the (loss|weights) became [^\n]*\n\Z")
        summary = json.loads(self.read(f"{run}/summary.json"))
        self.assertEqual((summary["reason"], summary["exit_status"]), ("diverged", 3))
        self.assertEqual("yoke: " + summary["message"] + "\n", result.error)
        self.good("report", run, "--output", f"{run}.html")
        self.assertIn("diverged", self.read(f"{run}.html"))
        return result.error

    def loss(self, *words):
        (event,) = self.good("eval", *words, "--json").events()
        return event["metrics"]["loss"]

    def test_from_the_beginning(self):
        for place in PLACES:
            for rate in ("1e3", "1e30"):  # the loss explodes, or becomes nan
                with self.subTest(place=place, rate=rate):
                    run = "-".join(map(str, ("r", rate, *place[3:])))
                    error = self.diverged(run, "tiny.toml", "--run", run, *place, *EACH_STEP, "--set", f"train.learning_rate={rate}")
                    self.assertRegex(error, r"; (no checkpoint is good: --resume starts from the beginning|the last good checkpoint is \S+/last \(step \d+\))$|\(train.schedule\)$")
                    self.good("train", "--resume", run, "--quiet", "--set", "train.learning_rate=0.02")
                    self.assertLess(self.loss(run), 3)

    def test_processes_tell_it_once(self):
        for launcher in launchers.needed_launchers():
            with self.subTest(launcher):
                done = launchers.run(self, launcher, 2, "train", "tiny.toml", "--run", launcher, "--strategy", "easgd_sync3", "--set", "train.learning_rate=1e30")
                self.assertEqual((done.code, len(done.told)), (3, 1), done.error)
                self.assertIn("train.learning_rate", done.told[0])

    def test_after_good_epochs(self):
        for place in PLACES:
            with self.subTest(place=place):
                run = "-".join(("r", *place[3:]))
                self.good("train", "tiny.toml", "--run", run, *place, "--quiet")
                step, loss = os.path.basename(os.path.realpath(self.path(run + "/last"))), self.loss(run)
                error = self.diverged(run, "--resume", run, *EACH_STEP, "--set", "train.epochs=4", "--set", "train.learning_rate=1e12")
                self.assertIn(f"; the last good checkpoint is {run}/last (step {step})\n", error)
                self.assertEqual(self.loss(run), loss)
                self.good("train", "--resume", run, "--quiet", "--set", "train.learning_rate=0.02")
                self.assertLess(self.loss(run), loss + 0.5)

    def test_large_scores_give_no_loss_below_0(self):
        draw = random.Random(1)
        labels, features = ",".join(map(str, range(10))), range(20)  # all examples have the same labels, so all is learned at once
        self.write("x.txt", "64 20 20\n" + "".join(f"{labels} " + " ".join(f"{f}:{draw.random():.3f}" for f in features) + "\n" for _ in range(64)))
        for place in PLACES:
            for rate in ("1e3", "1e15"):
                with self.subTest(place=place, rate=rate):
                    self.write("x.toml", LABELS % rate)
                    run = "-".join(map(str, ("x", rate, *place[3:])))
                    lines = self.good("train", "x.toml", "--run", run, *place, "--json").events()
                    losses = [line[part]["loss"] for line in lines if line["event"] == "epoch" for part in ("train", "test")]
                    self.assertTrue(all(loss >= 0 for loss in losses), losses)
                    self.assertGreaterEqual(self.loss(run), 0)

    def as_of_old(self, folder):
        """The checkpoint's header as an earlier version would have written it."""
        def change(header):
            header["test"] = {}
            del header["position"]["untrained_loss"], header["position"]["best_evaluation"]

        change_header(self.path(folder), change)

    def test_ruined_checkpoints_of_earlier_versions_are_not_resumed(self):
        for place, file, whose in ((PLACES[0], "model", "its weights"), (PLACES[2], "replica-1", "replica 1")):
            with self.subTest(whose=whose):
                run = file
                self.good("train", "tiny.toml", "--run", run, *place, "--quiet")
                last = os.path.realpath(self.path(run + "/last"))
                self.as_of_old(run + "/last")
                multiply(last, file + ".safetensors", 1e8)
                result = self.yoke("train", "--resume", run, "--set", "train.epochs=4")
                self.assertEqual(result.code, 2, result.out)
                self.assertRegex(result.error, rf"\Ayoke: {run}/checkpoints/\d+ is ruined: the loss of {whose} is \S+ on training examples, 2\.\d+ before training; to use the checkpoint before it, rename that folder and resume again\n\Z")
                os.rename(last, last + "-ruined")
                self.good("train", "--resume", run, "--quiet")
                self.assertTrue(math.isfinite(self.loss(run)))

    def test_good_checkpoints_of_earlier_versions_are_resumed(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        self.as_of_old("r/last")
        self.good("train", "--resume", "r", "--set", "train.epochs=3", "--quiet")


if __name__ == "__main__":
    unittest.main()
