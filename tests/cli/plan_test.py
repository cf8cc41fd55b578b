"""yoke plan: what it prints and writes, training with its file, under a launcher, and mistakes."""
import os
import signal
import time
import tomllib
import unittest

from plans import CHIP, CLUSTER, PlansTest
from program import TINY


class PlanTest(PlansTest):
    def plan(self, *words, candidates=None):
        """The plan of tiny.toml, as an object; its candidates all have a reason but the chosen one."""
        events = self.good("plan", "tiny.toml", "--json", *words).events()
        self.assertEqual([event["event"] for event in events], ["plan"])
        plan = events[0]
        for number, one in enumerate(plan["candidates"]):
            self.assertEqual(sorted(one), sorted(["name", "keys", "executor", "strategy", "precision", "seconds_per_update", "updates", "seconds",
                                                  "measured", "trial_loss", "dropped"]))
            if number == plan["chosen"]:
                self.assertIsNone(one["dropped"])
            else:
                self.assertGreater(len(one["dropped"]), 10, one)
        return plan

    def test_a_plan_and_training_with_it(self):
        plan = self.plan("--output", "plan.toml", "--trial-seconds", 2, "--without", "bf16")
        chosen = plan["candidates"][plan["chosen"]]
        self.assertGreater(plan["noise_scale"], 0)
        self.assertEqual(plan["machine"], "1 replica of 1 thread")
        for key in ("seconds_per_update", "updates", "seconds", "measured", "trial_loss"):
            self.assertGreater(chosen[key], 0, key)
        self.assertAlmostEqual(chosen["seconds"], chosen["seconds_per_update"] * chosen["updates"])
        self.assertEqual({one["precision"] for one in plan["candidates"] if one["measured"]}, {"f32"})
        text = self.read("plan.toml")
        self.assertTrue(text.startswith("# Written by: yoke plan tiny.toml"), text)
        self.assertIn(f'chosen = "{chosen["name"]}"', text)
        start, end, _ = self.train("--plan", "plan.toml")
        self.assertEqual((start["executor"], end["reason"]), (chosen["executor"], "finished"))
        self.write("plan.toml", '[use.node]\nexecutor = "hogbatch"\n')
        self.assertEqual(self.train("--plan", "plan.toml")[0]["executor"], "hogbatch")
        self.assertEqual(self.train("--plan", "plan.toml", "--executor", "split")[0]["executor"], "split")

    def test_a_cluster_without_a_title(self):
        self.write("rack.toml", CLUSTER)
        self.assertRegex(self.good("plan", "tiny.toml", "--cluster", "rack.toml", "--only", "allreduce").out, r"planned for rack\.toml in \S+ ")
        self.write("rack.toml", 'title = "Ours"\n' + CLUSTER)
        self.assertIn("planned for Ours in ", self.good("plan", "tiny.toml", "--cluster", "rack.toml", "--only", "allreduce").out)

    def test_divisions_of_the_cores(self):
        """On two cores at least: parts and replicas are compared, and what is chosen trains."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        self.write("tiny.toml", TINY.replace("threads = 1\n", ""))
        words = ["--trial-seconds", 0.5]
        names = {one["name"]: one for one in self.plan(*words, "--without", "bf16")["candidates"]}
        for name in ("single, f32", "split parts=2, f32", "2 replicas, single, allreduce, f32"):
            self.assertGreater(names[name]["seconds_per_update"], 0, name)
        self.assertEqual(names["2 replicas, single, allreduce, f32"]["keys"]["cluster.replicas"], "2")
        without = self.plan(*words, "--without", "bf16,replicas")["candidates"]
        self.assertEqual({one["dropped"] for one in without if "2 replicas, single, allreduce, f32" == one["name"]},
                         {"replicas are left out by the caller"})
        own = self.plan(*words, "--without", "bf16", "--replicas", 1)["candidates"]  # the job says it
        self.assertNotIn("2 replicas, single, allreduce, f32", [one["name"] for one in own])
        self.plan(*words, "--only", "replicas", "--output", "plan.toml")
        use = tomllib.loads(self.read("plan.toml"))["use"]
        self.assertEqual(use["cluster"]["replicas"] * use["train"]["batch"], 32)
        start, end, _ = self.train("--plan", "plan.toml")
        self.assertEqual((start["world"], end["reason"]), (use["cluster"]["replicas"], "finished"))
        self.plan(*words, "--only", "parts", "--output", "plan.toml")
        self.assertEqual(self.train("--plan", "plan.toml")[0]["executor"], "split")

    def test_replicas_of_a_described_machine(self):
        """A plan that divides it is simulated on it; a job that says one replica keeps it."""
        self.write("chip.toml", CHIP)
        self.write("tiny.toml", TINY.replace("threads = 1\n", ""))
        self.plan("--cluster", "chip.toml", "--only", "replicas", "--output", "plan.toml")
        replicas = tomllib.loads(self.read("plan.toml"))["use"]["cluster"]["replicas"]
        self.assertGreater(replicas, 1)
        words = ["simulate", "tiny.toml", "--cluster", "chip.toml"]
        start = self.good(*words, "--plan", "plan.toml", "--times-only", "--steps", 5, "--json").events()[0]
        self.assertEqual(start["world"], replicas)
        self.assertIn("chip.toml describes 1 replica; leave it out", self.yoke(*words, "--replicas", 3).error)
        one = self.plan("--cluster", "chip.toml", "--replicas", 1)
        self.assertFalse([each["name"] for each in one["candidates"] if "replicas" in each["name"]])

    def test_replicas_by_prediction(self):
        result = self.good("plan", "tiny.toml", "--replicas", 2, "--trial-seconds", 0, "--only", "single,allreduce,local_sgd,f32")
        self.assertRegex(result.out, r"single, allreduce, f32 +\S+ +- ")
        self.assertIn("chosen", result.out)
        self.assertIn("predicted only", result.out)
        self.assertIn("planned for 2 replicas of 1 thread", result.out)

    def test_a_cluster(self):
        self.write("cluster.toml", 'title = "Four"\n' + CLUSTER)
        first, again = (self.plan("--cluster", "cluster.toml", "--only", "single", "--set", "data.train_size=3000") for _ in range(2))
        chosen = first["candidates"][first["chosen"]]
        self.assertNotEqual(chosen["strategy"], "allreduce")  # the network is slow
        self.assertEqual(first["machine"], "Four")
        self.assertIsNone(chosen["measured"])
        self.assertEqual(first["candidates"], again["candidates"])

    def test_a_plan_under_a_launcher(self):
        out = self.launch("plan", "tiny.toml", "--output", "plan.toml", "--only", "single,allreduce,easgd_sync3,f32", "--trial-seconds", 2)
        self.assertEqual(out.count("planned for 2 replicas"), 1, out)
        self.assertRegex(out, r"easgd_sync3.*: loss \S+ after")
        self.assertIn("[use]", self.read("plan.toml"))
        self.launch("train", "tiny.toml", "--plan", "plan.toml", "--run", "planned")

    def test_a_stop_ends_measuring_at_once(self):
        os.mkdir(self.path("temporary"))
        process = self.start("plan", "tiny.toml", "--output", "plan.toml", "--set", "node.devices=[\"cpu\",\"emulated:0\"]",
                             env=dict(os.environ, TMPDIR=self.path("temporary")))
        while "measuring" not in process.stdout.readline():
            pass
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, 1.5)
        self.assertEqual((process.returncode, error), (143, ""))
        self.assertEqual((os.listdir(self.path("temporary")), sorted(os.listdir(self.folder))), ([], ["temporary", "tiny.toml"]))

    def test_mistakes(self):
        self.write("bad.toml", "[use]\nexecutor = \"single\"\n")
        self.write("cluster.toml", CLUSTER)
        self.refuses(((["plan"], "needs a job file"),
                      (["plan", "absent.toml"], "absent.toml"),
                      (["plan", "tiny.toml", "--without", "hogwld"], "did you mean 'hogwild'?"),
                      (["plan", "tiny.toml", "--only", "singel"], "did you mean 'single'?"),
                      (["plan", "tiny.toml", "--without", "f32,bf16"], "no candidate is left"),
                      (["plan", "tiny.toml", "--output", "absent/plan.toml"], "absent/plan.toml"),
                      (["plan", "tiny.toml", "--trial-seconds", -1], "--trial-seconds"),
                      (["plan", "tiny.toml", "--trial-seconds", "nan"], "--trial-seconds: expected seconds from 0"),
                      (["plan", "tiny.toml", "--cluster", "cluster.toml", "--replicas", 3], "describes 4 replicas"),
                      (["train", "tiny.toml", "--plan", "absent.toml"], "absent.toml"),
                      (["train", "tiny.toml", "--plan", "bad.toml"], "bad.toml:2: use.executor")))


if __name__ == "__main__":
    unittest.main()
