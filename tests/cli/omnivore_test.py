"""Omnivore's optimizer as a planner: in a simulated run that it pauses, as a plan, and its mistakes."""
import unittest

from plans import CLUSTER
from program import ProgramTest

FAST_NETWORK = CLUSTER.replace("bytes_per_second = 1e6", "bytes_per_second = 1.25e9")
OPEN = ("--set", "cluster.strategy=auto", "--set", "train.planner=omnivore")


class OmnivoreTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cluster.toml", FAST_NETWORK)

    def simulate(self, *words):
        return self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", "run", "--json", *words)

    def mistake(self, sentence, *words):
        result = self.yoke(*words)
        self.assertEqual(result.code, 2, result.error)
        self.assertIn(sentence, result.error)

    def test_a_run_that_pauses(self):
        events = self.simulate(*OPEN, "--set", "train.epochs=100", "--set", "train.optimizer_epoch=0.1s").events()
        end = events[-1]
        self.assertEqual((end["reason"], end["epochs"]), ("finished", 100))
        choices = [event for event in events if event["event"] == "message" and "is the best of those that were tried" in str(event)]
        self.assertGreaterEqual(len(choices), 2)
        job = self.read("run/job.toml")
        self.assertIn('strategy = "compute_groups"', job)
        self.assertIn('form = "paper"', job)
        self.assertIn("compute_groups groups=", self.read("run/plan.toml"))

    def test_a_plan(self):
        plan = self.good("plan", "tiny.toml", "--replicas", "2", "--method", "omnivore", "--trial-seconds", "3", "--json").events()[-1]
        self.assertGreaterEqual(len(plan["candidates"]), 8)
        self.assertEqual({one["strategy"] for one in plan["candidates"]}, {"compute_groups"})
        self.assertEqual(plan["candidates"][plan["chosen"]]["keys"]["cluster.form"], "paper")

    def test_what_does_not_go_together(self):
        self.mistake("leave out --times-only", "simulate", "tiny.toml", "--cluster", "cluster.toml", "--times-only", *OPEN)
        self.mistake("expected momentum or nesterov", "simulate", "tiny.toml", "--cluster", "cluster.toml", *OPEN, "--set", "train.rule=adam")
        self.mistake('set cluster.strategy = "auto"', "simulate", "tiny.toml", "--cluster", "cluster.toml", "--set", "train.planner=omnivore",
                     "--set", "train.learning_rate=auto")
        self.mistake("leave out --only", "plan", "tiny.toml", "--method", "omnivore", "--only", "allreduce")
        self.mistake("expected yoke or omnivore", "plan", "tiny.toml", "--method", "both")
        events = self.simulate("--set", "train.planner=omnivore").events()
        self.assertIn("train.planner has no effect", str(events))


if __name__ == "__main__":
    unittest.main()
