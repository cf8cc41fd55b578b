"""What is larger than the machine, or than the system allows, ends in one sentence: sizes, memory, threads."""
import os
import resource
import subprocess
import unittest

import launchers
from program import YOKE, ProgramTest, Result

HUGE = [2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]

LAYERS = """[data]
format = "synthetic-digits"
train_size = 50
test_size = 10
[[model.layer]]
type = "convolution"
outputs = 4
kernel = 3
[[model.layer]]
type = "linear"
outputs = 10
"""

# Keys; how the sentence names what is too large.
SIZES = [("tiny.toml", "model.widths=[{}]", "model.widths"), ("tiny.toml", "train.batch={}", "train.batch"),
         ("tiny.toml", "cluster.replicas={}", "cluster.replicas"), ("tiny.toml", "node.threads={}", "node.threads"),
         ("tiny.toml", "data.train_size={}", "data.train_size")]
# Sizes that a key may have and a machine hardly: how the sentence names the layer.
LARGE = [("model.widths=[1000000000]", "linear1", "GB"), ("model.widths=[1000000000, 1000000000]", "linear2", "too many")]


class LimitsTest(ProgramTest):
    def refused(self, result, *words, code=2):
        self.assertEqual(result.code, code, result.error)
        self.assertEqual(len(result.error.splitlines()), 1, result.error)
        for word in words:
            self.assertIn(word, result.error)

    def test_sizes_of_no_machine(self):
        for command in ["info", "train"]:
            for job, setting, name in SIZES:
                for size in HUGE if command == "info" else HUGE[-1:]:
                    with self.subTest(command=command, setting=setting, size=size):
                        self.refused(self.yoke(command, job, "--set", setting.format(size)), name, str(size))
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")

    def test_sizes_of_a_layer(self):
        for key in ["outputs", "kernel", "stride", "padding", "dilation", "groups"]:
            for size in HUGE:
                layers = LAYERS.replace("kernel = 3\n", "kernel = 3\n" if key != "kernel" else "", 1)
                layers = layers.replace("outputs = 4\n", f"outputs = 4\n{key} = {size}\n" if key != "outputs"
                                        else f"outputs = {size}\n", 1)
                self.write("layers.toml", layers)
                with self.subTest(key=key, size=size):
                    self.refused(self.yoke("info", "layers.toml"), "layers.toml:", key)

    def test_a_model_larger_than_the_machine(self):
        for setting, layer, word in LARGE:
            for command in ["info", "train"]:
                with self.subTest(command=command, setting=setting):
                    result = self.yoke(command, "tiny.toml", "--set", setting)
                    self.refused(result, word, *([layer] if command == "info" else []))
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")

    def test_info_describes_what_would_not_fit(self):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        batch, layers = 1_000_000, 16
        widths = [memory // layers // (4 * batch)] * layers
        result = self.good("info", "tiny.toml", "--json", "--set", f"train.batch={batch}", "--set", f"model.widths={widths}")
        self.assertGreater(result.events()[0]["memory"]["activations"], memory)

    def test_a_timeout_longer_than_a_clock_counts(self):
        self.good("train", "tiny.toml", "--quiet", "--replicas", "2", "--set", "cluster.timeout=1e10")

    def test_more_replicas_than_examples(self):
        result = self.yoke("train", "tiny.toml", "--replicas", "1000000")
        self.refused(result, "--replicas: cluster.replicas: 1000000 replicas", "300 examples")
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")

    def without_threads(self, *words):
        """Runs the program where no further thread has room for its stack: that limit holds for root too."""
        def limit():
            stack = 2**40
            resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (stack // 2, stack // 2))

        done = subprocess.run([YOKE, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, preexec_fn=limit)
        return Result(done)

    @unittest.skipIf(launchers.sanitized(), "sanitizers reserve more memory than the limit that leaves no room for a thread")
    def test_no_further_thread(self):
        for words in [["--replicas", "8"], ["--threads", "2"]]:
            with self.subTest(words=words):
                result = self.without_threads("train", "tiny.toml", "--run", "r", *words)
                self.refused(result, "the system refuses this process", "ulimit -u", code=1)
                self.assertFalse(os.path.exists(self.path("r")), "a refused job left a run directory")
        self.assertEqual(self.without_threads("train", "tiny.toml", "--run", "r").code, 0)

    @unittest.skipIf(launchers.sanitized(), "sanitizers reserve more memory than the limit")
    def test_no_address_space_for_an_emulated_device(self):
        """A limit of the system, not a fault of the program, whose source it would name."""
        limit = 2**36
        done = subprocess.run([YOKE, "train", "tiny.toml", "--run", "r", "--set", 'node.devices=["emulated:0"]'], cwd=self.folder,
                              capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((done.returncode, done.stderr),
                         (1, "yoke: the system has no address space for an emulated device (`ulimit -v unlimited`)\n"))

    def with_threads(self, most, *words):
        """Runs the program where its user may have so many threads. That limit does not hold for root: as root the test
        takes another user's name, keeps root's files, and drops what lets it pass the limit."""
        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

        other = ["setpriv", "--ruid=65534", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
        done = subprocess.run([*other, YOKE, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, preexec_fn=limit)
        return Result(done)

    @unittest.skipIf(launchers.sanitized(), "sanitizers start threads of their own and end the process without them")
    def test_too_few_threads(self):
        """One more is allowed each time, until all are there: each place that starts a thread is the first refused once."""
        jobs = [["--replicas", "8"], ["--replicas", "2", "--threads", "4"], ["--threads", "4", "--set", "node.executor=split"],
                ["--replicas", "3", "--set", "cluster.strategy=hogwild_sgd"]]
        for job, words in enumerate(jobs):
            most = 1
            while True:
                with self.subTest(words=words, most=most):
                    result = self.with_threads(most, "train", "tiny.toml", "--quiet", "--run", f"r{job}-{most}", *words)
                    if result.code != 0:
                        self.refused(result, "the system refuses this process", "ulimit -u", code=1)
                if result.code == 0 or most == 40 or os.geteuid() != 0:  # else its other programs count too
                    break
                most += 1
            self.assertGreater(most, 1 if os.geteuid() == 0 else 0)
            self.assertLess(most, 40)


if __name__ == "__main__":
    unittest.main()
