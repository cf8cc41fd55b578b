"""SIGKILL at random moments of a run on two devices, and of each resumption: it goes on, and every example and update is counted once."""
import json
import random
import threading
import time
import unittest

from program import ProgramTest

ROUND, ROUNDS = 100, 4  # examples, and in an epoch
JOB = f"""[data]
format = "synthetic-digits"
train_size = {ROUND * ROUNDS}
test_size = 40
[model]
name = "mlp"
widths = [16]
[train]
epochs = 100000
batch = 16
learning_rate = 0.01
[checkpoint]
every_steps = 1
keep = 2
[node]
threads = 2
devices = ["cpu", "emulated:0"]
hogbatch_round = {ROUND}
"""
KILLS = 10


class KillTest(ProgramTest):
    def killed(self, moments, *words):
        """Lets a run go on for some epochs and a part of one; returns the last epoch seen."""
        process = self.start("train", *words, "--json")
        hangs = threading.Timer(60, process.kill)
        hangs.start()
        self.addCleanup(hangs.cancel)
        self.addCleanup(process.kill)
        for _ in range(moments.randint(1, 4)):
            while '"event":"epoch"' not in (line := process.stdout.readline()):
                self.assertTrue(line, "the run ended early, or hung")
        time.sleep(moments.random() * 0.02)
        process.kill()
        process.communicate(timeout=60)
        return json.loads(line)["epoch"]

    def counted(self, node, epochs):
        self.assertEqual(sum(node["examples"].values()), epochs * ROUNDS * ROUND)

    def chain(self, executor, seed):
        """Killed again and again, then trained to its end."""
        moments, run = random.Random(seed), f"{executor}-{seed}"
        self.killed(moments, self.write("job.toml", JOB), "--run", run, "--executor", executor)
        for _ in range(KILLS - 1):
            epochs = self.killed(moments, "--resume", run) + 20
        end = self.good("train", "--resume", run, "--json", "--set", f"train.epochs={epochs}").events()[-1]
        self.counted(end["node"], epochs)
        lines = map(json.loads, self.read(f"{run}/metrics.jsonl").splitlines())
        passed = [line for line in lines if line["event"] == "epoch"]
        self.assertEqual([event["epoch"] for event in passed], list(range(1, epochs + 1)))
        for event in passed:
            self.counted(event["node"], event["epoch"])
        self.balanced(f"{run}/checkpoints/{end['step'] - 1}")
        self.assertEqual(sum(end["node"]["updates"].values()), self.balanced(f"{run}/checkpoints/{end['step']}"))

    def balanced(self, checkpoint):
        """Its updates, which the devices' make up, as their examples do its steps."""
        kept = json.loads(self.read(f"{checkpoint}/checkpoint.json"))
        devices = kept["executor"]["devices"].values()
        self.assertEqual(sum(device["examples"] for device in devices), kept["position"]["step"] * ROUND)
        self.assertEqual(sum(device["updates"] for device in devices), kept["rule_steps"])
        return kept["rule_steps"]

    def test_hogbatch(self):
        self.chain("hogbatch", 1)

    def test_adaptive_hogbatch(self):
        self.chain("adaptive_hogbatch", 2)


if __name__ == "__main__":
    unittest.main()
