"""auto: what it chooses and says inside training, under simulate and under a launcher, and how it stops."""
import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import time
import tomllib
import unittest

import launchers
from plans import CHIP, CLUSTER, PlansTest
from program import TINY, YOKE


class AutoTest(PlansTest):
    def test_a_plan_starts_from_what_the_last_one_measured(self):
        self.write("cluster.toml", CLUSTER)

        def trials(*words):
            """How many have measured what staleness costs, after those of this run."""
            out = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--set", "cluster.strategy=auto", "--set", "train.epochs=4000",
                            "--time-limit", "0.01s", *words).out
            return int(re.search(r"staleness costs \S+ % more examples \(on this kind of job, from (\d+) trials?\)", out)[1])

        first = trials()
        (kept,) = pathlib.Path(self.folder, "yoke/efficiency").iterdir()
        self.assertIn(f"stale_trials = {first}", kept.read_text())
        both = trials()
        self.assertGreater(both, first)
        self.assertLess(trials("--set", "model.widths=[8]"), both)

    def test_auto_chooses_parts_and_keeps_the_number_of_replicas(self):
        self.write("chip.toml", CHIP)
        self.write("tiny.toml", TINY.replace("threads = 1\n", ""))
        self.good("simulate", "tiny.toml", "--cluster", "chip.toml", "--set", "node.executor=auto", "--steps", 5, "--run", "auto")
        job = tomllib.loads(self.read("auto/job.toml"))
        self.assertEqual((job["node"]["executor"], job["node"]["parts"], job["cluster"]["replicas"]), ("split", 16, 1))

    def test_auto(self):
        start, end, run = self.train("--executor", "auto", "--strategy", "auto", "--replicas", 2)
        self.assertEqual((end["reason"], end["epochs"], start["world"]), ("finished", 2, 2))
        self.good("train", "--resume", run)
        _, end, run = self.train("--set", "train.learning_rate=auto")
        self.assertEqual(end["reason"], "finished")
        self.assertRegex(self.read(run + "/job.toml"), r"learning_rate = 0\.\d+\n")

    def test_auto_on_several_devices(self):
        """No strategy is chosen that needs the CPU alone, as a served head does."""
        words = ["tiny.toml", "--cluster", "cluster.toml", "--set", 'node.devices=["cpu","emulated:0"]', "--set", "node.executor=split"]
        speeds = "operations_per_second = 2e9\nbytes_per_second = 5e9\n"
        self.write("speed.toml", f'title = "One"\nsource = "test"\n{speeds}link_bytes_per_second = 1e9\n')
        self.write("cluster.toml", CLUSTER.replace(speeds, 'curves = { cpu = "speed.toml", "emulated:0" = "speed.toml" }\n'))
        end = self.good("simulate", *words, "--strategy", "auto", "--json").events()[-1]
        self.assertEqual(end["reason"], "finished")
        candidates = self.good("plan", *words, "--json").events()[-1]["candidates"]
        served = [one["dropped"] or "" for one in candidates if one["name"] == "split, compute_groups groups=4 served_head=true, f32"]
        self.assertIn("a served head computes on the CPU", *served)

    def test_a_job_without_a_rate(self):
        self.write("tiny.toml", TINY[:TINY.index("[train]")] + TINY[TINY.index("[node]"):])
        _, end, run = self.train()
        self.assertEqual(end["reason"], "finished")
        self.assertRegex(self.read(run + "/job.toml"), r"learning_rate = \d")
        self.assertIn('name = "cosine"', self.read(run + "/job.toml"))
        plan = tomllib.loads(self.read(run + "/plan.toml"))
        self.assertEqual(set(plan["use"]["train"]), {"learning_rate", "schedule"})
        planned = self.train("--plan", run + "/plan.toml")[2]
        self.assertIn(f'learning_rate = {plan["use"]["train"]["learning_rate"]}', self.read(planned + "/job.toml"))
        self.assertIn('name = "cosine"', self.read(planned + "/job.toml"))
        again = self.train()[2]
        one, other = (pathlib.Path(self.path(each)) / "last/model.safetensors" for each in (run, again))
        self.assertEqual(one.read_bytes(), other.read_bytes())  # by steps, not by time
        start, end, run = self.train("--auto", "--replicas", 2)
        self.assertEqual((end["reason"], start["world"]), ("finished", 2))
        self.assertRegex(self.read(run + "/job.toml"), r"momentum = 0")
        self.assertIn("momentum", tomllib.loads(self.read(run + "/plan.toml"))["use"]["train"])
        run = self.train("--set", "train.tuning=range", "--set", "train.rule=adam", "--auto")[2]
        self.assertNotIn("\nmomentum", self.read(run + "/job.toml"))

    def test_no_time_for_trials(self):
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", ""))
        run = self.train("--set", "train.search_share=0.0", "--auto")[2]
        self.assertIn("learning_rate = 0.01", self.read(run + "/job.toml"))
        run = self.train("--time-limit", "3s", "--set", "train.learning_rate=0.02", "--auto", "--set", "train.epochs=100000")[2]
        self.assertIn("learning_rate = 0.0", self.read(run + "/job.toml"))

    def test_trials_of_the_rate_keep_to_their_share(self):
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", "").replace("epochs = 2", "epochs = 20"))
        told = "trials of the learning rate take up to 80 of 200 steps"
        by_default = self.good("train", "tiny.toml", "--run", "default").out
        self.assertLess(by_default.index(told), by_default.index(": loss "))  # before they begin
        self.assertNotIn("take up to", self.good("train", "tiny.toml", "--run", "more", "--set", "train.search_share=0.6").out)
        self.assertLessEqual(sum(one["steps"] for one in tomllib.loads(self.read("more/plan.toml"))["tried"]), 120)
        none = self.good("train", "tiny.toml", "--run", "none", "--set", "train.search_share=0.2").out
        self.assertIn("train.search_share allows 40 steps of trials, which need 54: the learning rate is 0.01", none)
        self.assertFalse(os.path.exists(self.path("none/plan.toml")))

    def lines_until(self, process, text):
        lines = []
        while not lines or text not in lines[-1]:
            lines.append(process.stdout.readline())
            self.assertTrue(lines[-1], "".join(lines))
        return lines

    def await_first_trial(self, process):
        *before, _ = self.lines_until(process, "learning rate")
        self.assertFalse([line for line in before if "preparing data" not in line])  # told where that is slow

    def test_a_run_that_ends_while_it_chooses_chooses_again(self):
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", "").replace("train_size = 300", "train_size = 30000"))
        whole = self.train()[2]
        for number, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
            run = f"stopped-{code}"
            process = subprocess.Popen([YOKE, "train", "tiny.toml", "--run", run], cwd=self.folder, stdout=subprocess.PIPE, text=True)
            self.await_first_trial(process)
            process.send_signal(number)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, code)
            self.assertIn('learning_rate = "auto"', self.read(run + "/job.toml"))
            self.good("train", "--resume", run)
            one, other = (pathlib.Path(self.path(each)) / "last/model.safetensors" for each in (whole, run))
            self.assertEqual(one.read_bytes(), other.read_bytes())

    def test_auto_searches_where_training_is_long(self):
        self.write("tiny.toml", TINY.replace("epochs = 2", "epochs = 500"))
        _, end, _ = self.train("--set", "train.evaluate_every=500", "--set", "checkpoint.every_epochs=0")
        epochs = int(500 * 180 / end["seconds"])  # of three minutes, of which it searches a twentieth
        process = subprocess.Popen([YOKE, "train", "tiny.toml", "--run", "long", "--executor", "auto", "--set", "train.search_share=0.05", "--set",
                                    f"train.epochs={epochs}", "--set", "train.schedule={name='cosine'}"], cwd=self.folder,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        said = "".join(self.lines_until(process, "choosing took"))
        self.assertIn("of them done by trials)", said)
        said += "".join(self.lines_until(process, "epoch "))
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130)
        self.assertNotIn("resumed", said)
        self.assertIn("chosen = ", self.read("long/plan.toml"))
        self.assertIn('executor = "', self.read("long/job.toml"))
        self.assertIn("[train.schedule]", self.read("long/job.toml"))

    def test_simulate_auto(self):
        self.write("cluster.toml", CLUSTER)
        events = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--strategy", "auto", "--set", "train.batch=4", "--json",
                           "--run", "simulated").events()
        self.assertEqual((events[-1]["event"], events[-1]["reason"]), ("end", "finished"))

    SPARSE = """[data]
format = "synthetic-xmc"
features = 300
labels = 100
train_size = 2000
test_size = 50
[model]
name = "xmc"
hidden = 8
[train]
epochs = 50
batch = 8
rule = "adam"
learning_rate = 0.003
[node]
threads = 1
"""

    def test_simulate_auto_tries_what_has_no_price(self):
        self.write("cluster.toml", CLUSTER)
        self.write("sparse.toml", self.SPARSE)
        words = ["simulate", "sparse.toml", "--cluster", "cluster.toml", "--strategy", "auto"]
        for number, more in enumerate(([], ["--set", "train.learning_rate=auto", "--set", "train.epochs=150"])):
            with self.subTest(more=more):
                out = self.good(*words, *more, "--run", f"sparse-{number}").out
                self.assertIn("have no price", out)
                tried = {line.split(": loss")[0] for line in out.splitlines() if re.match(r"single, .*: loss", line)}
                self.assertGreater(len({name.split(",")[1] for name in tried}), 2, out)
                self.assertIn("chosen = ", self.read(f"sparse-{number}/plan.toml"))
        out = self.good(*words, "--set", "train.epochs=4", "--run", "short").out
        self.assertIn("too short to search", out)

    def test_simulate_auto_tells_one_choice(self):
        self.write("cluster.toml", CLUSTER)
        words = ["simulate", "tiny.toml", "--cluster", "cluster.toml", "--strategy", "auto", "--set", "train.learning_rate=auto",
                 "--time-limit", "0.01s"]
        long = self.good(*words, "--set", "train.epochs=4000", "--set", "train.search_share=0.2", "--run", "long").out
        self.assertEqual(len(re.findall("an update's staleness costs", long)), 1, long)
        self.assertNotIn("predicted only", long)
        self.assertRegex(long, r"simulated time \S+ s, \S+ s of it in trials that are lost")
        short = self.good(*words, "--set", "train.epochs=200", "--run", "short").out
        self.assertIn("leave too little of train.search_share for trials of the parts", short)
        self.assertIn("take up to", short)
        first, mean = map(int, re.search(r"noise scale is (\d+) examples at first, taken to average (\d+)", short).groups())
        self.assertAlmostEqual(mean, 10 * first, delta=5)

    def test_simulate_auto_stays_with_a_rate_that_fits(self):
        """The mean gradient of four replicas bears twice the rate of gossip's, for which the trials were."""
        self.write("cluster.toml", CLUSTER.replace("1e6", "1.5e8"))
        words = ["--set", "data.train_size=3000", "--set", "train.epochs=15", "--set", "train.learning_rate=auto", "--strategy", "auto", "--set",
                 'train.target={metric="accuracy",at_least=0.01}']
        out = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", "stays", *words).out
        found = float(re.search(r"learning rate (\S+), momentum 0.9, whose loss fell fastest\n", out)[1])
        stays = float(re.search(r"single, allreduce, f32 stays, with learning rate (\S+): single, gossip_push\b.* too little without trials\n", out)[1])
        self.assertAlmostEqual(stays / found, 2, places=4)
        job = tomllib.loads(self.read("stays/job.toml"))
        self.assertAlmostEqual(job["train"]["learning_rate"] / stays, 1, places=4)
        self.assertEqual((job["cluster"]["strategy"], job["train"]["schedule"]["name"]), ("allreduce", "cosine"))
        out = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--run", "ranged", *words, "--set", "train.tuning=range").out
        found = re.search(r"learning rate (\S+), momentum 0.9, [^\n]*\n", out)[1]
        self.assertIn(f"f32 stays, with learning rate {found}: ", out)  # all replicas together had found it

    def test_auto_is_not_slower_than_what_it_chooses_from(self):
        """Eight nodes of exponential times: asynchronous updates that predict keep their momentum."""
        self.write("nodes.toml", """[[nodes]]
count = 8
operations_per_second = 1e11
bytes_per_second = 5e10
jitter = { kind = "exponential" }
[network]
latency = 1e-6
bytes_per_second = 1e11
""")
        self.write("job.toml", """[data]
format = "synthetic-digits"
train_size = 4000
test_size = 500
[model]
name = "mlp"
widths = [64]
[train]
epochs = 60
batch = 32
learning_rate = 0.1
target = { metric = "accuracy", at_least = 0.94 }
[node]
threads = 1
""")

        def seconds(strategy, *words):
            end = self.good("simulate", "job.toml", "--cluster", "nodes.toml", "--strategy", strategy, *words, "--json").events()[-1]
            self.assertEqual(end["reason"], "target", strategy)
            return end["virtual_seconds"]

        best = min(seconds("hogwild_sgd"), seconds("allreduce"))
        for epochs in (60, 600):  # who has a target need not know how many it takes
            self.assertLess(seconds("auto", "--set", "train.momentum=auto", "--set", f"train.epochs={epochs}"), 1.1 * best)

    def test_trials_wait_where_a_training_may_end_early(self):
        """Until they are worth a pause; then a run goes on by what they tell, and searches again when it has trained as long again."""
        self.write("cluster.toml", CLUSTER.replace("1e6", "1e9"))
        target, share = 'train.target={metric="loss",at_most=0.0}', ["--set", "train.search_share=0.9", "--json"]
        for may_end in (target, 'train.early_stopping={metric="loss",patience=1000}'):
            events = self.good("simulate", "tiny.toml", "--cluster", "cluster.toml", "--strategy", "auto", "--set", "train.epochs=400", "--set",
                               may_end, *share).events()
            ends = [event for event in events if event["event"] == "end"]
            self.assertEqual([end["reason"] for end in ends], ["replan"] * (len(ends) - 1) + ["finished"])
            self.assertGreaterEqual(len(ends), 2)
            texts = [event["message"] for event in events if event["event"] == "message"]
            self.assertLess(texts.index("the training may end early: trials wait until a pause is worth them"),
                            next(place for place, text in enumerate(texts) if ": loss" in text))
            for before, after in itertools.pairwise(end["seconds"] for end in ends[:-1]):
                self.assertGreaterEqual(after, 1.99 * before)
        events = self.good("train", "tiny.toml", "--executor", "auto", "--set", "train.epochs=1000000", "--time-limit", "8s", "--set", target,
                           *share, "--set", "checkpoint.every_epochs=0").events()
        ends = [event for event in events if event["event"] == "end"]
        self.assertEqual([end["reason"] for end in ends], ["replan", "time_limit"])
        self.assertAlmostEqual(ends[0]["seconds"], 1.25 * 4 / 0.9, delta=1)
        self.assertTrue(any(": loss" in event["message"] for event in events if event["event"] == "message"))

    def test_simulate_chooses_again(self):
        self.write("cluster.toml", CLUSTER)
        words = ["simulate", "tiny.toml", "--strategy", "auto", "--set", "train.batch=4", "--set", "train.epochs=6", "--set", "train.replan_epochs=2"]
        events = self.good(*words, "--cluster", "cluster.toml", "--json", "--run", "again").events()
        ends = [event for event in events if event["event"] == "end"]
        self.assertEqual([end["reason"] for end in ends], ["replan", "replan", "finished"])
        seconds = [end["virtual_seconds"] for end in ends]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(seconds[2], seconds[1])
        self.write("cluster.toml", CLUSTER + "[failures]\nmean_time_between = 1e9\n")
        result = self.good(*words, "--cluster", "cluster.toml", "--run", "failing")
        self.assertIn("train.replan_epochs has no effect on a cluster whose nodes fail", result.out)

    def test_auto_under_a_launcher(self):
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", ""))
        out = self.launch("train", "tiny.toml", "--auto", "--run", "auto", ranks=3)
        self.assertEqual(out.count("choosing took"), 1, out)
        self.assertRegex(self.read("auto/job.toml"), r"learning_rate = 0\.\d+\n(.|\n)*cosine")
        self.launch("train", "tiny.toml", "--run", "again", ranks=3)
        self.launch("train", "--resume", "again", ranks=3)
        words = ["--set", "train.epochs=100000", "--time-limit", "8s", "--set", "train.search_share=0.8"]
        self.launch("train", "tiny.toml", "--strategy", "auto", "--set", "train.learning_rate=0.02", "--run", "long", *words)
        self.assertIn("chosen = ", self.read("long/plan.toml"))

    def test_rates_apart_under_a_launcher(self):
        """Each process trains alone with a rate of its own; a signal to one of them, or its end, ends all."""
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", ""))
        out = self.launch("train", "tiny.toml", "--run", "rates", ranks=3)
        self.assertGreaterEqual(len(set(re.findall(r"learning rate (\S+): loss \S+ after \d+ steps of one replica\n", out))), 5, out)
        chosen = float(re.search(r"learning rate (\S+), momentum 0.9, whose loss fell fastest\n", out)[1])
        self.assertAlmostEqual(tomllib.loads(self.read("rates/job.toml"))["train"]["learning_rate"] / chosen, 1, places=4)
        self.assertGreaterEqual(len(tomllib.loads(self.read("rates/plan.toml"))["tried"]), 5)  # the report draws it
        self.write("tiny.toml", self.read("tiny.toml").replace("= 300", "= 10000").replace("[16]", "[256, 256]"))
        for number, told in ((signal.SIGTERM, "^$"), (signal.SIGKILL, "^yoke: rank 1 of 2 [^\n]* was killed by signal 9[^\n]*$")):
            process = launchers.start(self, min(launchers.needed_launchers()), 2, "train", "tiny.toml", "--run", number.name)
            self.await_first_trial(process)
            os.kill(launchers.rank_processes(process)[1], number)  # the last rank's, not its guard
            done = launchers.finish(process)
            self.assertNotEqual(done.code, 0)
            self.assertLess(done.seconds, 8)
            self.assertRegex("\n".join(done.told), told)

    def test_choosing_again_under_a_launcher(self):
        out = self.launch("train", "tiny.toml", "--strategy", "auto", "--run", "again", "--set", "train.epochs=6", "--set", "train.replan_epochs=2")
        self.assertEqual(out.count("what the job leaves open is chosen again"), 2, out)
        self.assertIn("finished after 6 epochs", out)

    def refused(self, run, told, **environment):
        """A job without a rate under the first launcher: one rank says why it does not begin, and leaves no run."""
        done = launchers.run(self, min(launchers.needed_launchers()), 2, "train", "tiny.toml", "--run", run, **environment)
        self.assertEqual((done.code, len(done.told)), (2, 1), done.error)
        self.assertIn(told, done.told[0])
        self.assertLess(done.seconds, 20)
        self.assertFalse(os.path.exists(self.path(run + "/lock")))

    def test_mistakes_under_a_launcher(self):
        self.write("tiny.toml", TINY.replace("learning_rate = 0.02\n", ""))
        self.launch("train", "tiny.toml", "--run", "done")
        os.mkdir(self.path("full"))
        self.write("full/notes.txt", "")
        self.refused("full", "full holds other files")
        self.refused("r", "rank 1 has train.epochs = 9, but rank 0 has 2", RANK_1="--set train.epochs=9")
        self.refused("r", "rank 1 has train.learning_rate = 0.5, but rank 0 has auto", RANK_1="--set train.learning_rate=0.5")

    def test_a_signal_to_one_rank_that_chooses(self):
        longer = {"learning_rate = 0.02\n": "", "train_size = 300": "train_size = 3000", "epochs = 2": "epochs = 20",
                  "widths = [16]": "widths = [2048, 2048]"}  # seconds of trials
        job = TINY
        for old, new in longer.items():
            self.assertIn(old, job)
            job = job.replace(old, new)
        self.write("tiny.toml", job)
        for rank in ("0", "1"):
            process = launchers.start(self, min(launchers.needed_launchers()), 2, "train", "tiny.toml", "--run", "stopped" + rank)
            self.await_first_trial(process)
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as names, open(f"/proc/{pid}/comm") as name:
                    variables = names.read().split(b"\0")
                    of_rank = any(f"{key}={rank}".encode() in variables for key in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"))
                    if of_rank and name.read() == "yoke\n" and os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(self.folder):
                        os.kill(int(pid), signal.SIGTERM)
            launchers.finish(process)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn('learning_rate = "auto"', self.read(f"stopped{rank}/job.toml"))
            self.launch("train", "--resume", "stopped" + rank, "--time-limit", "1s")

    def test_a_stop_ends_measuring_in_a_training(self):
        for replicas in (1, 2):
            with self.subTest(replicas=replicas):
                run = f"r{replicas}"
                process = self.start("train", "tiny.toml", "--auto", "--replicas", replicas, "--run", run, "--set", "train.epochs=10000000")
                while "measuring" not in process.stdout.readline():
                    self.assertIsNone(process.poll())
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                out, error = process.communicate(timeout=60)
                self.assertLess(time.monotonic() - began, 1.5)
                self.assertEqual((process.returncode, error), (143, ""))
                self.assertIn(f"stopped while it was choosing; continue with: yoke train --resume {run}", out)

    def test_mistakes(self):
        self.good("train", "tiny.toml", "--run", "done")
        self.refuses(((["train", "--resume", "done", "--executor", "auto"], "a run that is resumed has chosen"),
                      (["train", "--resume", "done", "--auto"], "leave out --auto"),
                      (["train", "tiny.toml", "--set", "train.rule=adam", "--set", "train.momentum=auto"], "rule adam has no such key"),
                      (["train", "tiny.toml", "--set", "train.rule=auto"], "auto")))


if __name__ == "__main__":
    unittest.main()
