"""bench/gpu.py: a table that grows from call to call (of a program that only prints), and tries on an emulated device."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from program import YOKE, ProgramTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/gpu.py"
GPU = {"device": "cuda:0", "name": "Fake", "not_usable": ""}


class GpuBenchTest(ProgramTest):
    def program(self, rate, gpus=(GPU,), why=""):
        doctor = json.dumps({"event": "doctor", "cuda": gpus, "no_cuda": why})
        epoch = json.dumps({"event": "epoch", "examples_per_second": rate})
        file = self.write("yoke", f"#!/bin/sh\n[ $1 = doctor ] && echo '{doctor}' || echo '{epoch}'\n")
        os.chmod(file, 0o755)
        return file

    def bench(self, *words, yoke=None):
        command = [sys.executable, SCRIPT, *words, "--yoke", yoke or self.path("yoke"), "--table", self.path("table.json")]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_no_gpu(self):
        self.program(1, [], "built with CUDA, no GPU here")
        self.assertEqual(self.bench("mlp"), ["gpu-bench: there is no cuda:0 here: built with CUDA, no GPU here."])
        self.program(1, [{**GPU, "not_usable": "it is too old"}])
        self.assertEqual(self.bench("mlp"), ["gpu-bench: there is no cuda:0 here: see yoke doctor."])

    def test_a_table_grows_and_is_taken_up_again(self):
        self.program(64)
        lines = self.bench("easgd", "--seconds", 0)
        self.assertEqual(lines[0], "easgd: 4 more to measure: call it again")
        lines = self.bench("easgd")
        self.assertEqual((lines[0], lines[-1].split()), ("easgd:", ["easgd_sync3", "1", "1.00", "1.1"]))
        self.program(6400)
        self.assertEqual(self.bench("easgd"), lines)
        self.assertEqual(self.bench("easgd", "--again")[-1].split(), ["easgd_sync3", "100", "1.00", "1.1"])
        self.assertEqual(set(json.loads(pathlib.Path(self.path("table.json")).read_text())["easgd"]),
                         {"easgd_original", "easgd_sync1", "easgd_sync2", "easgd_sync3"})

    def test_networks_stand_beside_pytorch(self):
        self.program(6400)
        rows = {tuple(line.split()[:2]): line.split()[2:4] for line in self.bench("lenet")[2:]}
        self.assertEqual(set(rows), {(batch, precision) for batch in ("64", "512") for precision in ("tf32", "bf16")})
        self.assertTrue(all(row[0] == "6,400" for row in rows.values()), rows)  # and PyTorch's rate where it is installed

    def test_yoke_reads_the_images(self):
        call = "import json, pathlib, sys; from lib.random_images import image_data; " \
               "print(json.dumps(image_data(pathlib.Path(sys.argv[1]), (3, 8, 7), 6, 3)['train']))"
        words = subprocess.run([sys.executable, "-c", call, self.folder], check=True, cwd=SCRIPT.parent, stdout=subprocess.PIPE, text=True).stdout
        job = self.write("job.toml", f'[data]\nformat = "numpy"\ntrain = {words.strip()}\ntask = "classes"\n[model]\nname = "linear"\n')
        [found] = self.good("info", job, "--json").events()
        self.assertEqual((found["input"], found["outputs"]), ([3, 8, 7], 3))

    def test_a_try_on_an_emulated_device(self):
        for part, columns in (("mlp", "batch"), ("easgd", "strategy"), ("hashed", "body"), ("curve", "batch"), ("covtype", "rate")):
            if part in ("covtype", "curve") and "YOKE_DATA" not in os.environ:
                continue
            with self.subTest(part):
                lines = self.bench(part, "--device", "emulated:0", "--dry-run", yoke=YOKE)
                self.assertEqual((lines[0], lines[1].split()[0]), (f"{part}:", columns))
                self.assertRegex("\n".join(lines[2:]), r"\d")
                self.assertNotIn("yoke:", "\n".join(lines[2:]))  # an error of it
        self.assertFalse(os.path.exists(self.path("table.json")))


if __name__ == "__main__":
    unittest.main()
