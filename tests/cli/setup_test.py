"""tools/setup where there is no apt-get: one sentence says what is needed and how to go on, until a build is configured. What it asks of apt."""
import os
import shutil
import subprocess
import tempfile
import unittest

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/setup")


class SetupTest(unittest.TestCase):
    """Each test has a clone of that script alone, and a PATH with all that the script finds."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        for name in ("bin", "tools"):
            os.mkdir(os.path.join(self.folder, name))
        os.symlink(shutil.which("bash"), os.path.join(self.folder, "bin/bash"))
        shutil.copy(SETUP, os.path.join(self.folder, "tools"))

    def setup(self, *words, **environment):
        """Exit status, output and errors."""
        environment |= {"PATH": os.path.join(self.folder, "bin"), "HOME": self.folder}
        done = subprocess.run([os.path.join(self.folder, "tools/setup"), *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(sorted(set(os.listdir(self.folder)) - {"build"}), ["bin", "tools"])
        return done.returncode, done.stdout, done.stderr

    def test_without_apt(self):
        for words in [[], ["build"], ["test"], ["build", "test", "tidy"]]:
            with self.subTest(words=words):
                status, out, error = self.setup(*words)
                self.assertEqual((status, out), (1, ""))
                self.assertEqual(len(error.splitlines()), 1, error)
                for word in ["apt-get", "g++ 12", "CMake 3.25", "oneDNN 3", "ONNX 1.12", "cmake --preset release", "YOKE_SETUP=off"]:
                    self.assertIn(word, error)

    def command(self, name, script):
        path = os.path.join(self.folder, "bin", name)
        with open(path, "w") as out:
            out.write(f"#!{shutil.which('bash')}\n{script}\n")
        os.chmod(path, 0o755)

    def test_ubuntu_has_no_package_of_chromium(self):
        for name in ("apt-get", "sudo"):
            self.command(name, "exit 9")
        self.command("dpkg-query", "exit 1")
        for grep, asked in (("exit 0", False), ("exit 1", True)):  # whether this is Ubuntu
            self.command("grep", grep)
            status, out, error = self.setup("test")
            self.assertEqual((status, error), (9, ""))
            self.assertIn("libgtest-dev", out)
            self.assertEqual("chromium" in out, asked)

    def test_what_was_installed_by_hand_is_enough(self):
        self.assertEqual(self.setup("build", "test", "tidy", YOKE_SETUP="off"), (0, "", ""))
        os.makedirs(os.path.join(self.folder, "build/release"))
        self.assertEqual(self.setup("build")[0], 1)
        open(os.path.join(self.folder, "build/release/build.ninja"), "w").close()
        self.assertEqual(self.setup("build", "test", "tidy"), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
