"""A small archive that unpacks to 2 GB takes the memory of what is read from it.

guards: src/data/archive src/data/source src/data/gzip src/data/folder_files (25 s)"""
import io
import os
import struct
import subprocess
import tarfile
import unittest
import zipfile
import zlib

from program import TINY, YOKE, ProgramTest

SIZE = 2 << 30
JOB = '[data]\nformat = "image-folder"\ntrain = "%s"\n' + TINY[TINY.index("[model]"):]
MOST_BYTES = 200e6


class Zeros(io.RawIOBase):
    def __init__(self):
        self.left = SIZE

    def read(self, size=-1):
        size = min(size if size >= 0 else self.left, self.left)
        self.left -= size
        return bytes(size)


def grey_png(value):
    """A PNG of 2x2 pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0" + bytes([value] * 2) + b"\0" + bytes([value] * 2))) + chunk(b"IEND", b""))


class ArchiveTest(ProgramTest):
    def tar(self, large):
        with tarfile.open(self.path("a.tar.gz"), "w:gz", compresslevel=1) as archive:
            for name, content in (("a/1.png", grey_png(9)), (large, None), ("b/2.png", grey_png(200))):
                entry = tarfile.TarInfo(name)
                entry.size = SIZE if content is None else len(content)
                archive.addfile(entry, Zeros() if content is None else io.BytesIO(content))
        return "a.tar.gz"

    def zip(self, large):
        with zipfile.ZipFile(self.path("a.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("a/1.png", grey_png(9))
            with archive.open(large, "w", force_zip64=True) as out:
                for _ in range(SIZE >> 20):
                    out.write(bytes(1 << 20))
            archive.writestr("b/2.png", grey_png(200))
        return "a.zip"

    def train(self, archive):
        """Exit status, standard error and peak memory in bytes."""
        self.write("job.toml", JOB % archive)
        process = subprocess.Popen([YOKE, "train", "job.toml", "--quiet"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        error = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, error, usage.ru_maxrss * 1024

    def test_a_large_file_is_passed_over_or_refused(self):
        for make in (self.tar, self.zip):
            with self.subTest(make.__name__):
                code, error, peak = self.train(make("a/readme.txt"))
                self.assertEqual((code, error), (0, ""))
                self.assertLess(peak, MOST_BYTES)
                code, error, peak = self.train(make("a/9.png"))
                self.assertEqual(code, 2)
                self.assertIn("a/9.png: the file is too large for an image; expected at most 400 MB", error)
                self.assertLess(peak, MOST_BYTES)


if __name__ == "__main__":
    unittest.main()
