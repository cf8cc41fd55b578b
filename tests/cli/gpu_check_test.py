"""tools/gpu_check.py: one sentence without a GPU, one table with one (here a program and tests that only print)."""
import os
import pathlib
import subprocess
import unittest

from program import ProgramTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/gpu_check.py"
GPU = '[{"device": "cuda:0", "name": "Fake", "memory": 80000000000, "not_usable": ""}]'
GOOD = "[==========] 6 tests from 1 test suite ran.\\n[  PASSED  ] 6 tests.\\n"
BAD = "[  FAILED  ] GpuTest.X (3 ms)\\n[  PASSED  ] 5 tests.\\n[  FAILED  ] 1 test, listed below:\\n[  FAILED  ] GpuTest.X\\n"


class GpuCheckTest(ProgramTest):
    def script(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.chmod(self.write(name, f"#!/bin/sh\n{text}\n"), 0o755)

    def check(self, *words):
        done = subprocess.run(["python3", SCRIPT, "--build", self.path("b"), *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def program(self, gpus, why=""):
        self.script("b/bin/yoke", f"""echo '{{"event": "doctor", "cuda": {gpus}, "no_cuda": "{why}"}}'""")

    def test_no_gpu(self):
        self.program("[]", "built with CUDA, no GPU here")
        self.assertEqual(self.check(), (0, ["gpu-check: no GPU to check: built with CUDA, no GPU here."]))

    def test_a_table(self):
        self.program(GPU)
        self.script("b/tests/a_gpu_test", f"printf '{GOOD}'")
        code, lines = self.check()
        self.assertEqual((code, lines[0]), (0, "cuda:0: Fake, 80 GB"))
        self.assertEqual(lines[-1].split()[:3], ["a_gpu_test", "6", "0"])
        self.script("b/tests/b_gpu_test", f"printf '{BAD}'; exit 1")
        code, lines = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1].split(), ["b_gpu_test", "5", "1", "0", "s", "GpuTest.X"])

    def test_tests_that_do_not_end_fail(self):
        self.program(GPU)
        self.script("b/tests/a_gpu_test", "exec sleep 60")
        code, lines = self.check("--seconds", "1")
        self.assertEqual(code, 1)
        self.assertIn("out of time", lines[-1])


if __name__ == "__main__":
    unittest.main()
