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

    def test_mistakes(self):
        for words, part in [(["--replicas", 2], "needs --network"), (["--network", "--timeout", 0], "above 0"),
                            (["--network", "--replicas", 0], "2 ranks or more, got 0"), (["--network", "--replicas", 1], "got 1"),
                            (["--network", "--replicas", -1], "got -1")]:
            with self.subTest(words):
                done = self.yoke("doctor", *words)
                self.assertEqual((done.code, done.out), (2, ""))
                self.assertIn(part, done.error)
                self.assertEqual(len(done.error.splitlines()), 1, done.error)


if __name__ == "__main__":
    unittest.main()
