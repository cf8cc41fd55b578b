"""yoke doctor --network: over threads, and under each MPI's launcher that this build has a library for.

guards: src/comm src/cli/doctor (40 s)"""
import json
import os
import re
import signal
import unittest

from launchers import finish, needed_launchers, run, start
from program import YOKE, ProgramTest


class NetworkTest(ProgramTest):
    def test_threads_are_measured_and_the_tables_printed(self):
        done = self.yoke("doctor", "--network", "--replicas", 3)
        self.assertEqual(done.code, 0, done.error)
        for words in ("3 ranks, threads of one process", "1 - 2", "all-reduce, halving", "->"):
            self.assertIn(words, done.out)

    def test_json_holds_every_number(self):
        [event] = self.yoke("doctor", "--network", "--json").events()
        self.assertEqual(event["event"], "doctor")
        network = event["network"]
        self.assertEqual(network["ranks"], 2)
        self.assertGreater(network["pairs"][0]["latency"], 0)
        self.assertGreater(max(one["bus_bandwidth"] for one in network["collectives"]), 0)

    def test_processes_of_each_launcher_are_one_world(self):
        for launcher in needed_launchers():
            with self.subTest(launcher):
                done = run(self, launcher, 3, "doctor", "--network", "--json")
                self.assertEqual(done.code, 0, done.error)
                [line] = done.out.splitlines()  # rank 0's alone
                self.assertEqual(json.loads(line)["network"]["ranks"], 3)

    def test_a_mistake_of_one_rank_is_told_once_and_ends_all(self):
        for launcher in needed_launchers():
            with self.subTest(launcher):
                done = run(self, launcher, 2, "doctor", "--network", RANK_1="--wrong")
                self.assertEqual(done.code, 2, done.error)
                self.assertEqual(done.error.count("yoke: rank 1: unknown option '--wrong'"), 1, done.error)

    def test_a_launcher_without_its_library_is_told_so(self):
        for launcher in needed_launchers():
            with self.subTest(launcher):
                done = run(self, launcher, 2, "doctor", "--network", YOKE_MPI_LIBRARIES=self.folder)
                self.assertEqual(done.code, 2, done.error)
                self.assertIn("built without the library for it", done.error)

    def test_a_stopped_rank_is_named_within_the_timeout(self):
        words = ["doctor", "--network", "--timeout", "1"]
        for launcher in needed_launchers():
            with self.subTest(launcher):
                process = start(self, launcher, 3, *words, COMMAND_1=f"echo $$ > victim; exec {YOKE} {' '.join(words)}")
                self.assertIn("3 ranks", process.stdout.readline())  # now they measure, for more than a second
                os.kill(int(self.read("victim")), signal.SIGSTOP)
                done = finish(process)
                self.assertNotEqual(done.code, 0)
                [waited] = re.findall(r"yoke: rank [02] waited ([0-9.]+) s for rank \d", done.error)
                self.assertGreater(float(waited), 0.5)  # who sees another give up first has waited a little less
                self.assertLess(float(waited), 2)
                self.assertEqual(done.error.count("yoke: "), 1, done.error)
                self.assertLess(done.seconds, 20)


if __name__ == "__main__":
    unittest.main()
