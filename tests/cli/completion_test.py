"""yoke completion: scripts that complete words in a shell, from the program's own tables."""
import re
import shutil
import subprocess
import unittest

from program import ProgramTest


class CompletionTest(ProgramTest):
    def completed(self, *words):
        """What bash offers for the last of these words."""
        line = " ".join(f"'{word}'" for word in words)
        text = self.good("completion", "bash").out + f"\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _yoke; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        done = subprocess.run(["bash", "--norc"], input=text, cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.completed("yoke", "pre"), ["predict"])
        self.assertIn("--time-limit", self.completed("yoke", "train", "--t"))
        self.assertIn("train.early_stopping.patience=", self.completed("yoke", "train", "--set", "train.early"))
        self.assertEqual(self.completed("yoke", "train", "ti"), ["tiny.toml"])

    def test_every_command_is_known(self):
        names = [line.split()[0] for line in self.good("--help").out.splitlines() if line.startswith("  ") and not line.startswith("  yoke")]
        for shell in ("bash", "zsh", "fish"):
            script = self.good("completion", shell).out
            for name in names:
                self.assertRegex(script, rf"\b{name}\b", shell)

    def test_the_scripts_are_read(self):
        for shell in ("zsh", "fish"):
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n"], input=self.good("completion", shell).out, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_manual_pages(self):
        names = re.findall(r"^\.BR yoke\\-(\w+) \(1\)", self.good("man").out, re.MULTILINE)
        self.assertIn("train", names)
        for name in [*names, "keys"]:
            page = self.good("man", name).out
            self.assertTrue(page.startswith(f".TH YOKE-{name.upper()} "), page[:40])
            self.assertIn(".SH NAME\n", page)
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.stderr, "")
        self.assertIn(".B early_stopping", self.good("man", "keys").out)
        self.assertIn("did you mean 'train'", self.yoke("man", "trian").error)

    def test_mistakes(self):
        result = self.yoke("completion", "fisch")
        self.assertEqual(result.code, 2)
        self.assertIn("unknown shell 'fisch'; did you mean 'fish'?", result.error)


if __name__ == "__main__":
    unittest.main()
