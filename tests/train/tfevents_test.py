"""TensorBoard itself reads the event file of a run, also of a resumed one."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from program import ProgramTest  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from packages import PYTHON  # noqa: E402

READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = EventAccumulator(sys.argv[1]).Reload()
print(json.dumps({tag: [[e.step, e.value] for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}))
"""


class TensorBoardTest(ProgramTest):
    def scalars(self, run):
        import json
        done = subprocess.run([PYTHON, "-c", READ, self.path(run)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return json.loads(done.stdout)

    def test_values_and_steps(self):
        epochs = [e for e in self.good("train", "tiny.toml", "--run", "r", "--json").events() if e["event"] == "epoch"]
        found = self.scalars("r")
        for tag, values in (("loss/train", [e["train"]["loss"] for e in epochs]), ("loss/test", [e["test"]["loss"] for e in epochs]),
                            ("accuracy/test", [e["test"]["accuracy"] for e in epochs]),
                            ("learning_rate", [e["learning_rate"] for e in epochs])):
            self.assertEqual([step for step, _ in found[tag]], [e["step"] for e in epochs])
            for (_, got), value in zip(found[tag], values):
                self.assertAlmostEqual(got, value, places=5)

    def test_devices(self):
        events = self.good("train", "tiny.toml", "--run", "r", "--json", "--executor", "hogbatch",
                           "--set", 'node.devices=["cpu", "emulated:0"]').events()
        nodes = [e["node"] for e in events if e["event"] == "epoch"]
        found = self.scalars("r")
        for metric in ("examples", "updates", "busy", "staleness", "most_stale"):
            for device in ("cpu", "emulated:0"):
                for (_, got), node in zip(found[f"node/{metric}/{device}"], nodes, strict=True):
                    self.assertAlmostEqual(got, node[metric][device], places=5)

    def test_a_resumed_run_is_one_curve(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        self.good("train", "--resume", "r", "--set", "train.epochs=3", "--quiet")
        steps = [step for step, _ in self.scalars("r")["loss/test"]]
        self.assertEqual(steps, [10, 20, 30])


if __name__ == "__main__":
    unittest.main()
