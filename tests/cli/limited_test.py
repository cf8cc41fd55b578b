"""tools/limited: the program sees the limits of the control group that it is started in, which is gone afterwards."""
import glob
import json
import os
import subprocess
import sys
import unittest

from program import YOKE

SKIPPED = 77  # exit status
LIMITED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/limited")
CORES = os.path.join(os.path.dirname(LIMITED), "cores")


# The same on a kernel that refuses every value.
REFUSED = """import sys
limited = {"__name__": "limited"}
exec(open(sys.argv.pop(1)).read(), limited)
def refuse(*_):
    raise OSError("refused")
limited["write"] = refuse
limited["main"]()"""


def limited(*words, program=(LIMITED,)):
    """Exit status, output and errors; fails on a group that is left."""
    with subprocess.Popen([*program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, error = process.communicate(timeout=60)
    left = glob.glob(f"/sys/fs/cgroup/**/yoke-limited-{process.pid}", recursive=True)
    if left:
        raise AssertionError(f"left behind: {left}")
    return process.returncode, out, error


def uncounted_swap():
    """Whether there is swap that the kernel does not count, where what takes more memory goes."""
    with open("/proc/swaps") as swaps:
        some = len(swaps.readlines()) > 1
    return some and not any(glob.glob(f"/sys/fs/cgroup/**/{name}", recursive=True)
                            for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"))


class LimitedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        status, _, error = limited("--memory", "1G", "--cpus", "1", "--", "true")
        if status:
            print(f"skipped: this machine allows no control groups: {error.strip()}", file=sys.stderr)
            sys.exit(SKIPPED)

    def test_the_program_sees_the_limits(self):
        status, out, error = limited("--memory", "1.5G", "--cpus", "1", "--", YOKE, "doctor", "--json")
        self.assertEqual((status, error), (0, ""))
        found = json.loads(out)
        self.assertEqual((found["cores"]["usable"], found["memory"]["limit"]), (1, 3 << 29))

    def test_what_takes_more_memory_is_killed(self):
        if uncounted_swap():
            self.skipTest("this machine has swap that its control groups cannot limit")
        killed = "limited: the kernel killed 1 of its processes for want of memory\n"
        self.assertEqual(limited("--memory", "100M", "--", sys.executable, "-c", "bytearray(300 << 20)"), (137, "", killed))

    def test_the_tools_see_the_quota(self):
        for quota, most in (("0.5", 1), ("1.5", 2)):
            self.assertEqual(limited("--cpus", quota, "--", CORES), (0, f"{min(most, len(os.sched_getaffinity(0)))}\n", ""))

    def test_nothing_is_left(self):
        self.assertEqual(limited("--cpus", "0.5", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 3"), (3, "", ""))

    def test_groups_below_are_removed(self):
        script = "group=$(find /sys/fs/cgroup -type d -name yoke-limited-$PPID | head -1) && mkdir $group/deep $group/deep/deeper"
        self.assertEqual(limited("--cpus", "0.5", "--", "sh", "-c", script), (0, "", ""))

    def test_a_group_that_cannot_be_limited_is_removed(self):
        program = (sys.executable, "-c", REFUSED, LIMITED)
        self.assertEqual(limited("--memory", "1G", "--", "true", program=program), (1, "", "limited: refused\n"))

    def test_mistakes_are_told_in_a_sentence(self):
        self.assertIn("expected a size such as 512M", limited("--memory", "much", "--", "true")[2])
        self.assertIn("which command?", limited("--memory", "1G")[2])


if __name__ == "__main__":
    unittest.main()
