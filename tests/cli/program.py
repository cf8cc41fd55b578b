"""What the tests of the program share: running it ($YOKE) in a folder of its own, and a job that trains in a moment."""
import contextlib
import csv
import json
import os
import pty
import struct
import subprocess
import tempfile
import unittest
import zlib

YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))

TINY = """[data]
format = "synthetic-digits"
train_size = 300
test_size = 60
[model]
name = "mlp"
widths = [16]
[train]
epochs = 2
batch = 32
learning_rate = 0.02
[node]
threads = 1
"""


def png(grey, size=4):
    """A grey image, square."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes([grey] * size) for _ in range(size))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Result:
    def __init__(self, done):
        self.code, self.out, self.error = done.returncode, done.stdout, done.stderr

    def events(self):
        """The lines of standard output, each a JSON object with its event."""
        return [json.loads(line) for line in self.out.splitlines()]


class ProgramTest(unittest.TestCase):
    """Each test runs in an empty folder that holds tiny.toml."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = os.path.realpath(self.temporary.name)
        os.environ.pop("YOKE_CACHE", None)
        os.environ["XDG_CACHE_HOME"] = self.folder  # what planners keep
        self.write("tiny.toml", TINY)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)
        return self.path(name)

    def table(self, name, names, rows):
        """Writes a CSV file."""
        with open(self.path(name), "w", newline="") as out:
            csv.writer(out).writerows([names, *rows])

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def yoke(self, *words, environment=None):
        done = subprocess.run([YOKE, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, **(environment or {})))
        return Result(done)

    def shown(self, *words):
        """What a terminal shows of a command that succeeds."""
        master, terminal = pty.openpty()
        with subprocess.Popen([YOKE, *map(str, words)], cwd=self.folder, stdout=terminal, stderr=subprocess.PIPE, text=True, env=dict(os.environ, TERM="xterm")) as process:
            os.close(terminal)
            text = b""
            with contextlib.suppress(OSError):  # EIO: the program has ended
                while piece := os.read(master, 65536):
                    text += piece
            os.close(master)
            self.assertEqual((process.wait(timeout=120), process.stderr.read()), (0, ""))
        return text.decode().replace("\r\n", "\n")

    def good(self, *words, **more):
        result = self.yoke(*words, **more)
        self.assertEqual(result.code, 0, result.error)
        self.assertEqual(result.error, "")
        return result

    def bf16_environment(self):
        """In which this processor trains in bf16: by the reference kernels if it has no instructions for it."""
        (doctor,) = self.good("doctor", "--json").events()
        native = any("bf16 is native" in finding["meaning"] for finding in doctor["findings"])
        return {} if native else {"YOKE_KERNELS": "reference"}

    def start(self, *words, **more):
        return subprocess.Popen([YOKE, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)
