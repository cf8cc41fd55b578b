"""yoke simulate --profile: the file that it writes is one that `yoke simulate --cluster` takes."""
import os
import unittest

import launchers
from program import ProgramTest


class ProfileTest(ProgramTest):
    def profile(self, *words):
        events = self.good("simulate", "tiny.toml", "--profile", "this.toml", "--json", *words).events()
        self.assertEqual([event["event"] for event in events], ["profile"])
        return events[0]

    def simulated(self, *words):
        events = self.good("simulate", "tiny.toml", "--cluster", "this.toml", "--run", f"run-{len(os.listdir(self.folder))}",
                           "--json", *words).events()
        self.assertEqual(events[-1]["reason"], "finished")
        return events[0], events[-1]

    def test_one_process(self):
        found = self.profile()
        self.assertEqual((found["file"], found["batch"], found["ranks"], found["threads"]), ("this.toml", 32, 1, 1))
        self.assertEqual(list(found["seconds_per_step"]), ["8", "16", "32", "64", "128"])
        self.assertEqual(found["seconds_per_step"]["32"], found["step_seconds"])
        self.assertGreater(found["step_seconds"], found["update_seconds"])
        self.assertEqual(found["network"], "assumed")
        text = self.read("this.toml")
        for word in ("yoke simulate tiny.toml --profile this.toml", found["cpu"], "batch 128:", "assumed: edit it"):
            self.assertIn(word, text)
        start, end = self.simulated()
        self.assertEqual(start["world"], 1)
        # What the file states, as virtual time: 2 epochs of 9 whole steps and a smaller one.
        self.assertGreater(end["virtual_seconds"], 0.8 * 18 * found["step_seconds"])
        self.assertLess(end["virtual_seconds"], 1.25 * 20 * found["step_seconds"])

    def test_replicas_are_threads(self):
        self.write("this.toml", "an older one is replaced")
        found = self.profile("--replicas", 3)
        self.assertEqual((found["ranks"], found["network"]), (3, "measured"))
        self.assertGreater(found["latency"], 0)
        self.assertGreater(found["bytes_per_second"], 1e6)
        self.assertIn("yoke simulate tiny.toml --profile this.toml --replicas 3", self.read("this.toml"))
        self.assertEqual(self.simulated()[0]["world"], 3)

    def test_other_executors(self):
        for executor in ("hogwild", "split"):
            found = self.profile("--executor", executor)
            self.assertEqual(found["executor"], executor)
            self.assertGreater(self.simulated("--executor", executor)[1]["virtual_seconds"], 0)

    def test_a_sentence(self):
        result = self.good("simulate", "tiny.toml", "--profile", "this.toml")
        self.assertRegex(result.out, r"^this\.toml: a step of 32 examples takes \S+ ms on 1 thread of .*\n$")

    def test_under_a_launcher(self):
        name = min(launchers.needed_launchers())
        process = launchers.start(self, name, 2, "simulate", "tiny.toml", "--profile", "this.toml")
        out, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(len(out.splitlines()), 1, out)
        self.assertIn("a message between two of 2 replicas on 1 machine", out)
        self.assertEqual(self.simulated()[0]["world"], 2)
        refused = launchers.start(self, name, 2, "simulate", "tiny.toml", "--cluster", "this.toml")
        self.assertIn("run it without mpirun", refused.communicate(timeout=120)[1])
        self.assertEqual(refused.returncode, 2)

    def test_mistakes(self):
        for words, expected in ((["--cluster", "c.toml"], "leave out --cluster"), (["--steps", "5"], "leave out --steps"),
                                (["--run", "r"], "leave out --run"), (["--set", "train.batch=0"], "train.batch"),
                                (["--set", 'node.devices="emulated:0"'], "measures the CPU only, not emulated:0")):
            with self.subTest(words=words):
                result = self.yoke("simulate", "tiny.toml", "--profile", "this.toml", *words)
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
                self.assertIn(expected, result.error)
        result = self.yoke("simulate", "tiny.toml", "--profile", "absent/this.toml")
        self.assertEqual(result.code, 2, result.error)
        self.assertIn("absent/this.toml", result.error)
        self.assertFalse(os.path.exists(self.path("this.toml")))


if __name__ == "__main__":
    unittest.main()
