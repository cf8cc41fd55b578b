"""tools/setup where there is no apt-get: one sentence says what is needed and how to go on."""
import os
import shutil
import subprocess
import tempfile
import unittest

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/setup")


class SetupTest(unittest.TestCase):
    def test_without_apt(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("bash"), os.path.join(folder, "bash"))  # all that the script finds
            for words in [[], ["build"], ["test"], ["build", "test", "tidy"]]:
                with self.subTest(words=words):
                    done = subprocess.run([SETUP, *words], env={"PATH": folder, "HOME": folder}, capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    for word in ["apt-get", "g++ 12", "CMake 3.25", "oneDNN 3", "ONNX 1.12", "cmake --preset release"]:
                        self.assertIn(word, done.stderr)
                    self.assertEqual(os.listdir(folder), ["bash"])


if __name__ == "__main__":
    unittest.main()
