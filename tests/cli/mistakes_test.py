"""Every mistake on the command line is one line on standard error that names it, and exit status 2."""
import os
import re
import unittest

from program import ProgramTest

# What CLI11 says in versions up to 2.3, and since 2.4.
THREADS = re.compile(r"--threads: .*not in range (1 to 4096|\[1 - 4096\])")

# Words of the command line; what the sentence must say.
MISTAKES = [
    (["trian"], ["trian", "did you mean 'train'", "predict"]),
    (["--quite"], ["--quite"]),
    (["train"], ["job file", "--resume"]),
    (["train", "absent.toml"], ["absent.toml"]),
    (["train", "tiny.toml", "other.toml"], ["unexpected", "other.toml"]),
    (["train", "tiny.toml", "--thread", "2"], ["--thread", "did you mean '--threads'"]),
    (["train", "tiny.toml", "--threads"], ["--threads"]),
    (["train", "tiny.toml", "--threads", "many"], ["--threads: node.threads", "whole number"]),
    (["train", "tiny.toml", "--threads", "0"], ["node.threads", "at least 1"]),
    (["train", "tiny.toml", "--set", "train.epochs"], ["key=value", "train.epochs"]),
    (["train", "tiny.toml", "--set", "train.epohcs=3"], ["epohcs", "did you mean 'epochs'"]),
    (["train", "tiny.toml", "--set", "trian.epochs=3"], ["trian", "train"]),
    (["train", "tiny.toml", "--set", "train.epochs=many"], ["train.epochs", "whole number"]),
    (["train", "tiny.toml", "--set", "train.batch=[1"], ["train.batch"]),
    (["train", "tiny.toml", "--time-limit", "soon"], ["--time-limit: train.time_limit", "soon"]),
    (["train", "tiny.toml", "--epochs", "3"], ["--epochs", "--set train.epochs=3"]),
    (["train", "tiny.toml", "--learning-rate=0.1"], ["--set train.learning_rate=0.1"]),
    (["train", "--epochs", "--quiet"], ["--set train.epochs=..."]),
    (["train", "net.onnx"], ["[model]", 'file = "net.onnx"', "yoke info net.onnx"]),
    (["train", "tiny.toml", "--strategy", "allreduc"], ["allreduc", "did you mean 'allreduce'"]),
    (["train", "tiny.toml", "--executor", "singel"], ["singel", "single"]),
    (["train", "tiny.toml", "--precision", "f16"], ["f16", "bf16"]),
    (["train", "tiny.toml", "--resume", "somewhere"], ["leave out tiny.toml"]),
    (["train", "--resume", "nowhere"], ["nowhere"]),
    (["train", "--resume", "empty"], ["empty", "job.toml"]),
    (["train", "tiny.toml", "--run", ""], ["--run", "folder"]),
    (["train", "tiny.toml", "--run", "a\n[data]"], ["'a\\x0A[data]'", "control character"]),
    (["train", "tiny.toml", "--run", "."], ["empty directory", "--run"]),
    (["train", "tiny.toml", "--set", "model." + "k" * 100_000 + "=1"], ["kkk..kkk", "known: "]),
    (["info", "tiny.toml", "--set", "train.epohcs=3"], ["epohcs", "did you mean 'epochs'"]),
    (["info", "empty", "--threads", "2"], ["leave out"]),
    (["eval"], ["checkpoint"]),
    (["eval", "nowhere/last"], ["nowhere/last"]),
    (["eval", "empty"], ["empty", "model.safetensors"]),
    (["eval", "tiny.toml"], ["tiny.toml", "not a checkpoint"]),
    (["eval", "empty", "--threads", "x"], ["--threads"]),
    (["eval", "empty", "--threads", "-3"], [THREADS]),
    (["eval", "empty", "--threads", "1000000"], [THREADS]),
    (["predict", "empty", "f", "--threads", "0"], [THREADS]),
    (["predict"], ["checkpoint"]),
    (["predict", "empty"], ["file"]),
    (["predict", "empty", "f", "--top", "0"], ["--top"]),
    (["report"], ["run directory"]),
    (["report", "empty"], ["empty", "job.toml"]),
    (["report", "nowhere"], ["nowhere"]),
    (["info"], ["job file"]),
    (["info", "model.onnx"], ["no file", "model.onnx"]),
    (["info", "absent.toml"], ["absent.toml"]),
    (["list", "stratgies"], ["stratgies", "did you mean 'strategies'"]),
    (["list", "layers", "--markdown"], ["--markdown"]),
    (["list", "keys", "train.batch", "--markdown"], ["--markdown"]),
    (["list", "strategies", "async_sdg"], ["name in strategies", "async_sdg", "did you mean 'async_sgd'"]),
    (["synthesize"], ["digits", "xmc"]),
    (["synthesize", "digts"], ["digts", "did you mean 'digits'"]),
    (["synthesize", "digits", "--labels", "5"], ["labels"]),
    (["synthesize", "digits", "--train-size", "-1"], ["train_size"]),
    (["synthesize", "digits", "--train-size", "10", "--out", "tiny.toml"], ["tiny.toml"]),
    (["convert"], ["a file to read"]),
    (["convert", "absent.txt", "a"], ["absent.txt"]),
    (["convert", "absent.txt", "a", "--from", "xmc", "--to", "xmc-binry"], ["did you mean 'xmc-binary'"]),
    (["doctor", "now"], ["cannot read now"]),
    (["doctor", "tiny.toml", "now"], ["unexpected", "now"]),
    (["doctor", "tiny.toml", "--network"], ["--network measures no job", "tiny.toml"]),
]


