"""Files that commands write: an output never replaces an input or part of a run, and what is no file stays what it is."""
import contextlib
import os
import shutil
import stat
import subprocess
import unittest

from program import YOKE, ProgramTest

XMC = "2 3 2\n0 0:1 2:0.5\n1 1:2\n"


class OutputFilesTest(ProgramTest):
    def trained(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")

    def make_pipe(self, name):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path(name))
        os.mkfifo(self.path(name))

    def refused(self, file, *words):
        """The file named in the refusal stays as it was."""
        with open(self.path(file), "rb") as kept:
            before = kept.read()
        result = self.yoke(*words)
        self.assertEqual((result.code, result.out), (2, ""), words)
        self.assertRegex(result.error, rf"^yoke: {file}: the output would replace .*; name another file\n$")
        with open(self.path(file), "rb") as kept:
            self.assertEqual(kept.read(), before, words)

    def test_an_input_is_no_output(self):
        self.write("x.txt", XMC)
        os.link(self.path("x.txt"), self.path("y.txt"))
        os.symlink("tiny.toml", self.path("same.toml"))
        self.write("rack.toml", '[[nodes]]\ncount = 2\noperations_per_second = 1e12\nbytes_per_second = 1e11\n[network]\nlatency = 1e-6\nbytes_per_second = 1e9\n')
        self.refused("tiny.toml", "plan", "tiny.toml", "--output", "tiny.toml")
        self.refused("same.toml", "plan", "tiny.toml", "--output", "same.toml")
        self.refused("rack.toml", "plan", "tiny.toml", "--cluster", "rack.toml", "--output", "rack.toml")
        self.refused("tiny.toml", "simulate", "tiny.toml", "--profile", "tiny.toml")
        self.refused("tiny.toml", "info", "tiny.toml", "--tune-to", "tiny.toml")
        self.write("train.csv", "a,label\n1,x\n2,y\n")
        self.write("table.toml", '[data]\nformat = "csv"\ntrain = "train.csv"\ntest = "train.csv"\n[model]\nname = "mlp"\n')
        self.refused("train.csv", "plan", "table.toml", "--output", "train.csv")
        self.refused("x.txt", "convert", "x.txt", "x.txt")
        self.refused("y.txt", "convert", "x.txt", "y.txt")

    def test_part_of_a_run_is_no_output(self):
        self.trained()
        self.write("x.txt", XMC)
        self.refused("r/last/model.safetensors", "export", "r", "r/last/model.safetensors")
        self.refused("r/last/checkpoint.json", "convert", "x.txt", "r/last/checkpoint.json")
        self.refused("r/metrics.jsonl", "report", "r", "--output", "r/metrics.jsonl")
        self.refused("r/job.toml", "plan", "tiny.toml", "--output", "r/job.toml")
        for _ in range(2):  # what yoke makes of a run may lie in it, and be made anew
            self.good("report", "r")
            self.good("export", "r", "r/last/model.onnx")

    def test_devices_and_pipes_are_written_in_place(self):
        self.trained()
        self.write("x.txt", XMC)
        self.good("convert", "x.txt", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE) as reader:
            self.good("export", "r", "pipe")
            self.good("export", "r", "model.onnx")
            with open(self.path("model.onnx"), "rb") as model:
                self.assertEqual(reader.stdout.read(), model.read())
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        with open(self.path("out.txt"), "w") as out:
            subprocess.run([YOKE, "convert", "x.txt", "/dev/stdout", "--to", "xmc", "--json"], cwd=self.folder, stdout=out, check=True, timeout=60)
        self.assertRegex(self.read("out.txt"), "^" + XMC + '{"event":"convert"')
        done = subprocess.run([YOKE, "convert", "x.txt", "/dev/full"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, "yoke: /dev/full: cannot be written: No space left on device (make room)\n"))

    def test_a_folder_is_refused(self):
        self.trained()
        for words in (["export", "r"], ["report", "r", "--output"], ["plan", "tiny.toml", "--output"], ["info", "tiny.toml", "--tune-to"]):
            result = self.yoke(*words, "r")
            self.assertEqual((result.code, result.error),
                             (2, "yoke: r: cannot be written: expected a file, a device or a pipe, and it is a folder\n"), words)

    def test_resume_does_not_write_through_links(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet", "--set", "train.epochs=1")
        for name, refused in (("log.txt", True), ("lock", True), ("metrics.jsonl", False), ("summary.json", False), ("job.toml", False)):
            with self.subTest(name=name):
                file, kept = self.path("r/" + name), self.path("kept-" + name)
                os.rename(file, kept)
                with open(kept, "rb") as out:
                    before = out.read()
                os.symlink(kept, file)
                result = self.yoke("train", "--resume", "r", "--quiet", "--set", "train.epochs=2")
                self.assertEqual(result.code, 2 if refused else 0, result.error)
                if refused:
                    self.assertRegex(result.error, rf"^yoke: .*r/{name}.* is a link; expected a file.*\n$")
                with open(kept, "rb") as out:
                    self.assertEqual(out.read(), before)
                os.remove(file)
                if refused:
                    os.rename(kept, file)

    def test_resume_does_not_wait_for_a_pipe(self):
        """A run's file that is a pipe nobody writes to: named, replaced, or left alone."""
        self.good("train", "tiny.toml", "--run", "r", "--quiet", "--set", "train.epochs=1")
        refused = {"log.txt": "/log.txt is a pipe or a device; expected a file", "lock": "/lock is a pipe or a device; expected a file",
                   "metrics.jsonl": "/metrics.jsonl is not a regular file", "job.toml": "/job.toml is not a regular file",
                   "last/model.safetensors": "/model.safetensors is not a regular file", "last/checkpoint.json": "/checkpoint.json is not a regular file"}
        for name in (*refused, "last", "good", "summary.json", "log-0.txt", "plan.toml", "timeline.json", "events.out.tfevents.1.host"):
            with self.subTest(name=name):
                run = "of-" + name.replace("/", "-")
                shutil.copytree(self.path("r"), self.path(run), symlinks=True)
                self.make_pipe(f"{run}/{name}")
                result = self.yoke("train", "--resume", run, "--quiet", "--set", "train.epochs=2")
                if name in refused:
                    self.assertEqual((result.code, result.out), (2, ""))
                    self.assertRegex(result.error, rf"^yoke: .*{refused[name]}.*\n$")
                else:
                    self.assertEqual(result.code, 0, result.error)

    def test_a_report_does_not_wait_for_a_pipe(self):
        self.trained()
        for name in ("metrics.jsonl", "job.toml", "plan.toml", "timeline.json"):
            with self.subTest(name=name):
                shutil.copytree(self.path("r"), self.path(name))
                self.make_pipe(f"{name}/{name}")
                result = self.yoke("report", name, "--output", "r.html")
                self.assertEqual((result.code, result.error), (2, f"yoke: {name}/{name} is not a regular file\n"))


if __name__ == "__main__":
    unittest.main()
