"""What a file system refuses, and texts and archives of other kinds: one sentence that names the path and the reason."""
import json
import os
import shutil
import subprocess
import tomllib
import unittest
import zipfile

from checkpoint_files import multiply
from program import TINY, YOKE, ProgramTest, Result

CSV = '[data]\nformat = "csv"\ntrain = "%s"\n[model]\nname = "mlp"\n[train]\nepochs = 1\n[node]\nthreads = 1\n'
RIGHTS = "-dac_override,-dac_read_search"  # by which root may read everything
AS_OTHERS = ["setpriv", "--bounding-set", RIGHTS, "--inh-caps", RIGHTS] if os.geteuid() == 0 else []


class FilesTest(ProgramTest):
    def test_ruined_weights_are_refused(self):
        self.write("d.csv", "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(60)))
        self.write("t.toml", (CSV % "d.csv").replace('"mlp"', '"mlp"\nwidths = [8]'))
        self.good("train", "t.toml", "--run", "r", "--quiet")
        multiply(self.path("r/last"), "model.safetensors", 1e30)  # finite, but their products are not
        for command in ("eval", "predict"):
            with self.subTest(command):
                result = self.yoke(command, "r/last", "d.csv")
                self.assertEqual(result.code, 2, result.out)
                self.assertRegex(result.error, r"^yoke: .*r/last: .*: the weights are ruined, or the data .*\n$")
                self.assertEqual(result.out, "")

    def forbidden(self, *words):
        done = subprocess.run([*AS_OTHERS, YOKE, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)
        return Result(done)

    def refuse(self, name):
        os.chmod(self.path(name), 0)
        self.addCleanup(os.chmod, self.path(name), 0o755)

    def test_what_may_not_be_read(self):
        self.good("train", "tiny.toml", "--run", "r", "--quiet")
        self.good("export", "r", "m.onnx")
        os.mkdir(self.path("closed"))
        for name in ("tiny.toml", "m.onnx"):
            shutil.copy(self.path(name), self.path("closed"))
        shutil.copytree(self.path("r"), self.path("closed/r"), symlinks=True)
        self.write("closed/d.csv", "1,2\n3,4\n")
        self.write("d.csv", "1,2\n3,4\n")
        self.write("open.toml", CSV % "closed/d.csv")
        self.write("file.toml", CSV % "d.csv")
        self.write("network.toml", TINY.replace('name = "mlp"\nwidths = [16]', 'file = "closed/m.onnx"'))
        for name in ("closed", "m.onnx", "tiny.toml", "d.csv"):
            self.refuse(name)
        for words, path in (("train tiny.toml", "tiny.toml"), ("train closed/tiny.toml", "closed/tiny.toml"),
                            ("train open.toml", "closed/d.csv"), ("train file.toml", "d.csv"),
                            ("train network.toml", "closed/m.onnx"), ("info m.onnx", "m.onnx"), ("info closed/m.onnx", "closed/m.onnx"),
                            ("eval closed/r", "closed/r"), ("train --resume closed/r", "closed/r"), ("report closed/r", "closed/r")):
            with self.subTest(words):
                result = self.forbidden(*words.split())
                self.assertEqual(result.code, 2, result.error)
                self.assertEqual(result.error.count("\n"), 1, result.error)
                self.assertIn(path, result.error)
                self.assertIn("Permission denied", result.error)

    def test_texts_in_utf16_are_named(self):
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            with open(self.path("d.csv"), "w", encoding=encoding) as out:
                out.write("1,2\n3,4\n")
            with open(self.path("wide.toml"), "w", encoding=encoding) as out:
                out.write(TINY)
            self.write("csv.toml", CSV % "d.csv")
            for job, path in (("csv.toml", "d.csv:1"), ("wide.toml", "wide.toml")):
                with self.subTest(job, encoding=encoding):
                    result = self.yoke("train", job)
                    self.assertEqual(result.code, 2, result.error)
                    self.assertIn(f"{path}: the file is UTF-16 text; expected UTF-8\n", result.error)

    def test_a_table_in_a_zip_archive(self):
        with zipfile.ZipFile(self.path("d.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("d.csv", "1,2,0\n3,4,1\n" * 50)
        self.write("zip.toml", CSV % "d.zip")
        self.good("train", "zip.toml", "--run", "z", "--quiet")
        with zipfile.ZipFile(self.path("d.zip"), "a") as archive:
            archive.writestr("e.csv", "1,2,0\n")
        result = self.yoke("train", "zip.toml", "--run", "y")
        self.assertEqual(result.code, 2)
        self.assertIn("d.zip: the zip archive holds 2 files; expected one", result.error)

    def test_a_run_says_what_paths_have_become(self):
        """Absolute, with the value of $NAME: in its job, which says so, and in its checkpoints. It goes on where $NAME is another or none."""
        os.mkdir(self.path("here"))
        self.write("here/d.csv", "1,2,0\n3,4,1\n" * 20)
        self.write("named.toml", CSV % "$SOMEWHERE/d.csv")
        self.good("train", "named.toml", "--run", "r", "--quiet", environment={"SOMEWHERE": "here"})
        job = self.read("r/job.toml")
        comment = "".join(line for line in job.splitlines(keepends=True) if line.startswith("#"))
        self.assertIn("# Paths are absolute, and $NAME has become its value.\n", comment)
        self.assertNotIn("SOMEWHERE", job)
        self.assertEqual(tomllib.loads(job)["data"]["train"], self.path("here/d.csv"))
        self.assertEqual(json.loads(self.read("r/last/checkpoint.json"))["job"]["data"]["train"], self.path("here/d.csv"))
        self.good("train", "--resume", "r", "--quiet", "--set", "train.epochs=2")


if __name__ == "__main__":
    unittest.main()
