"""tools/hosts: training over TCP between network namespaces of this machine, which are gone afterwards."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from launchers import launchers
from program import YOKE, ProgramTest

SKIPPED = 77  # exit status
HOSTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/hosts")

# Host 1 receives a megabyte from host 2 and prints how many seconds that took.
SENDER = """import os, socket, time
if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
    other = socket.create_server(("10.77.0.1", 5000)).accept()[0]
    began = time.monotonic()
    while other.recv(1 << 16):
        pass
    print(time.monotonic() - began)
else:
    while True:
        try:
            other = socket.create_connection(("10.77.0.1", 5000))
            break
        except OSError:
            time.sleep(0.05)
    other.sendall(bytes(1000000))
"""


def why_not():
    """The reason why this machine cannot run the test, or None."""
    if "openmpi4" not in launchers():
        return "no library for Open MPI 4 in this build"
    if not (shutil.which("ip") and shutil.which("tc")):
        return "no iproute2: tools/setup test installs it"
    if os.geteuid():
        return "only root may make network namespaces"
    name = f"yoke-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return f"this machine allows no network namespaces: {made.stderr.strip()}" if made.returncode else None


def namespaces(process):
    """Those made by this call of tools/hosts."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"yoke-hosts-{process.pid}-")]


class HostsTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            print(f"skipped: {reason}", file=sys.stderr)
            sys.exit(SKIPPED)

    def start_hosts(self, *words, **more):
        return subprocess.Popen([HOSTS, *map(str, words)], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def test_two_hosts_train_and_leave_nothing_behind(self):
        process = self.start_hosts(2, "--rate", "1gbit", "--", YOKE, "train", "tiny.toml", "--json", "--run", "run")
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        self.assertIn('"reason":"finished"', out.replace(" ", ""))
        self.assertIn('"world":2', out.replace(" ", ""))
        log = self.read("run/log.txt")
        for host in (1, 2):
            self.assertIn(f"yoke-hosts-{process.pid}-{host}", log)  # a machine of its own
        self.assertEqual(namespaces(process), [])

    def test_a_link_is_as_fast_as_its_rate(self):
        process = self.start_hosts(2, "--rate", "40mbit", "--", sys.executable, self.write("sender.py", SENDER))
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        self.assertGreater(float(out), 0.18)
        self.assertLess(float(out), 2)  # the other end of a busy machine

    def test_an_interrupted_run_and_a_failing_one_leave_nothing_behind(self):
        failing = self.start_hosts(2, "--", "sh", "-c", "exit 7")  # beside the other: Open MPI takes seconds to give up
        process = self.start_hosts(2, "--", YOKE, "train", "tiny.toml", "--set", "train.epochs=100000", "--json", "--run", "run")
        self.assertTrue(any('"start"' in line for line in process.stdout))  # on a busy machine it tells of loading before
        self.assertEqual(len(namespaces(process)), 3)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0, error)
        failing.communicate(timeout=60)
        self.assertEqual(failing.returncode, 7)
        self.assertEqual(namespaces(process) + namespaces(failing), [])

    def test_mistakes_are_told_in_a_sentence(self):
        with tempfile.TemporaryDirectory() as folder:  # that others may read
            os.chmod(folder, 0o755)
            copy = shutil.copy(HOSTS, folder)
            done = subprocess.run(["/usr/bin/env", "python3", copy, "2", "--", "true"], capture_output=True, text=True, check=False, user=65534,
                                  cwd="/")
        self.assertEqual((done.returncode, done.stderr), (1, "hosts: only root may make network namespaces: use sudo\n"))
        process = self.start_hosts(2, "--rate", "fast", "--", "true")
        self.assertIn("expected a rate such as 100mbit", process.communicate(timeout=60)[1])


if __name__ == "__main__":
    unittest.main()
