"""A job that waits for its data says so, in its lines and in the report."""
import json
import pathlib
import unittest

from program import ProgramTest, png

JOB = """[data]
format = "image-folder"
train = "images"
test_share = 0.1
[model]
name = "linear"
[train]
epochs = 3
batch = 8
"""


class ReadingTest(ProgramTest):
    def test_waiting_is_told(self):
        for i in range(80):
            folder = pathlib.Path(self.path(f"images/{'ab'[i % 2]}"))
            folder.mkdir(parents=True, exist_ok=True)
            folder.joinpath(f"{i}.png").write_bytes(png(i, 256))
        self.write("job.toml", JOB)
        lines = self.good("train", "job.toml", "--run", "r").out.splitlines()
        self.assertRegex([line for line in lines if line.startswith("epoch ")][-1], r", \d+ % waiting for data$")
        with open(self.path("r/metrics.jsonl")) as file:
            epochs = [event for event in map(json.loads, file) if event["event"] == "epoch"]
        self.assertGreater(epochs[-1]["data"]["waiting"], 0.1)
        self.good("report", "r", "-o", "page.html")


if __name__ == "__main__":
    unittest.main()
