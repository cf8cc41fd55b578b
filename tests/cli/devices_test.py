"""A device with memory of its own trains as the CPU does, bit for bit, under every deterministic strategy; what it does not take is refused."""
import json
import pathlib
import re
import random
import shutil
import unittest

from program import ProgramTest

JOB = """[data]
format = "synthetic-digits"
train_size = 160
test_size = 40
[model]
layer = [{ type = "convolution", outputs = 4, kernel = 5, stride = 2 }, { type = "batch_norm" }, { type = "relu" }, { type = "flatten" },
         { type = "dropout" }, { type = "linear", outputs = 12 }, { type = "relu" }, { type = "linear", outputs = 10 }]
[train]
epochs = 2
batch = 16
learning_rate = 0.05
[node]
threads = 1
"""
SPARSE = """[data]
format = "libsvm"
train = "train.txt"
test = "test.txt"
[model]
name = "mlp"
widths = [16]
[train]
epochs = 3
batch = 16
rule = "adam"
learning_rate = 0.01
[node]
threads = 1
"""
HASHED = """[data]
format = "synthetic-xmc"
features = 300
labels = 400
train_size = 600
test_size = 100
[model]
name = "xmc"
hidden = 16
output = "lsh"
[train]
epochs = 2
batch = 32
rule = "adam"
learning_rate = 0.03
[node]
threads = 1
"""
TABLE = """[data]
format = "csv"
train = "train.csv"
test = "train.csv"
[model]
name = "mlp"
widths = [16]
[train]
epochs = 2
batch = 16
learning_rate = 0.1
[node]
threads = 1
"""
DETERMINISTIC = [["allreduce"], ["allreduce", "--set", "cluster.compression=int8"], ["allreduce", "--set", "cluster.accumulate=3"], ["easgd_original"],
                 ["easgd_sync1"], ["easgd_sync2", "--set", "cluster.centre_everywhere=true"], ["easgd_sync3", "--set", "cluster.period=2"], ["local_sgd"],
                 ["slowmo"], ["slowmo", "--set", "cluster.base=sgp"], ["diloco", "--set", "cluster.fragments=2"], ["sgp", "--set", "cluster.overlap=true"]]
ON_DEMAND = ["async_sgd", "gossip_pull", "ad_psgd"]


