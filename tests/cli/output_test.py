"""Standard output: help, plain lines, JSON lines, a live line on a terminal only, and readers that go away."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from program import YOKE, ProgramTest

COMMANDS = ["train", "eval", "predict", "report", "synthesize", "convert", "info", "bench", "list", "doctor", "version"]


class HelpTest(ProgramTest):
    def test_program(self):
        for words in ([], ["--help"], ["-h"], ["help"]):
            text = self.good(*words).out
            for command in COMMANDS:
                self.assertRegex(text, rf"\n  {command} +\w", "a command without its sentence")
            self.assertEqual(len(re.findall(r"^  yoke ", text, re.M)), 3, "three examples")

    def test_commands(self):
        for command in COMMANDS:
            text = self.good(command, "--help").out
            self.assertGreater(len(text), 100)
            self.assertIn("yoke " + command, text)
            self.assertIn("Example", text)
            self.assertNotIn("\033", text)
            self.assertEqual(text, self.good("help", command).out)


class PlainTest(ProgramTest):
    def test_training_ends_with_the_accuracy(self):
        result = self.good("train", "tiny.toml", "--run", "r")
        lines = result.out.splitlines()
        self.assertRegex(lines[-1], r"^test accuracy 0\.\d{4}$")
        self.assertRegex(lines[-2], r"^peak memory [\d.]+ MB \(model [^,]+, program and data [^,]+\)$")
        self.assertEqual(lines[-3], "the weights are in r/last")
        ended = next(i for i, line in enumerate(lines) if line.startswith("finished after"))
        self.assertNotIn("run directory", "".join(lines[ended:]), "named once, with the weights")
        self.assertEqual(len([line for line in lines if line.startswith("epoch ")]), 2)
        self.assertNotRegex(result.out, "[\r\033]")

    def test_quiet_says_nothing(self):
        self.assertEqual(self.good("train", "tiny.toml", "--quiet").out, "")

    def test_eval_repeats_the_accuracy(self):
        trained = self.good("train", "tiny.toml", "--run", "r").out.splitlines()[-1].split()[-1]
        for checkpoint in ("r", "r/last"):
            self.assertIn(f"accuracy  {trained}", self.good("eval", checkpoint).out)

    def test_list_keys_prints_a_page(self):
        page = self.good("list", "keys", "--markdown").out
        for section in ("data", "model", "train", "node", "cluster"):
            self.assertRegex(page, rf"(?m)^## .*{section}")


class JsonTest(ProgramTest):
    def events(self, *words):
        """Without those of loading, which only a busy machine needs a second for."""
        return [event for event in self.good(*words, "--json").events() if event["event"] != "loading"]

    def kinds(self, *words):
        return [event["event"] for event in self.events(*words)]

    def test_every_command_prints_events_only(self):
        self.assertEqual(self.kinds("train", "tiny.toml", "--run", "r"), ["start", "epoch", "epoch", "end"])
        self.assertEqual(self.kinds("synthesize", "digits", "--train-size", 20, "--test-size", 5), ["synthesize"] * 2)
        images = "digits/test-images-idx3-ubyte"
        self.assertEqual(self.kinds("predict", "r", images, "--format", "idx"), ["prediction"] * 5)
        self.assertEqual(self.kinds("eval", "r", images, images.replace("images-idx3", "labels-idx1"), "--format", "idx"), ["eval"])
        for words in (["eval", "r"], ["report", "r"], ["info", "tiny.toml"], ["info", "r"], ["doctor"], ["version"], ["list"]):
            self.assertEqual(self.kinds(*words), [words[0]])
        for kind in self.good("list", "kinds", "--json").events()[0]["entries"]:
            self.assertEqual(self.kinds("list", kind["name"]), ["list"])

    def test_train_says_what_programs_rely_on(self):
        start, epoch, _, end = self.events("train", "tiny.toml", "--run", "r")
        self.assertLessEqual({"run", "parameters", "devices", "executor", "strategy", "world"}, start.keys())
        self.assertLessEqual({"epoch", "seconds", "examples_per_second", "train", "test"}, epoch.keys())
        self.assertEqual(end["reason"], "finished")
        self.assertEqual(end["run"], "r")
        with open(self.path("r/metrics.jsonl")) as lines:
            self.assertEqual([json.loads(line)["event"] for line in lines], ["start", "epoch", "epoch", "end"])

    def test_predictions_are_best_first_and_named_as_the_data_names_them(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        self.good("synthesize", "digits", "--train-size", 1, "--test-size", 4)
        events = self.good("predict", "r/last", "digits/test-images-idx3-ubyte", "--format", "idx", "--top", 3, "--json").events()
        self.assertEqual([event["index"] for event in events], [0, 1, 2, 3])
        for event in events:
            self.assertEqual(len(event["labels"]), 3)
            self.assertTrue(set(event["labels"]) < set("0123456789"))
            self.assertEqual(event["scores"], sorted(event["scores"], reverse=True))
            self.assertLessEqual(sum(event["scores"]), 1.0001)
        all_ten = self.good("predict", "r", "digits/test-images-idx3-ubyte", "--format", "idx", "--top", 99, "--json").events()
        self.assertAlmostEqual(sum(all_ten[0]["scores"]), 1, places=4)


class FormsTest(ProgramTest):
    def entries(self, *words):
        (event,) = self.good("list", *words, "--json").events()
        return {entry["name"]: entry for entry in event["entries"]}

    def with_forms(self):
        return [(kind, name, entry) for kind in ("strategies", "executors") for name, entry in self.entries(kind).items() if "forms" in entry]

    def test_lists_name_the_forms(self):
        found = self.with_forms()
        self.assertLessEqual({"async_sgd", "compute_groups", "easgd_original"}, {name for _, name, _ in found})
        for kind, name, entry in found:
            self.assertIn("paper", entry["forms"])
            self.assertIn(entry["default_form"], entry["forms"])
            self.assertEqual(self.entries(kind, name), {name: entry})
        self.assertRegex(self.good("list", "strategies").out, r"\nasync_sgd [^\n]*\n( [^\n]*\n)* +forms: paper, yoke \(default\)\n")
        self.assertRegex(self.good("list", "strategies").out, r"\neasgd_original [^\n]*\n( [^\n]*\n)* +forms: paper \(default\), overlapped\n")

    def test_one_part_says_what_differs(self):
        for kind, name, entry in self.with_forms():
            forms = ", ".join(form + " (default)" * (form == entry["default_form"]) for form in entry["forms"])
            lines = self.good("list", kind, name).out.splitlines()
            self.assertEqual(" ".join(lines), f"{name}: {entry['summary']} forms: {forms} {entry['form_help']}")
            self.assertLessEqual(len(lines) - 1 - lines.index(f"forms: {forms}"), 3, name)
        self.assertRegex(self.good("list", "strategies", "allreduce").out, r"^allreduce: [^\n]+\n[^\n]+\n$")
        self.assertEqual(self.yoke("list", "strategies", "async_sdg").code, 2)


class TerminalTest(ProgramTest):
    def on_terminal(self, *words, columns=80):
        """What the program writes to a terminal of so many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([YOKE, *words], cwd=self.folder, stdout=slave, stderr=subprocess.PIPE,
                                   env=dict(os.environ, TERM="xterm"))
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(process.communicate()[1], b"")
        self.assertEqual(process.returncode, 0)
        return text.decode()

    def test_a_live_line_that_fits(self):
        for columns in (40, 80, 120):
            text = self.on_terminal("train", "tiny.toml", "--set", "train.epochs=8", "--set", "data.train_size=5000", columns=columns)
            live = re.findall(r"\r\033\[K([^\r\n]+)(?=\r\033)", text)
            self.assertTrue(live, "no live line")
            self.assertLess(max(map(len, live)), columns)
            self.assertRegex(live[-1], r"epoch \d/8  loss \d")
            self.assertRegex(text, r"test accuracy 0\.\d{4}\r\n$")

    def test_a_table_of_layers_that_fits(self):
        names = [f"a_layer_with_a_name_as_long_as_that_of_an_exported_one_{i}" for i in range(3)]
        layers = "".join(f'[[model.layer]]\ntype = "linear"\noutputs = 10\nname = "{name}"\n' for name in names)
        branch = f'inputs = ["{names[0]}"]\n[[model.layer]]\ntype = "add"\ninputs = ["{names[1]}", "{names[2]}"]\n'
        self.write("long.toml", '[data]\nformat = "synthetic-digits"\n' + layers + branch)
        for columns in (150, 200):
            text = self.on_terminal("info", "long.toml", columns=columns)
            table = text.split("\r\n\r\n")[1].split("\r\n")
            self.assertEqual(len(table), 6)
            self.assertLessEqual(max(map(len, table)), columns)
            self.assertIn("_0  linear", table[1], "its end stays")
        self.assertIn(names[2], self.on_terminal("info", "long.toml", columns=400))

    def test_no_live_line_without_cursor(self):
        os.environ["TERM"], before = "dumb", os.environ.get("TERM", "")
        self.addCleanup(os.environ.__setitem__, "TERM", before)
        result = self.good("train", "tiny.toml")
        self.assertNotIn("\r", result.out)


class PipeTest(ProgramTest):
    def closed(self, *words):
        """The program's end when nobody reads its standard output."""
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([YOKE, *words], cwd=self.folder, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
        os.close(write)
        return done

    def test_a_reader_that_went_away_is_no_error(self):
        for words in (["--help"], ["list", "keys"], ["doctor", "--json"], ["train", "tiny.toml", "--run", "r"]):
            done = self.closed(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        self.assertIn("accuracy", self.read("r/summary.json"), "training went on to its end")

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([YOKE, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
