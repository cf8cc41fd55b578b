"""yoke bench, and that training under each executor repeats, resumes and learns from the command line."""
import os
import unittest

from program import ProgramTest


class BenchTest(ProgramTest):
    def test_prints_a_row_a_choice(self):
        lines = self.good("bench", "tiny.toml", "--executors", "single,split", "--with", "node.executor=hogwild").out.splitlines()
        self.assertEqual(len(lines), 4)
        for word in ("choice", "seconds", "examples/s", "train loss", "test accuracy", "ended"):
            self.assertIn(word, lines[0])
        for line, name in zip(lines[1:], ("single", "split", "node.executor=hogwild")):
            self.assertTrue(line.startswith(name), line)
            self.assertTrue(line.endswith("finished"), line)

    def test_json_is_one_object(self):
        (event,) = self.good("bench", "tiny.toml", "--rounds", 2, "--set", "train.rule=sgd", "--json").events()
        self.assertEqual((event["event"], event["rounds"]), ("bench", 2))
        self.assertEqual([choice["name"] for choice in event["choices"]], ["single", "split", "hogwild", "hogbatch", "adaptive_hogbatch"])
        for choice in event["choices"]:
            self.assertEqual(choice["epochs"], 2)
            self.assertEqual(len(choice["runs"]), 2)
            self.assertGreater(choice["examples_per_second"], 0)
            self.assertLess(choice["train"]["loss"], 2.4)
            self.assertIn("accuracy", choice["test"])

    def test_runs_are_kept(self):
        words = ("bench", "tiny.toml", "--executors", "single", "--with", "train.rule=adam train.batch=50", "--rounds", 2, "--runs", "kept")
        self.good(*words)
        runs = ["single-1", "single-2", "train.rule=adam-train.batch=50-1", "train.rule=adam-train.batch=50-2"]
        self.assertEqual(sorted(os.listdir(self.path("kept"))), runs)
        self.good("report", *(f"kept/{run}" for run in runs), "-o", "page.html")
        self.assertIn("holds a run already", self.yoke(*words).error)

    def test_one_thread_of_each_does_the_same_work(self):
        """split of one part is single bit for bit, and hogwild's small batches may be the whole batch."""
        (event,) = self.good("bench", "tiny.toml", "--executors", "single,split", "--with",
                             "node.executor=hogwild node.hogwild_batch=32", "--json").events()
        losses = {choice["train"]["loss"] for choice in event["choices"]}
        self.assertEqual(len(losses), 1, losses)

    def test_executors_that_do_not_take_the_devices_are_left_out(self):
        (event,) = self.good("bench", "tiny.toml", "--set", "node.devices=[\"cpu\",\"emulated:0\"]", "--set", "train.epochs=1", "--json").events()
        self.assertEqual([choice["name"] for choice in event["choices"]], ["split", "hogbatch", "adaptive_hogbatch"])
        self.assertEqual([choice["name"] for choice in event["left_out"]], ["single", "hogwild", "pipeline"])
        for choice, reason in zip(event["left_out"], ("one device", "the CPU only", "a hashed one (lsh_linear)")):
            self.assertIn(reason, choice["reason"])

    def test_mistakes_are_told_first(self):
        for words, said in ((["--executors", "singel"], "single"), (["--with", "nonsense"], "key=value"),
                            (["--with", "node.executor=split node.part=2"], "parts"), (["--rounds", 0], "rounds")):
            result = self.yoke("bench", "tiny.toml", *words)
            self.assertEqual((result.code, result.out), (2, ""), words)
            self.assertIn(said, result.error)


class ExecutorsTest(ProgramTest):
    def weights(self, run):
        with open(self.path(run + "/last/model.safetensors"), "rb") as file:
            return file.read()

    def test_a_run_repeats_at_a_fixed_number_of_threads(self):
        for executor, threads in (("single", 2), ("split", 2), ("hogwild", 1)):
            for run in ("a", "b"):
                self.good("train", "tiny.toml", "--executor", executor, "--threads", threads, "--run", executor + run)
            self.assertEqual(self.weights(executor + "a"), self.weights(executor + "b"), executor)

    def test_pinning_changes_nothing_but_places(self):
        for pin in ("true", "false"):
            self.good("train", "tiny.toml", "--executor", "split", "--threads", 2, "--set", "node.pin=" + pin, "--run", pin)
        self.assertEqual(self.weights("true"), self.weights("false"))

    def test_a_run_goes_on_where_it_stopped(self):
        for executor, threads in (("split", 2), ("hogwild", 1)):
            words = ["train", "tiny.toml", "--executor", executor, "--threads", threads, "--run"]
            self.good(*words, executor + "whole")
            self.good(*words, executor + "part", "--set", "train.epochs=1")
            self.good("train", "--resume", executor + "part", "--set", "train.epochs=2")
            self.assertEqual(self.weights(executor + "whole"), self.weights(executor + "part"), executor)

    def test_doctor_says_what_was_chosen(self):
        (event,) = self.good("doctor", "--json").events()
        self.assertGreaterEqual(event["threads"]["count"], 1)
        self.assertRegex(event["threads"]["reason"], "^(Pinned|Not pinned)")
        self.assertRegex(self.good("doctor").out, r"\nthreads +\d+ threads? by default")


if __name__ == "__main__":
    unittest.main()
