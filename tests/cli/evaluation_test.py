"""Evaluations by steps and on a sample, through the program: events, lines, what is resumed, simulated and refused."""
import json
import unittest

from program import ProgramTest

STEPS = ("--set", "train.evaluate_every={ steps = 4 }")
SAMPLE = ("--set", "train.evaluate_examples=20")
CLUSTER = """[[nodes]]
count = 2
operations_per_second = 2e9
bytes_per_second = 5e9
[network]
latency = 2e-5
bytes_per_second = 1.25e9
"""


class EvaluationTest(ProgramTest):
    def evaluations(self, result):
        return [event for event in result.events() if event["event"] == "evaluation"]

    def test_events_and_lines(self):
        events = self.good("train", "tiny.toml", "--run", "r", "--json", *STEPS, *SAMPLE).events()
        told = [event for event in events if event["event"] == "evaluation"]
        self.assertEqual([event["step"] for event in told], [4, 8, 12, 16, 20])  # 10 steps an epoch
        self.assertEqual([event["examples"] for event in told], [128, 256, 364, 492, 600])
        for event in told[:-1]:
            self.assertGreater(event["seconds"], event["training_seconds"])
            self.assertGreater(event["test"]["loss_error"], 0)
            self.assertIn("accuracy_error", event["test"])
        self.assertEqual(told[-1]["test"], events[-1]["test"])  # of all examples
        self.assertNotIn("accuracy_error", events[-1]["test"])
        with open(self.path("r/metrics.jsonl")) as lines:
            kept = [line for line in map(json.loads, lines) if line["event"] == "evaluation"]
        self.assertEqual([{key: line[key] for key in line if key != "time"} for line in kept], told)
        for text in (self.good("train", "tiny.toml", "--run", "t", *STEPS, *SAMPLE).out, self.read("t/log.txt")):
            self.assertRegex(text, r"step 12  epoch 1\.213/2  test loss [\d.]+ \+- [\d.]+  accuracy [\d.]+ \+- [\d.]+  [\d.]+ s of training")
        self.good("report", "r", "--output", "r.html")
        self.assertIn('"event":"evaluation"', self.read("r.html"))

    def test_a_resumed_run(self):
        whole = self.evaluations(self.good("train", "tiny.toml", "--run", "a", "--json", *STEPS, *SAMPLE))
        self.good("train", "tiny.toml", "--run", "b", "--set", "train.time_limit=1e-9s", *STEPS, *SAMPLE)  # one step
        rest = self.evaluations(self.good("train", "--resume", "b", "--json", "--set", "train.time_limit="))
        self.assertEqual([(event["step"], event["test"]) for event in rest], [(event["step"], event["test"]) for event in whole])
        with open(self.path("a/last/model.safetensors"), "rb") as a, open(self.path("b/last/model.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_replicas_and_a_simulation(self):
        replicas = self.good("train", "tiny.toml", "--run", "r", "--json", "--replicas", 2, *STEPS)
        self.assertEqual([event["step"] for event in self.evaluations(replicas)], [4, 8, 10])
        self.write("cluster.toml", CLUSTER)
        words = ("simulate", "tiny.toml", "--cluster", "cluster.toml", "--json")
        simulated = self.evaluations(self.good(*words, "--run", "s", *STEPS))
        self.assertEqual([event["step"] for event in simulated], [4, 8, 10])
        self.assertEqual([event["test"] for event in simulated], [event["test"] for event in self.evaluations(replicas)])
        for event in simulated:  # evaluations take no virtual time
            self.assertAlmostEqual(event["seconds"], event["training_seconds"])
        self.good(*words, "--run", "t", "--times-only", *STEPS)

    def test_what_is_refused(self):
        for setting, word in (("train.evaluate_every={ stps = 4 }", "steps"), ("train.evaluate_every={}", "steps"),
                              ("train.evaluate_examples=60", "has no effect"), ("train.evaluate_examples=1", "at least 2")):
            result = self.yoke("train", "tiny.toml", "--set", setting)
            self.assertEqual(result.code, 2, setting)
            self.assertIn(word, result.error)


if __name__ == "__main__":
    unittest.main()