class DevicesTest(ProgramTest):
    def model(self, devices, *words):
        """The weights after training on these devices."""
        run = "-".join((devices, *words)).replace(":", "")
        self.good("train", self.job(), "--run", run, "--set", f"node.devices={devices}", *words)
        return self.weights(run)

    def weights(self, run):
        return pathlib.Path(self.path(run), "last/model.safetensors").read_bytes()

    def job(self):
        return self.write("job.toml", JOB)

    def sparse_job(self):
        """Like w8a: about 12 of 300 binary features, the even ones for one class and the odd ones for the other, with some noise."""
        draw = random.Random(1)
        for name, lines in (("train.txt", 640), ("test.txt", 200)):
            rows = []
            for number in range(lines):
                kinds = [number % 2 if draw.random() < 0.8 else 1 - number % 2 for _ in range(12)]
                ids = sorted({2 * draw.randrange(150) + kind + 1 for kind in kinds})
                rows.append(" ".join(["+1" if number % 2 else "-1", *(f"{feature}:1" for feature in ids)]))
            self.write(name, "\n".join(rows) + "\n")
        return self.write("sparse.toml", SPARSE)

    def test_one_replica(self):
        for words in ((), ("--set", "train.rule=adam"), ("--set", "train.clip_norm=0.5")):
            self.assertEqual(self.model("emulated:0", *words), self.model("cpu", *words), words)

    def test_every_deterministic_strategy(self):
        for strategy in DETERMINISTIC:
            words = ("--replicas", "2", "--strategy", *strategy)
            self.assertEqual(self.model("emulated:0", *words), self.model("cpu", *words), strategy)

    def test_what_ranks_keep_moves_between_devices(self):
        for strategy in (["diloco", "--set", "cluster.overlap=2"], ["easgd_sync1"], ["allreduce", "--set", "cluster.accumulate=3"]):
            words = ("--replicas", "2", "--set", "train.rule=adam", "--strategy", *strategy)
            whole, run = self.model("cpu", *words), "half-" + strategy[0]
            self.good("train", self.job(), "--run", run, *words, "--set", "node.devices=emulated:0", "--set", "train.epochs=1")
            self.good("train", "--resume", run, "--set", "train.epochs=2")
            self.assertEqual(self.weights(run), whole, strategy)

    def test_strategies_on_demand(self):
        for strategy in ON_DEMAND:
            self.model("emulated:0", "--replicas", "2", "--strategy", strategy)

    def test_evaluates_and_predicts_where_the_weights_are(self):
        draw = random.Random(3)
        rows = [(draw.gauss(k % 2, 0.5), draw.gauss(0, 1), k % 2) for k in range(300)]
        self.write("train.csv", "a,b,kind\n" + "".join(f"{a:.3f},{b:.3f},{kind}\n" for a, b, kind in rows))
        job = self.write("csv.toml", TABLE)
        told = []
        for devices in ("cpu", "emulated:0"):
            run = devices.replace(":", "")
            trained = self.good("train", job, "--run", run, "--json", "--set", f"node.devices={devices}").events()[-1]
            (evaluated,) = self.good("eval", run, "train.csv", "--json").events()
            told.append((trained["test"], evaluated["metrics"], self.good("predict", run, "train.csv", "--top", "2").out))
        self.assertEqual(*told)

    def test_resumes_on_the_other_device(self):
        whole = self.model("cpu")
        self.good("train", self.job(), "--run", "half", "--set", "node.devices=emulated:0", "--set", "train.epochs=1")
        self.good("train", "--resume", "half", "--set", "node.devices=cpu", "--set", "train.epochs=2")
        self.assertEqual(self.weights("half"), whole)

    def test_two_devices(self):
        for executor in ("split", "hogbatch", "adaptive_hogbatch"):
            *_, epoch, end = self.good("train", self.job(), "--run", executor, "--json", "--executor", executor,
                                       "--set", 'node.devices=["cpu", "emulated:0"]').events()
            self.assertEqual(sum(end["node"]["examples"].values()), 320, executor)
            self.assertEqual(set(end["node"]["busy"]), {"cpu", "emulated:0"})
            for metric in ("examples", "updates", "staleness", "most_stale"):
                self.assertEqual(epoch["node"][metric], end["node"][metric], executor)
            self.report(executor)
            self.good("train", "--resume", executor, "--set", "train.epochs=3", "--set", "node.devices=cpu", "--executor", "single")
            self.report(executor)

    def report(self, run):
        """Checks that a run's report tells what two devices did in two epochs."""
        self.good("report", run)
        data = re.search('<script type="application/json" id="runs">(.*?)</script>', self.read(f"{run}/report.html"))
        epochs = [line["node"] for line in json.loads(data[1])["runs"][0]["lines"] if line["event"] == "epoch" and "node" in line]
        self.assertEqual([set(epoch["updates"]) for epoch in epochs], 2 * [{"cpu", "emulated:0"}], run)

    def test_a_round_is_a_step_and_resumes_within_an_epoch(self):
        for executor in ("hogbatch", "adaptive_hogbatch"):
            words = ("--executor", executor, "--set", "node.hogbatch_round=40", "--set", 'node.devices=["cpu", "emulated:0"]',
                     "--set", "checkpoint.every_steps=1", "--set", "checkpoint.keep=20")
            run = f"rounds-{executor}"
            end = self.good("train", self.job(), "--run", run, "--json", *words).events()[-1]
            self.assertEqual(end["step"], 8, executor)
            checkpoints = pathlib.Path(self.path(run), "checkpoints")
            for step in range(3, 9):
                shutil.rmtree(checkpoints / str(step))
            again = self.good("train", "--resume", run, "--json").events()
            self.assertEqual(again[-1]["step"], 8, executor)
            self.assertEqual(sum(again[-1]["node"]["examples"].values()), 320, executor)

    def test_sparse_input_gives_the_same_bits(self):
        job = self.sparse_job()
        for words in ((), ("--set", "train.clip_norm=0.1"), ("--replicas", "2", "--strategy", "allreduce"), ("--replicas", "2", "--strategy", "local_sgd"),
                      ("--replicas", "2", "--strategy", "easgd_sync1")):
            models = []
            for devices in ("cpu", "emulated:0"):
                run = "-".join((devices, *words)).replace(":", "")
                self.good("train", job, "--run", run, "--set", f"node.devices={devices}", *words)
                models.append(self.weights(run))
            self.assertEqual(*models, words)

    def test_sparse_input_resumes_on_the_other_device(self):
        job = self.sparse_job()
        self.good("train", job, "--run", "whole", "--set", "node.devices=cpu")
        self.good("train", job, "--run", "half", "--set", "node.devices=emulated:0", "--set", "train.epochs=1")
        self.good("train", "--resume", "half", "--set", "node.devices=cpu", "--set", "train.epochs=3")
        self.assertEqual(self.weights("half"), self.weights("whole"))

    def test_two_devices_train_on_sparse_input(self):
        for executor in ("split", "hogbatch", "adaptive_hogbatch"):
            end = self.good("train", self.sparse_job(), "--run", executor, "--json", "--executor", executor, "--set", "train.epochs=20",
                            "--set", 'node.devices=["cpu", "emulated:0"]').events()[-1]
            self.assertEqual(sum(end["node"]["examples"].values()), 20 * 640, executor)
            self.assertGreater(min(end["node"]["examples"].values()), 0, executor)
            self.assertGreater(end["test"]["accuracy"], 0.9, executor)

    def test_a_hashed_output_trains_on_the_cpu_and_the_layers_below_on_a_device(self):
        job, both = self.write("hashed.toml", HASHED), ("--executor", "pipeline", "--devices", "cpu,emulated:0")
        self.good("train", job, "--run", "whole", "--devices", "cpu")
        for words in ((), ("--replicas", "2", "--strategy", "allreduce"), ("--replicas", "2", "--strategy", "local_sgd")):
            name = "-".join(words) or "whole"
            if words:
                self.good("train", job, "--run", name, "--devices", "cpu", *words)
            self.good("train", job, "--run", "one" + name, *both, "--set", "node.micro_batches=1", *words)
            self.assertEqual(self.weights("one" + name), self.weights(name), words)
        end = self.good("train", job, "--run", "several", "--json", *both).events()[-1]
        self.assertEqual((end["node"]["examples"], end["node"]["updates"]), ({"cpu": 0, "emulated:0": 1200}, {"cpu": 38, "emulated:0": 38}))
        self.assertGreater(end["test"]["p_at_1"], 0.5)
        (evaluated,) = self.good("eval", "several", "--json").events()
        self.assertEqual(evaluated["metrics"], end["test"])
        self.good("train", job, "--run", "half", *both, "--set", "node.micro_batches=1", "--set", "train.epochs=1")
        self.good("train", "--resume", "half", "--devices", "cpu", "--executor", "single", "--set", "train.epochs=2")
        self.good("train", job, "--run", "back", "--devices", "cpu", "--set", "train.epochs=1")
        self.good("train", "--resume", "back", *both, "--set", "node.micro_batches=1", "--set", "train.epochs=2")
        for run in ("half", "back"):
            self.assertEqual(self.weights(run), self.weights("whole"), run)

    def test_what_a_divided_model_is_refused(self):
        job, both = self.write("hashed.toml", HASHED), ("--executor", "pipeline", "--devices", "cpu,emulated:0")
        device = self.good("info", job, "--json", *both).events()[0]["device_memory"]["emulated:0"]
        self.assertLess(device, self.good("info", job, "--json", "--devices", "emulated:0").events()[0]["device_memory"]["emulated:0"] / 2)
        for command, words, reason in (("train", ("--executor", "pipeline", "--devices", "cpu"), "takes the CPU and one other device"),
                                       ("train", ("--executor", "pipeline", "--devices", "emulated:0,emulated:1"), "not emulated:0, emulated:1"),
                                       ("train", (*both, "--set", "model.output=dense"), "needs a model whose last layer is a hashed one"),
                                       ("info", (*both, "--step"), "divides the model"), ("plan", both, "compare by yoke bench")):
            result = self.yoke(command, job, *words)
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn(reason, result.error)

    def test_ranks_share_devices(self):
        words = ("--replicas", "4", "--strategy", "local_sgd")
        start, *_ = self.good("train", self.job(), "--run", "shared", "--json", *words, "--devices", "emulated:0,emulated:1").events()
        self.assertEqual(start["devices"], ["emulated:0", "emulated:1"])
        self.assertEqual(start["hardware"], "emulated:0 + emulated:1 (4 ranks that share them, 1 thread each)")
        self.assertEqual(self.weights("shared"), self.model("cpu", *words))

    def test_a_server_takes_no_device(self):
        words = ("--replicas", "3", "--strategy", "async_sgd", "--set", "cluster.servers=1", "--devices", "emulated:0,emulated:1,emulated:2")
        start, *_ = self.good("train", self.job(), "--run", "served", "--json", *words).events()
        self.assertEqual(start["devices"], ["emulated:0", "emulated:1"])
        self.assertRegex(start["hardware"], r"^emulated:0 \+ emulated:1 \(3 ranks, \d threads? each; idle: emulated:2\)$")

    def test_the_environment_puts_a_job_on_the_strict_device(self):
        strict, job = {"YOKE_DEVICES": "strict:0"}, self.job()
        start, *_ = self.good("train", job, "--run", "strict", "--json", "--set", "node.devices=cpu", environment=strict).events()
        self.assertEqual(start["hardware"], "strict:0 by YOKE_DEVICES (1 thread)")
        self.assertEqual(self.weights("strict"), self.model("emulated:0"))
        self.assertIn("strict:0 (YOKE_DEVICES)", self.good("doctor", environment=strict).out)

    def test_what_cannot_go_there_names_the_environment(self):
        for devices, job, error in (("strict:0", [self.job(), "--executor", "hogwild"], "YOKE_DEVICES: node.devices: executor hogwild computes on the CPU only"),
                                    ("gpu", [self.job()], "YOKE_DEVICES: node.devices: there is no device 'gpu'"),
                                    ("strict:0", [self.hashed()], "(lsh_linear) runs on the CPU only, not on strict:0, because its hash tables")):
            result = self.yoke("train", *job, environment={"YOKE_DEVICES": devices})
            self.assertEqual(result.code, 2, result.error)
            self.assertIn(error, result.error)
            self.assertIn("YOKE_DEVICES", result.error)

    def test_evaluation_refuses_what_the_environment_cannot_mean(self):
        self.model("cpu")
        result = self.yoke("eval", "cpu/last", environment={"YOKE_DEVICES": "gpu"})
        self.assertEqual(result.code, 2, result.error)
        self.assertIn("YOKE_DEVICES: node.devices: there is no device 'gpu'", result.error)

    def hashed(self):
        return self.write("hashed.toml", JOB.replace('{ type = "linear", outputs = 10 }', '{ type = "lsh_linear", outputs = 10 }'))

    def refused(self, *words):
        result = self.yoke("train", self.job(), *words)
        self.assertEqual(result.code, 2, result.error)
        return result.error

    def test_a_gpu_that_is_not_there_is_one_sentence(self):
        why = self.good("doctor", "--json").events()[0]["no_cuda"]
        if why:
            self.assertEqual(self.refused("--devices", "cuda:0"), f"yoke: there is no device cuda:0: {why}\n")
        else:
            self.assertIn("there is no device cuda:99: this machine has ", self.refused("--devices", "cuda:99"))

    def test_info_says_what_a_device_needs(self):
        [info] = self.good("info", self.job(), "--set", "node.devices=emulated:0", "--json").events()
        memory = info["memory"]
        self.assertEqual(info["device_memory"], {"emulated:0": memory["total"] - memory["program_and_data"] - memory["tables"]})
        self.assertIn("emulated:0  at most ", self.good("info", self.job(), "--set", "node.devices=emulated:0").out)

    def test_refusals(self):
        self.assertIn("there is no device 'gpu': expected all, cpu, cuda:0, emulated:0 or strict:0", self.refused("--set", "node.devices=gpu"))
        self.assertIn("executor single takes one device, not 2", self.refused("--set", 'node.devices=["cpu", "emulated:0"]'))
        self.assertIn("executor hogwild computes on the CPU only", self.refused("--set", "node.devices=emulated:0", "--executor", "hogwild"))
        result = self.yoke("train", self.hashed(), "--set", "node.devices=emulated:0")
        self.assertEqual(result.code, 2, result.error)
        self.assertIn("(lsh_linear) runs on the CPU only, not on emulated:0, because its hash tables", result.error)


if __name__ == "__main__":
    unittest.main()
