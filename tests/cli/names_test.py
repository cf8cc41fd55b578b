"""Names from outside (files, folders, runs, jobs): refused at the start, or working to the end."""
import os
import shutil
import unittest

from program import ProgramTest

CSV = "".join(f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(40))
TABLE = '[data]\nformat = "csv"\ntrain = "table.csv"\n[model]\nname = "linear"\n[train]\nepochs = 1\n'


class NamesTest(ProgramTest):
    def refused(self, *words):
        """The one line about a mistake; nothing was begun."""
        result = self.yoke(*words)
        self.assertEqual(result.code, 2, result.error)
        self.assertEqual(len(result.error.splitlines()), 1, result.error)
        self.assertFalse(os.path.exists(self.path("runs")), "a refused job left a run directory")
        return result.error

    def test_data_below_a_folder_that_is_not_utf8(self):
        folder = "caf\udce9"  # a byte 0xE9, as Python writes it
        os.mkdir(self.path(folder))
        self.write(folder + "/table.csv", CSV)
        self.write(folder + "/job.toml", TABLE)
        self.write("job.toml", TABLE)
        self.assertIn(r"caf\xE9/job.toml:3: data.train: ", self.refused("train", folder + "/job.toml"))
        self.assertIn("--set: data.train: ", self.refused("train", "job.toml", "--set", f"data.train={folder}/table.csv"))
        self.good("train", folder + "/job.toml", "--set", "data.train=", "--set", "data.format=synthetic-digits",
                  "--set", "data.train_size=50", "--set", "data.test_size=10", "--quiet")
        self.assertRegex(os.listdir(self.path("runs"))[0], r"^job-\d{8}-\d{6}$")

    def test_a_job_with_an_odd_name(self):
        shutil.copy(self.path("tiny.toml"), self.path("a\n[data]\udce9.toml"))
        self.good("train", "a\n[data]\udce9.toml", "--quiet")
        (run,) = os.listdir(self.path("runs"))
        self.assertRegex(run, r"^a_\[data\]_-\d{8}-\d{6}$")
        self.good("train", "--resume", "runs/" + run, "--quiet")

    def test_labels_with_control_characters_stay_on_their_line(self):
        self.write("job.toml", '[data]\nformat = "cifar"\ntrain = "c.bin"\nclass_names = ["a\\nb", "\\u001b[1mc", ' +
                   ", ".join(f'"{i}"' for i in range(8)) + ']\n[model]\nname = "linear"\n[train]\nepochs = 1\n')
        with open(self.path("c.bin"), "wb") as out:
            for i in range(20):
                out.write(bytes([i % 10]) + bytes([i]) * 3072)
        self.good("train", "job.toml", "--run", "r", "--quiet")
        text = self.good("predict", "r", "c.bin", "--top", 10).out
        self.assertEqual(len(text.splitlines()), 20)
        self.assertIn(r"a\x0Ab", text)
        self.assertNotIn("\033", text)
        self.assertIn("a\nb", self.good("predict", "r", "c.bin", "--top", 10, "--json").events()[0]["labels"])


class RunDirectoryTest(ProgramTest):
    def test_a_folder_of_other_files_is_left_alone(self):
        os.mkdir(self.path("mine"))
        self.write("mine/summary.json", "precious")
        result = self.yoke("train", "tiny.toml", "--run", "mine")
        self.assertEqual(result.code, 2)
        self.assertIn("mine holds other files (summary.json)", result.error)
        self.assertEqual(os.listdir(self.path("mine")), ["summary.json"])
        self.assertEqual(self.read("mine/summary.json"), "precious")
        os.remove(self.path("mine/summary.json"))
        self.good("train", "tiny.toml", "--run", "mine", "--quiet")

    def test_a_lost_job_is_taken_from_the_checkpoint(self):
        self.good("train", "tiny.toml", "--run", "r", "--set", "train.epochs=1", "--quiet")
        os.remove(self.path("r/job.toml"))
        self.assertIn("--resume r", self.yoke("train", "tiny.toml", "--run", "r").error)
        text = self.good("train", "--resume", "r", "--set", "train.epochs=2").out
        self.assertIn("job.toml is missing: the job is that of the newest checkpoint\n", text)
        self.assertIn("epoch 2/2", text)
        self.assertIn("epochs = 2", self.read("r/job.toml"))


if __name__ == "__main__":
    unittest.main()
