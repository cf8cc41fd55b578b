"""yoke bench --growth: a table of teams and what keeps the largest back."""
import re
import subprocess
import tomllib
import unittest

from program import YOKE, ProgramTest


class GrowthTest(ProgramTest):
    def test_prints_a_row_a_team(self):
        lines = self.good("bench", "tiny.toml", "--growth", "--teams", "8,2", "--seconds", 0.2).out.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:5]], ["threads", "1", "2", "8"])
        self.assertTrue(any("8 threads lose" in line for line in lines))

    def test_json_is_one_object(self):
        (event,) = self.good("bench", "tiny.toml", "--growth", "--teams", "1,4", "--seconds", 0.2, "--json").events()
        self.assertEqual([point["threads"] for point in event["points"]], [1, 4])
        self.assertEqual(event["points"][0]["growth"], 1)
        for point in event["points"]:
            self.assertGreater(point["seconds"], point["alone"])
        self.assertIn("backward", {work["part"] for work in event["work"]})

    def test_writes_a_machine_that_plan_and_simulate_take(self):
        job = self.read("tiny.toml").replace("threads = 1\n", "")
        self.write("open.toml", job)
        options = ["--teams", "2,8", "--output", "8.toml", "--memory-nodes", 2, "--memory", 50, "--seconds", 0.3, "--set", "train.batch=64"]
        words = ["bench", "open.toml", "--growth", *options]
        (event,) = self.good(*words, "--json").events()
        self.assertEqual((event["event"], event["file"], event["threads"]), ("machine", "8.toml", 8))
        curve = tomllib.loads(self.read("8.toml"))["nodes"][0]["curve"]
        self.assertEqual(sorted(curve["growth"]), ["1", "2", "8"])
        self.assertIn("yoke " + " ".join(map(str, words)), self.read("8.toml"))
        self.assertEqual((curve["threads"], curve["memory_nodes"], curve["bytes_per_second"]), (8, 2, 50e9))
        self.assertAlmostEqual(event["growth"], curve["growth"]["8"], 2)
        plan = self.good("plan", "open.toml", "--cluster", "8.toml", "--json").events()[0]
        names = [one["name"] for one in plan["candidates"] if one["seconds_per_update"]]
        for name in ("single, f32", "split parts=8, f32", "4 replicas, single, allreduce, f32"):
            self.assertIn(name, names)
        self.good("simulate", "open.toml", "--cluster", "8.toml", "--times-only", "--steps", 20)

    def test_doctor_says_where_a_job_stops_growing(self):
        self.assertIn("threads", self.good("doctor", "tiny.toml").out)

    def test_every_kind_of_region_is_recorded(self):
        """What the compiler makes of a region or a loop must have a hook (src/measure/team_hooks.cc)."""
        names = subprocess.run(["nm", "-D", "--undefined-only", YOKE], capture_output=True, text=True, check=True).stdout
        unrecorded = re.findall(r"(?:GOMP_(?:parallel|loop|sections|single_copy)\w*|__kmpc_fork\w*)", names)
        self.assertEqual(set(unrecorded) - {"GOMP_loop_end_nowait"}, set())

    def test_mistakes(self):
        for words, sentence in ((("--teams", "2"), "--teams, --seconds and --output need --growth"),
                                (("--growth", "--memory", "9"), "--memory-nodes and --memory are of the machine that --output describes"),
                                (("--growth", "--output", "tiny.toml"), "tiny.toml"),
                                (("--growth", "--output", "m.toml", "--teams", "3", "--memory-nodes", "2"), "the 3 threads of the largest team"),
                                (("--growth", "--teams", "2,x"), "--teams: expected numbers of threads from 1 to 256, got 'x'"),
                                (("--growth", "--teams", "0"), "got '0'"),
                                (("--growth", "--rounds", "2"), "leave out --executors, --with, --rounds and --runs"),
                                (("--growth", "--seconds", "-1"), "--seconds: expected 0 to 86400, got -1")):
            with self.subTest(words=words):
                self.assertIn(sentence, self.yoke("bench", "tiny.toml", *words).error)


if __name__ == "__main__":
    unittest.main()