class MistakesTest(ProgramTest):
    def test_each(self):
        os.mkdir(self.path("empty"))
        for words, expected in MISTAKES:
            with self.subTest(words=" ".join(words)[:100]):
                result = self.yoke(*words)
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(result.out, "")
                self.assertTrue(result.error.startswith("yoke: "), result.error)
                self.assertEqual(len(result.error.splitlines()), 1, result.error)
                self.assertLess(len(result.error), 4100)
                for word in expected:
                    self.assertRegex(result.error, word if isinstance(word, re.Pattern) else re.escape(word))
        self.assertEqual(os.listdir(self.path("empty")), [])
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")

    def test_bf16_where_it_would_be_slower(self):
        result = self.yoke("train", "tiny.toml", "--precision", "bf16",
                           environment={"ONEDNN_MAX_CPU_ISA": "AVX2", "YOKE_KERNELS": "auto"})
        self.assertEqual(result.code, 2, result.error)
        self.assertEqual(len(result.error.splitlines()), 1, result.error)
        self.assertIn("--precision: node.precision: bf16 would be slower than f32", result.error)
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")

    def test_a_run_directory_that_is_taken(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        again = self.yoke("train", "tiny.toml", "--run", "r")
        self.assertEqual(again.code, 2)
        self.assertIn("--resume", again.error)

    def test_divergence_is_status_3_and_one_line(self):
        result = self.yoke("train", "tiny.toml", "--set", "train.learning_rate=1e30")
        self.assertEqual(result.code, 3)
        self.assertEqual(len(result.error.splitlines()), 1, result.error)
        self.assertIn("learning_rate", result.error)

    def test_a_finite_explosion_is_divergence_too(self):
        wild = ("--set", "train.learning_rate=1e6", "--set", "train.clip_norm=1")
        bf16 = self.bf16_environment()
        for words in ((), ("--set", "node.precision=bf16"),
                      *(("--replicas", 2, "--strategy", strategy) for strategy in
                        ("allreduce", "async_sgd", "hogwild_sgd", "compute_groups", "easgd_sync1", "ad_psgd"))):
            with self.subTest(words=words):
                environment = bf16 if "node.precision=bf16" in words else {}
                result = self.yoke("train", "tiny.toml", *wild, *words, "--json", environment=environment)
                self.assertEqual(result.code, 3, result.out)
                self.assertEqual([event["reason"] for event in result.events() if event["event"] == "end"], ["diverged"])
                self.assertRegex(result.error, r"the loss became \S+, from 2\.\d+ before training at step \d+ \(epoch 1\)")
                self.assertIn("learning_rate", result.error)


if __name__ == "__main__":
    unittest.main()
