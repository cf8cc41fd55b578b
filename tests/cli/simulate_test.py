"""yoke simulate: a cluster of a file in virtual time: the same twice, slower where the cluster is slower, its cost, its mistakes."""
import json
import os
import re
import unittest

from program import ProgramTest

CLUSTER = """[[nodes]]
count = 8
operations_per_second = 2e9
bytes_per_second = 5e9
[network]
latency = 2e-5
bytes_per_second = 1.25e9
"""


class SimulateTest(ProgramTest):
    def end(self, cluster, *words):
        """The end of tiny.toml on this cluster."""
        self.write("cluster.toml", cluster)
        name = f"run-{len(os.listdir(self.folder))}"
        events = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", name, "--json",
                           "--set", "train.batch=4", *words).events()
        self.assertEqual(events[0]["event"], "start")
        self.start = events[0]
        self.assertEqual(events[-1]["event"], "end")
        return events[-1]

    def test_the_same_twice(self):
        jitter = CLUSTER.replace("[network]", 'jitter = { kind = "exponential" }\n[network]')
        first, again = self.end(jitter), self.end(jitter)
        self.assertEqual(self.start["world"], 8)
        self.assertEqual(self.start["hardware"], "8 simulated nodes")
        self.assertGreater(first["virtual_seconds"], 0)
        self.assertEqual(first["virtual_seconds"], again["virtual_seconds"])
        self.assertEqual(first["test"], again["test"])
        self.assertNotEqual(first["virtual_seconds"], self.end(jitter, "--set", "train.seed=2")["virtual_seconds"])

    def test_what_makes_it_slower(self):
        flat = self.end(CLUSTER)
        self.assertNotIn("cost", flat)
        unlike = CLUSTER.replace("count = 8", "count = 7").replace("[network]", """[[nodes]]
operations_per_second = 2e8
bytes_per_second = 5e9
[network]""")
        slower = {"network": CLUSTER.replace("1.25e9", "1.25e6"),
                  "racks": CLUSTER + "racks = { nodes = 4, oversubscription = 400 }\n",
                  "regions": CLUSTER + "regions = { nodes = 4, latency = 0.05, bytes_per_second = 1e9 }\n",
                  "a slow node": unlike,
                  "stragglers": CLUSTER.replace("[network]", "slow = { fraction = 0.2, factor = 10 }\n[network]")}
        for name, cluster in slower.items():
            end = self.end(cluster)
            self.assertEqual(self.start["world"], 8)
            self.assertGreater(end["virtual_seconds"], 1.5 * flat["virtual_seconds"], name)
            self.assertEqual(end["test"], flat["test"], name)  # a synchronous run learns the same

    def test_steps(self):
        end = self.end(CLUSTER, "--steps", 3)
        self.assertEqual((end["step"], end["reason"], end["exit_status"]), (3, "step_limit", 0))
        self.assertIn("accuracy", end["test"])
        self.assertIn("weights are in", end["message"])
        end = self.end(CLUSTER, "--steps", 12)  # the second epoch's third
        self.assertEqual((end["step"], end["reason"]), (12, "step_limit"))
        self.assertEqual(self.end(CLUSTER, "--steps", 1000)["reason"], "finished")

    def test_every_strategy_and_executor_runs(self):
        for words in (["--strategy", "gossip_pull"], ["--strategy", "async_sgd"], ["--strategy", "easgd_sync3"],
                      ["--strategy", "local_sgd", "--executor", "hogwild"]):
            with self.subTest(words=words):
                self.assertGreater(self.end(CLUSTER, *words, "--steps", 10)["virtual_seconds"], 0)

    def test_the_cost(self):
        priced = CLUSTER.replace("[network]", "price_per_hour = 1.5\n[network]")
        end = self.end('title = "Eight rented ones"\n' + priced)
        self.assertEqual(self.start["hardware"], "8 simulated nodes: Eight rented ones")
        self.assertAlmostEqual(end["cost"], 8 * 1.5 / 3600 * end["virtual_seconds"], 12)
        result = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", "told")
        self.assertRegex(result.out, r"simulated time \S+ s(, \S+ s of it after the last step)?, cost \S+\n")
        self.assertRegex(result.out, r"\nfinished after \S+ epochs?\n", "one time, the cluster's")
        self.good("report", "told", end["run"], "--output", "two.html")
        for name in ("cost", "virtual_seconds"):
            self.assertEqual(self.read("two.html").count(f'"{name}":'), 2, name)

    def test_a_price_that_some_nodes_lack(self):
        some = CLUSTER.replace("count = 8", "count = 8\nprice_per_hour = 1.5").replace("[network]", "[[nodes]]\noperations_per_second = 2e9\n"
                                                                                      "bytes_per_second = 5e9\n[network]")
        self.write("some.toml", some)
        words = ["simulate", "tiny.toml", "--cluster", "some.toml", "--set", "train.batch=4", "--times-only"]
        result = self.good(*words, "--run", "some")
        self.assertIn("1 of 9 nodes have no price_per_hour: the cost is that of the others", result.out)
        self.assertRegex(result.out, "simulated time .*, cost ")
        self.assertEqual(self.good(*words, "--quiet").out, "")

    def test_a_servers_timeline_shows_what_it_sends(self):
        end = self.end(CLUSTER.replace("1.25e9", "1e6"), "--strategy", "async_sgd")
        with open(self.path(end["run"] + "/timeline.json"), encoding="utf-8") as file:
            timeline = json.load(file)
        server = timeline["lanes"][0]
        window = timeline["to"] - timeline["from"]
        sends = dict(zip(server["sending"][::2], server["sending"][1::2]))
        sent = sum(min(to, window) - begin for begin, to in sends.items())
        self.assertGreater(server["fractions"]["sending"], 0.9)
        self.assertGreater(sent, 0.9 * window)

    def test_the_timeline(self):
        for words, steps in ((["--steps", 4], 4), ([], 7)):
            end = self.end(CLUSTER, *words)
            with open(self.path(end["run"] + "/timeline.json"), encoding="utf-8") as file:
                timeline = json.load(file)
            self.assertEqual([lane["rank"] for lane in timeline["lanes"]], list(range(8)))
            self.assertLess(timeline["from"], timeline["to"])
            self.assertLessEqual(timeline["to"], timeline["seconds"])
            self.assertGreater(timeline["fractions"]["computing"]["minimum"], 0)
            self.assertEqual(max(len(lane["steps"]) for lane in timeline["lanes"]), steps)
            self.good("report", end["run"], "--output", "timeline.html")
            page = self.read("timeline.html")
            self.assertIn(json.dumps(timeline["lanes"][0]["steps"]).replace(" ", ""), page)

    def test_a_slow_network(self):
        """No rank is lost because messages take longer than cluster.timeout."""
        speed, nodes, values = 500, 8, 4 * (784 * 16 + 16 + 16 * 10 + 10)
        slow = CLUSTER.replace("1.25e9", str(speed))
        pushes = self.end(slow, "--strategy", "gossip_push", "--steps", 15 * nodes, "--times-only")
        self.assertEqual((pushes["step"], pushes["reason"]), (15 * nodes, "step_limit"))
        least = pushes["exchange"]["bytes"] / nodes / speed  # all links are busy all the time
        seconds = pushes["exchange"]["step_seconds"] + pushes["exchange"]["meeting_seconds"]
        self.assertGreater(least, 15 * values / speed)
        self.assertGreater(seconds, least)
        self.assertLess(seconds, 2.5 * least)
        for words in ([], ["--times-only"]):
            served = self.end(slow, "--strategy", "async_sgd", "--set", "cluster.servers=1", "--steps", 40, *words)
            self.assertEqual((served["step"], served["reason"]), (40, "step_limit"))
            # The server's link carries an answer for each step; the model is also sent at the beginning and the end.
            self.assertGreater(served["virtual_seconds"], 40 * values / speed)
            self.assertLess(served["virtual_seconds"], 70 * values / speed)
            result = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--strategy", "async_sgd",
                               "--set", "cluster.servers=1", "--set", "train.batch=4", "--steps", 40, *words)
            self.assertRegex(result.out, r"a rank waited \d+(\.\d+)? virtual seconds for another: on real nodes set cluster.timeout, now 60 s")
            self.assertNotIn("cluster.timeout", self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--strategy", "async_sgd",
                                                          "--set", "cluster.timeout=1e6", "--set", "train.batch=4", "--steps", 40, *words).out)

    def test_no_queue_grows(self):
        many = CLUSTER.replace("count = 8", "count = 200").replace("1.25e9", "1e4")
        few, more = (self.end(many, "--strategy", "gossip_push", "--times-only", "--steps", 200 * each)["memory"]["peak"] for each in (20, 140))
        self.assertLess(more, few + 2e7)

    def test_failures(self):
        whole = self.end(CLUSTER)
        failing = CLUSTER + """[failures]
at = [{ node = 5, seconds = 0 }, { node = 0, seconds = %g }]
detection = 0.5
restart = 2
""" % (2.5 + 0.4 * whole["virtual_seconds"])
        end, again = self.end(failing), self.end(failing)
        self.assertEqual((end["reason"], end["epochs"], end["lost"]), ("finished", whole["epochs"], 2))
        self.assertEqual(self.start["world"], 7)
        self.assertGreater(end["virtual_seconds"], whole["virtual_seconds"] + 5)
        self.assertEqual(end["virtual_seconds"], again["virtual_seconds"])
        self.assertEqual(end["test"], again["test"])
        result = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", "lossy", "--set", "train.batch=4")
        self.assertIn("rank 5 of 8 is lost before the first step: 7 continue from step 0", result.out)
        self.assertRegex(result.out, "rank 0 of 7 is lost: 6 continue from step [1-9]")
        self.assertRegex(result.out, r"simulated time \S+ s(, \S+ s of it after the last step)?, 2 nodes lost\n")
        restart = failing + 'recovery = "restart"\nreplacement = 60\ncheckpoint_bytes_per_second = 1e6\n'
        end = self.end(restart, "--set", "checkpoint.every_steps=2")
        self.assertEqual((end["epochs"], end["step"], end["lost"]), (whole["epochs"], whole["step"], 2))
        self.assertEqual(end["test"], whole["test"])  # the same steps as without failures
        self.assertGreater(end["virtual_seconds"], whole["virtual_seconds"] + 2 * 62.5)
        self.write("dead.toml", failing.replace("at = ", "mean_time_between = 1e-4\nat = "))
        result = self.yoke("simulate", "tiny.toml", "--cluster", "dead.toml", "--set", "train.batch=4")
        self.assertEqual(result.code, 1, result.error)
        self.assertIn("no node of the simulated cluster is left: all 8 have died", result.error)

    def test_times_only(self):
        words = ["--steps", 6, "--set", "train.learning_rate=0.01"]
        real, times = self.end(CLUSTER, *words), self.end(CLUSTER, *words, "--times-only")
        self.assertEqual(self.start["hardware"], "8 simulated nodes, times only")
        self.assertAlmostEqual(times["exchange"]["step_seconds"] / real["exchange"]["step_seconds"], 1, delta=0.05)
        self.assertEqual((times["step"], times["reason"], times["exit_status"], times["test"]), (6, "step_limit", 0, {}))
        self.assertAlmostEqual(times["exchange"]["bytes"] / real["exchange"]["bytes"], 1, 2)
        self.assertFalse(os.path.exists(self.path(times["run"] + "/last")))
        self.good("report", times["run"], "--output", "times.html")
        self.assertIn(f'"epochs":{times["epochs"]:.3g}', self.read("times.html"))
        # More nodes than examples; a collective is one event there.
        many = self.end(CLUSTER.replace("count = 8", "count = 3000"), "--times-only", "--steps", 4)
        self.assertEqual(self.start["world"], 3000)
        again = self.end(CLUSTER.replace("count = 8", "count = 3000"), "--times-only", "--steps", 4)
        self.assertEqual(many["virtual_seconds"], again["virtual_seconds"])
        self.assertGreater(many["virtual_seconds"], times["virtual_seconds"] * 4 / 6)
        for words, expected in ((["--executor", "hogwild", "--strategy", "local_sgd"], "--times-only needs executor single"),
                                (["--set", "model.name=xmc"], "")):
            result = self.yoke("simulate", "tiny.toml", "--cluster", "cluster.toml", "--times-only", *words)
            self.assertEqual(result.code, 2, result.error)
            self.assertIn(expected, result.error)

    def test_mistakes(self):
        self.write("cluster.toml", CLUSTER)
        self.write("bad.toml", CLUSTER.replace("latency", "latncy"))
        for words, expected in (([], ["job file"]),
                                (["tiny.toml"], ["--cluster FILE"]),
                                (["tiny.toml", "--cluster", "absent.toml"], ["absent.toml"]),
                                (["tiny.toml", "--cluster", "bad.toml"],
                                 ["bad.toml:6", "network.latncy", "did you mean 'latency'?"]),
                                (["tiny.toml", "--cluster", "cluster.toml", "--replicas", "4"],
                                 ["--replicas: cluster.toml describes 8 replicas"]),
                                (["tiny.toml", "--cluster", "cluster.toml", "--steps", "0"], ["--steps"]),
                                (["tiny.toml", "--cluster", "cluster.toml", "--strategy", "gosip_pull"],
                                 ["did you mean 'gossip_pull'?"])):
            with self.subTest(words=words):
                result = self.yoke("simulate", *words)
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
                for word in expected:
                    self.assertIn(word, result.error)
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")


if __name__ == "__main__":
    unittest.main()
