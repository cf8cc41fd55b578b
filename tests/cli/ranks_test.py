"""Ranks of a launcher that were given different things, fail before they have joined, or do not come: one sentence says which and why, soon."""
import os
import signal
import time
import unittest

from launchers import finish, launchers, needed_launchers, run, start
from program import ProgramTest, TINY

SOON = 12  # seconds, on a busy machine: a timeout of the job's is 30, and joining ends after four of them
JOB = TINY + "[cluster]\ntimeout = 30\n"
LINES = ["0 1:1 2:0.5\n", "1 2:1\n", "0 1:2\n", "1 1:3 2:4\n"] * 8
LIBSVM = JOB.replace('"synthetic-digits"', '"libsvm"').replace("train_size = 300\ntest_size = 60", 'train = "train.txt"\ntest = "train.txt"')


class RanksTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        needed_launchers()

    def setUp(self):
        super().setUp()
        self.write("tiny.toml", JOB)

    def fails(self, done, *parts):
        """A mistake of the caller's, told in one line and before any timeout; it leaves no run."""
        self.assertEqual(done.code, 2, done.error)
        self.assertEqual(len(done.told), 1, done.error)
        for part in parts:
            self.assertIn(part, done.told[0])
        self.assertLess(done.seconds, SOON, done.error)
        self.assertEqual([name for name in ("runs", "r") if os.path.exists(self.path(name))], [])

    def each(self):
        for launcher in launchers():
            with self.subTest(launcher):
                yield launcher

    def quickest(self):
        """One launcher is enough for what does not depend on it."""
        return list(launchers())[:1]

    # Ranks compare what they are about to train.

    def test_another_job(self):
        for launcher in self.each():
            self.fails(run(self, launcher, 3, "train", "tiny.toml", RANK_1="--set train.learning_rate=0.5"),
                       "rank 1 has train.learning_rate = 0.5, but rank 0 has 0.02")

    def test_other_kinds_of_keys(self):
        """The rest of them: tests/train/agreement_test.cc."""
        for launcher in self.quickest():
            for words, named in [("--set train.seed=9", "train.seed = 9"), ("--set model.activation=tanh", 'model.activation = "tanh"'),
                                 ("--strategy async_sgd", 'cluster.strategy = "async_sgd"')]:
                with self.subTest(words):
                    self.fails(run(self, launcher, 2, "train", "tiny.toml", RANK_1=words), "rank 1 has " + named)

    def test_other_data(self):
        """The same job in another folder: paths may differ, what lies there may not."""
        cases = {"a shorter set": (LINES[:-1], "the number of training examples = 31, but rank 0 has 32"),
                 "a longer set": (LINES + LINES[:1], "the number of training examples = 33, but rank 0 has 32"),
                 "other labels": (LINES[1:2] + LINES[1:], "the checksum of the training labels")}
        os.mkdir(self.path("other"))
        self.write("libsvm.toml", LIBSVM)
        self.write("other/libsvm.toml", LIBSVM)
        self.write("train.txt", "".join(LINES))
        for number, launcher in enumerate(launchers()):
            for name, (lines, named) in list(cases.items())[number:] if number else cases.items():
                with self.subTest(launcher + ", " + name):
                    self.write("other/train.txt", "".join(lines))
                    self.fails(run(self, launcher, 2, "train", "--run", "r", RANK_0="libsvm.toml", RANK_1="other/libsvm.toml"), "rank 1 has " + named)
                    if number:
                        break

    def test_what_a_machine_may_have_of_its_own(self):
        os.mkdir(self.path("other"))
        for folder in ("", "other/"):
            self.write(folder + "libsvm.toml", LIBSVM)
            self.write(folder + "train.txt", "".join(LINES))
        for launcher in self.quickest():
            done = run(self, launcher, 2, "train", "--run", "r", RANK_0="libsvm.toml", RANK_1="other/libsvm.toml --threads 2 --set node.pin=false --set data.memory_limit=1")
            self.assertEqual((done.code, done.told), (0, []), done.error)

    # A rank that fails before it has joined.

    def test_a_mistake_of_one_rank(self):
        for launcher in self.each():
            self.fails(run(self, launcher, 2, "train", "tiny.toml", RANK_1="--set train.nope=1"), "rank 1: ", "unknown key 'train.nope'")

    def test_a_job_file_or_data_that_one_rank_does_not_see(self):
        for launcher in self.quickest():
            self.fails(run(self, launcher, 2, "train", RANK_0="tiny.toml", RANK_1="absent.toml"), "rank 1: ", "absent.toml")
            os.mkdir(self.path("other"))
            for folder in ("", "other/"):
                self.write(folder + "libsvm.toml", LIBSVM)
            self.write("train.txt", "".join(LINES))
            self.fails(run(self, launcher, 2, "train", "--run", "r", RANK_0="libsvm.toml", RANK_1="other/libsvm.toml"), "rank 1: ", "other/train.txt: there is no such file")

    def test_a_rank_that_cannot_join(self):
        """It has no library for the launcher: the others wait inside MPI, and cannot be told."""
        os.mkdir(self.path("none"))
        program = "YOKE_MPI_LIBRARIES=none exec $YOKE train tiny.toml"
        for launcher in self.each():
            run(self, launcher, 2, "version")  # a first start that reads libraries from a busy disk takes seconds
            done = run(self, launcher, 2, "train", "tiny.toml", COMMAND_1=program, YOKE=os.environ.get("YOKE", os.path.abspath("build/bin/yoke")))
            self.assertNotEqual(done.code, 0)
            self.assertIn("yoke: rank 1: mpirun of ", done.error)
            self.assertIn("built without the library", done.error)
            self.assertLess(done.seconds, SOON, done.error)
        for launcher in self.quickest():  # all of them
            done = run(self, launcher, 2, "train", "tiny.toml", YOKE_MPI_LIBRARIES=self.path("none"))
            self.fails(done, "built without the library")
            self.assertNotIn("rank", done.told[0])

    # Other commands.

    def test_a_mistyped_command(self):
        for launcher in self.each():
            self.fails(run(self, launcher, 2, "trian", "tiny.toml"), "unknown command 'trian'; did you mean 'train'")

    def test_other_commands_run_once(self):
        for launcher in self.each():
            done = run(self, launcher, 2, "info", "tiny.toml")
            self.assertEqual((done.code, done.told), (0, []), done.error)
            self.assertEqual(done.out.splitlines()[0], "`yoke info` runs once, on rank 0 of the 2")
            self.assertEqual(done.out.count("12,730"), 1, done.out)
        for launcher in self.quickest():
            self.assertEqual([event["event"] for event in run(self, launcher, 2, "info", "tiny.toml", "--json").events()], ["info"])
            self.fails(run(self, launcher, 2, "info", "absent.toml"), "absent.toml")
            self.assertEqual(run(self, launcher, 2, "train", "--help").out.count("Examples:"), 1)
            done = run(self, launcher, 2, "bench", "tiny.toml", "--executors", "single")  # it trains alone
            self.assertEqual((done.code, done.told), (0, []), done.error)

    # Ranks that do not come.

    def at_once(self, *words, **commands):
        """The same job under each launcher, which mostly waits."""
        return {launcher: start(self, launcher, 3, *words, **commands) for launcher in launchers()}

    def test_a_rank_that_ends_without_joining(self):
        for launcher, process in self.at_once("train", "tiny.toml", COMMAND_2="exit 0").items():
            with self.subTest(launcher):
                done = finish(process)
                self.assertNotEqual(done.code, 0)
                self.assertEqual(len(done.told), 1, done.error)
                self.assertRegex(done.told[0], "^yoke: rank 0 waited [0-9.]+ s for all 3 ranks to join: rank 2 has ended; ")
                self.assertLess(done.seconds, SOON, done.error)

    def test_who_is_missing_is_named(self):
        self.write("tiny.toml", JOB.replace("30", "1"))  # at least 10 seconds
        for launcher, process in self.at_once("train", "tiny.toml", COMMAND_1="kill -STOP $$", COMMAND_2="exec sleep 50").items():
            with self.subTest(launcher):
                done = finish(process)
                self.assertEqual(len(done.told), 1, done.error)
                self.assertRegex(done.told[0], r"^yoke: rank 0 waited 10 s for all 3 ranks to join: rank 1 \(process \d+\) is stopped, rank 2 \(process \d+\) has not joined yet; ")

    def test_a_signal_while_ranks_join(self):
        jobs = self.at_once("train", "tiny.toml", COMMAND_1="exec sleep 50")
        time.sleep(3)  # the others wait
        for launcher, process in jobs.items():
            with self.subTest(launcher):
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                done = finish(process, began)
                self.assertNotEqual(done.code, 0)
                self.assertLess(done.seconds, 8, done.error)
                self.assertEqual(done.told, [], done.error)


if __name__ == "__main__":
    unittest.main()
