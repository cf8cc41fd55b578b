"""SIGTERM to a launcher beside SIGKILL of a rank, in either order: all processes of the job end soon."""
import contextlib
import os
import signal
import time
import unittest

import launchers
from program import ProgramTest

SOON = 4  # seconds, on a busy machine; Open MPI 4's mpirun alone lets a second pass between SIGTERM and SIGKILL
GAP = 0.05  # seconds between the two signals


def runs(pid):
    """Whether a process still does something: not one that has ended and is not collected."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"
    return False


class StopTest(ProgramTest):
    def ended(self, launcher, ranks):
        """Debian 12's mpirun of Open MPI 4 can wait forever for itself (docs/replicas.md)."""
        gone = launcher.poll() is not None or launchers.leaves_its_ranks(launcher)
        return gone and not any(map(runs, ranks))

    def seconds_to_end(self, launcher, ranks):
        began = time.monotonic()
        while not self.ended(launcher, ranks) and time.monotonic() - began < 60:
            time.sleep(0.02)
        return time.monotonic() - began

    def stop(self, launcher, first):
        """What it said, and the seconds it took."""
        process = launchers.start(self, launcher, 2, "train", "tiny.toml", "--json", "--set", "train.epochs=1000000")
        self.addCleanup(process.kill)
        while '"event":"epoch"' not in (line := process.stdout.readline()):
            self.assertTrue(line, "the run ended early")
        ranks = launchers.rank_processes(process)
        signals = {signal.SIGTERM: process.pid, signal.SIGKILL: ranks[-1]}
        for number in sorted(signals, key=lambda number: number != first):
            with contextlib.suppress(ProcessLookupError):  # the launcher was quicker
                os.kill(signals[number], number)
            time.sleep(GAP)
        seconds = self.seconds_to_end(process, ranks)
        process.kill()
        return seconds, process.communicate(timeout=60)[1]

    def test_a_stop_beside_a_killed_rank(self):
        for launcher in launchers.needed_launchers():
            for first in (signal.SIGTERM, signal.SIGKILL):
                with self.subTest(launcher, first=first.name):
                    seconds, error = self.stop(launcher, first)
                    self.assertLess(seconds, SOON, error)
                    told = [line for line in error.splitlines() if line.startswith("yoke: ")]
                    self.assertLessEqual(len(told), 1, error)


if __name__ == "__main__":
    unittest.main()
