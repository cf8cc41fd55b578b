"""yoke doctor: what it finds, and its mistakes."""
import os
import unittest

from program import ProgramTest


class DoctorTest(ProgramTest):
    def launcher(self, name):
        file = self.write(name, "#!/bin/sh\n")
        os.chmod(file, 0o755)
        return file

    def test_a_launcher_is_listed_once_however_many_names_it_has(self):
        os.mkdir(self.path("usr"))
        first, other = self.launcher("usr/mpirun"), self.launcher("usr/mpirun.mpich")
        os.symlink("mpirun", self.path("usr/mpirun.openmpi"))
        os.symlink("usr", self.path("bin"))
        path = os.pathsep.join([self.path("usr"), self.path("bin"), self.path("absent")])
        [found] = self.good("doctor", "--json", environment={"PATH": path}).events()
        self.assertEqual(found["launchers"], [first, other])

    def test_instructions_can_be_lowered_but_not_raised(self):
        levels = ["avx2", "avx512", "avx512_bf16", "amx"]
        own = self.good("doctor", "--json", environment={"YOKE_ISA": ""}).events()[0]["isa"]
        for level in levels[:levels.index(own) + 1]:
            found = self.good("doctor", "--json", environment={"YOKE_ISA": level}).events()[0]
            self.assertEqual(found["isa"], level)
            self.assertTrue(found["instructions"].startswith("avx2" if level == "avx2" else "avx512"), found["instructions"])
        for level in levels[levels.index(own) + 1:]:
            refused = self.yoke("doctor", environment={"YOKE_ISA": level})
            self.assertEqual(refused.code, 2)
            self.assertEqual(refused.error, f"yoke: the environment variable YOKE_ISA asks for {level}, but this processor has only {own}\n")
        refused = self.yoke("doctor", environment={"YOKE_ISA": "avx3"})
        self.assertEqual((refused.code, refused.out), (2, ""))
        for word in ["YOKE_ISA", "avx3", *levels]:
            self.assertIn(word, refused.error)

    def test_pages_are_on_or_off(self):
        for pages in ("", "on", "off"):
            self.good("doctor", environment={"YOKE_HUGE_PAGES": pages})
        refused = self.yoke("doctor", environment={"YOKE_HUGE_PAGES": "foo"})
        self.assertEqual((refused.code, refused.out), (2, ""))
        self.assertEqual(refused.error, "yoke: the environment variable YOKE_HUGE_PAGES is 'foo', expected on or off\n")

    def test_says_which_gpus_there_are_or_why_there_is_none(self):
        [found] = self.good("doctor", "--json").events()
        [finding] = [each for each in found["findings"] if each["topic"] == "GPUs"]
        if found["cuda"]:
            self.assertEqual(found["no_cuda"], "")
            self.assertIn("cuda:0", finding["found"])
            self.assertGreater(found["cuda"][0]["memory"], found["cuda"][0]["free"])
        else:
            self.assertRegex(found["no_cuda"], r"^(not built with CUDA|built with CUDA, no (driver|GPU) here( \(.*\))?)$")
            self.assertTrue(finding["found"].endswith(found["no_cuda"]), finding)

    def test_mistakes(self):
        for words, part in [(["--replicas", 2], "needs --network"), (["--network", "--timeout", 0], "above 0"),
                            (["--network", "--timeout", "inf"], "at most 1000000, got inf"), (["--network", "--timeout", "1e400"], "at most 1000000"),
                            (["--network", "--timeout", "nan"], "above 0"), (["--network", "--replicas", 0], "2 ranks or more, got 0"), (["--network", "--replicas", 1], "got 1"),
                            (["--network", "--replicas", -1], "got -1")]:
            with self.subTest(words):
                done = self.yoke("doctor", *words)
                self.assertEqual((done.code, done.out), (2, ""))
                self.assertIn(part, done.error)
                self.assertEqual(len(done.error.splitlines()), 1, done.error)


if __name__ == "__main__":
    unittest.main()
