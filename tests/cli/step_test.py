"""yoke info --step and yoke list kernels: what a training step runs on a device, and what a device must be able to compute."""
import unittest

from program import ProgramTest

JOB = """[data]
format = "synthetic-digits"
train_size = 64
test_size = 20
[model]
layer = [{ type = "convolution", name = "first", outputs = 8, kernel = 5 }, { type = "batch_norm" }, { type = "relu" }, { type = "max_pool", kernel = 2 },
         { type = "convolution", name = "branch", outputs = 8, kernel = 3, padding = 1 }, { type = "add", inputs = ["branch", "max_pool1"] },
         { type = "silu" }, { type = "flatten" }, { type = "dropout" }, { type = "linear", name = "last", outputs = 10 }]
[train]
batch = 32
rule = "adam"
clip_norm = 1.0
"""
SPARSE = """[data]
format = "libsvm"
train = "train.txt"
test = "train.txt"
[model]
name = "mlp"
widths = [16]
[train]
batch = 4
"""


class StepTest(ProgramTest):
    def events(self, *words):
        self.write("job.toml", JOB)
        return self.good("info", "job.toml", "--step", "--json", *words).events()

    def test_a_step_adds_up(self):
        info, step = self.events()
        self.assertEqual((info["event"], step["event"], step["device"], step["batch"]), ("info", "step", "cpu", 32))
        calls = step["calls"]
        for number in ("calls", "operations", "bytes"):
            total = 0
            for name in ("forward", "backward", "update"):
                part = sum(call[number] for call in calls if call["pass"] == name)
                self.assertAlmostEqual(step["totals"][name][number], part)
                total += part
            self.assertAlmostEqual(step["totals"]["step"][number], total)
        computed = step["totals"]["forward"]["operations"] + step["totals"]["backward"]["operations"]
        self.assertAlmostEqual(computed, 32 * info["operations"])

    def test_every_layer_appears_in_order(self):
        info, step = self.events()
        layers = [layer["name"] for layer in info["layers"] if layer["kernel"] != "none"]
        of = {name: [call for call in step["calls"] if call["pass"] == name] for name in ("forward", "backward", "update")}
        in_order = [call["layer"] for call in of["forward"] if call["layer"]]
        self.assertEqual(list(dict.fromkeys(in_order)), layers)
        back = [call["layer"] for call in of["backward"] if call["layer"]]
        self.assertEqual(list(dict.fromkeys(back)), layers[::-1])
        updates = [(call["layer"], call["operation"]) for call in of["update"]]
        self.assertEqual(updates, [("", "vectors")] + [(name, "adam") for name in ("first", "batch_norm1", "branch", "last")])
        self.assertIn(("", "sum"), [(call["layer"], call["operation"]) for call in of["backward"]])
        for layer, operation in (("first", "convolution"), ("silu1", "silu"), ("dropout1", "dropout"), ("last", "linear")):
            self.assertIn((layer, operation), [(call["layer"], call["operation"]) for call in of["forward"]])
            self.assertIn((layer, operation + ", backward"), [(call["layer"], call["operation"]) for call in of["backward"]])

    def test_on_a_device_of_its_own(self):
        (_, here), (_, there) = self.events(), self.events("--set", "node.devices=emulated:0")
        self.assertEqual(there["device"], "emulated:0")
        own = {"copy", "normalize", "step loss"}  # the batch goes there in bytes, its loss comes back
        kernels = [[(call["layer"], call["operation"], call["kernel"]) for call in step["calls"] if call["operation"] not in own and call["pass"] != "update"]
                   for step in (here, there)]
        self.assertEqual(*kernels)
        updates = [(call["operation"], call["calls"]) for call in there["calls"] if call["pass"] == "update"]
        self.assertEqual(updates, [("vectors", 1), ("update start", 1), ("adam", 1)])
        for number in ("operations", "bytes"):
            self.assertAlmostEqual(there["totals"]["update"][number], here["totals"]["update"][number])
        self.assertEqual(own & {call["operation"] for call in there["calls"]}, own)
        self.assertFalse(own & {call["operation"] for call in here["calls"]})
        bytes = {call["operation"]: call["bytes"] for call in there["calls"]}
        self.assertEqual(bytes["normalize"], 32 * 784 * (1 + 4))
        self.assertEqual(bytes["copy"], 2 * (32 * (784 + 4 + 8) + 8 + 3 * 4))  # read and written: images, classes, numbers; epoch; scales

    def test_in_bf16_the_weights_are_copied(self):
        _, step = self.events("--precision", "bf16")
        self.assertEqual((step["calls"][0]["layer"], step["calls"][0]["operation"]), ("", "convert"))

    def test_sparse_rows_are_updated_on_the_host(self):
        self.write("train.txt", "".join(f"{1 - 2 * (i % 2):+d} {i + 1}:1 9:1\n" for i in range(8)))
        _, step = self.good("info", self.write("sparse.toml", SPARSE), "--step", "--json").events()
        rows = [call for call in step["calls"] if call["pass"] == "update" and "rows" in call["kernel"]]
        self.assertEqual(len(rows), 1)
        self.assertGreater(rows[0]["operations"], 0)
        _, there = self.good("info", "sparse.toml", "--step", "--json", "--set", "node.devices=emulated:0").events()
        updates = [(call["operation"], call["calls"]) for call in there["calls"] if call["pass"] == "update"]
        self.assertEqual(updates, [("update start", 1), ("momentum", 2)])

    def test_it_is_a_table(self):
        self.write("job.toml", JOB)
        text = self.good("info", "job.toml", "--step").out
        self.assertIn("a step of 32 examples on cpu:", text)
        self.assertRegex(text, r"(?m)^backward +silu1 +silu, backward +loops +1 ")
        self.assertRegex(text, r"(?m)^step +\(total\) ")

    def test_it_needs_a_job(self):
        result = self.yoke("info", "net.onnx", "--step")
        self.assertEqual(result.code, 2)
        self.assertIn("--step needs a job file", result.error)

    def test_operations_and_their_kernels(self):
        (listed,) = self.good("list", "kernels", "--json").events()
        entries = {entry["name"]: entry for entry in listed["entries"]}
        self.assertEqual(entries["dropout"]["kernels"]["cpu"], ["loops"])
        self.assertEqual(entries["linear"]["kernels"]["cpu"][-1], "reference")
        self.assertEqual(entries["linear"]["kernels"]["emulated"], entries["linear"]["kernels"]["cpu"])
        self.assertEqual(entries["active rows"]["kernels"]["emulated"], [])
        self.assertFalse(entries["adam"]["backward"])
        self.assertTrue({"convolution", "silu", "vectors", "momentum"} <= entries.keys())
        _, step = self.events()
        for call in step["calls"]:  # a step runs nothing else
            self.assertIn(call["operation"].removesuffix(", backward"), entries)


if __name__ == "__main__":
    unittest.main()
