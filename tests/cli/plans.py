"""What the tests of plans and of keys that are auto share: described clusters, trainings, launchers, mistakes."""
import os

import launchers
from program import ProgramTest

CLUSTER = """[[nodes]]
count = 4
operations_per_second = 2e9
bytes_per_second = 5e9
[network]
latency = 2e-5
bytes_per_second = 1e6
"""

CHIP = """[[nodes]]
[nodes.curve]
title = "16"
source = "test"
operations_per_second = 1e9
bytes_per_second = 1e12
threads = 16
growth = { 1 = 1, 16 = 2 }
[network]
latency = 1e-6
bytes_per_second = 1e9
"""


class PlansTest(ProgramTest):
    def train(self, *words):
        """The first and the last event of a run, and its folder."""
        run = f"run-{len(os.listdir(self.folder))}"
        events = self.good("train", "tiny.toml", "--json", "--run", run, *words).events()
        self.assertEqual(events[-1]["event"], "end")
        return next(event for event in events if event["event"] == "start"), events[-1], run

    def launch(self, *words, ranks=2):
        """What the program prints as so many processes of a launcher."""
        done = launchers.run(self, min(launchers.needed_launchers()), ranks, *words)
        self.assertEqual((done.code, done.told), (0, []), done.error)
        return done.out

    def refuses(self, cases):
        """Each is words of the command line, and a part of the one sentence that they get."""
        for words, expected in cases:
            with self.subTest(words=words):
                result = self.yoke(*words)
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
                self.assertIn(expected, result.error)
