"""tools/fetch-data: what it downloads from a server on this machine, goes on with, refuses, and makes; and the list of its sets."""
import gzip
import hashlib
import http.server
import io
import lzma
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = "".join(f"{i},{i % 7}\n" for i in range(3000)).encode()
NOISE = random.Random(1).randbytes(300_000)


def tar_file():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("batches/one.bin")
        info.size = len(NOISE)
        archive.addfile(info, io.BytesIO(NOISE))
    return out.getvalue()


def zip_file():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("top/README.md", "top/Dataset/1/b.jpg", "top/Dataset/0/a.jpg"):
            archive.writestr(name, name)
    return out.getvalue()


FILES = {"/noise.bin": NOISE, "/rows.csv.gz": gzip.compress(ROWS), "/batches.tar.gz": tar_file(), "/images.zip": zip_file()}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the server's `files`, from the byte that a range names, and no more than `most` bytes an answer."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range")))
        content = self.server.files.get(self.path)
        if content is None:
            return self.send_error(404)
        first = int(re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "bytes=0-"))[1])
        if first and first >= len(content):
            return self.send_error(416)
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first:][:self.server.most])

    def log_message(self, *_):
        pass


class FetchDataTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.data = self.folder / "data"
        self.server = self.enterContext(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        self.server.files, self.server.most, self.server.asked = dict(FILES), None, []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.shutdown)

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def write_sets(self, **files):
        """A list with sets of one file each, of these lines."""
        self.sets = self.folder / "sets.toml"
        self.sets.write_text("\n".join(f'[{name}]\nabout = "a"\nlicence = "l"\npage = "p"\nchecksums = "c"\n[[{name}.files]]\n{lines}\n'
                                       for name, lines in files.items()))

    def fetch(self, *words, status=0):
        environment = {**os.environ, "YOKE_DATA": str(self.data), "no_proxy": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, ROOT / "tools/fetch-data", "--sets", self.sets, *words], env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), status, done.stderr)
        return done.stderr if status else done.stdout

    def write_noise(self, checksum=None, url=None):
        sum_line = f'sha256 = "{checksum or hashlib.sha256(NOISE).hexdigest()}"'
        self.write_sets(noise=f'url = "{url or self.url("noise.bin")}"\npath = "noise/noise.bin"\n{sum_line}')

    def files(self):
        return sorted(str(path.relative_to(self.data)) for path in self.data.rglob("*") if path.is_file())

    def test_a_file_comes_once(self):
        self.write_noise()
        self.fetch("noise")
        self.assertEqual((self.data / "noise/noise.bin").read_bytes(), NOISE)
        self.assertIn("noise/noise.bin is there", self.fetch("noise"))
        self.assertEqual((self.server.asked, self.files()), ([("/noise.bin", None)], ["noise/noise.bin"]))

    def test_goes_on_after_a_cut(self):
        self.write_noise()
        self.server.most = 100_000
        self.assertRegex(self.fetch("noise", status=1), "noise.bin was cut off 200,000 bytes before its end; call again to go on$")
        self.assertEqual(self.files(), ["noise/noise.bin.part"])
        self.server.most = None
        self.fetch("noise")
        self.assertEqual(self.server.asked[-1], ("/noise.bin", "bytes=100000-"))
        self.assertEqual(((self.data / "noise/noise.bin").read_bytes(), self.files()), (NOISE, ["noise/noise.bin"]))

    def test_goes_on_with_a_whole_part(self):
        self.write_noise()
        (self.data / "noise").mkdir(parents=True)
        (self.data / "noise/noise.bin.part").write_bytes(NOISE)
        self.fetch("noise")
        self.assertEqual(self.files(), ["noise/noise.bin"])

    def test_a_wrong_checksum_keeps_nothing(self):
        self.write_noise("0" * 64)
        self.assertRegex(self.fetch("noise", status=1), r"^fetch-data: \S+noise.bin has the SHA256 sum \w{64} instead of 0{64}: not kept$")
        self.assertEqual(self.files(), [])

    def test_another_file_has_its_place(self):
        self.write_noise()
        (self.data / "noise").mkdir(parents=True)
        (self.data / "noise/noise.bin").write_bytes(b"mine")
        self.assertIn("is there with another SHA256 sum; remove it to fetch it again", self.fetch("noise", status=1))
        self.assertEqual((self.data / "noise/noise.bin").read_bytes(), b"mine")

    def test_without_a_network(self):
        self.write_noise(url="http://127.0.0.1:1/noise.bin")
        self.assertRegex(self.fetch("noise", status=1), "127.0.0.1:1 does not answer .*; is there a network?")
        self.assertEqual(self.files(), [])

    def test_what_there_is_not(self):
        self.write_noise(url=self.url("other.bin"))
        self.assertRegex(self.fetch("noise", status=1), "other.bin: HTTP status 404, Not Found$")
        self.assertEqual(self.fetch("noise", "nois", status=1).count("\n"), 1)
        self.assertEqual(self.fetch("nois", status=1), "fetch-data: no data set nois; there are noise\n")

    def test_a_full_disk(self):
        self.write_noise()
        (self.data / "noise").mkdir(parents=True)
        (self.data / "noise/noise.bin.part").symlink_to("/dev/full")
        self.assertRegex(self.fetch("noise", status=1), "No space left on device; make room and call again to go on$")
        self.assertFalse((self.data / "noise/noise.bin").exists())

    def test_the_first_download_is_trusted(self):
        self.write_sets(noise=f'url = "{self.url("noise.bin")}"\npath = "noise/noise.bin"')
        self.fetch("noise")
        self.assertEqual((self.data / "first_downloads.sha256").read_text(), f"{hashlib.sha256(NOISE).hexdigest()}  {self.url('noise.bin')}\n")
        os.remove(self.data / "noise/noise.bin")
        self.server.files["/noise.bin"] = b"another"
        self.assertIn("is not what it was at its first download", self.fetch("noise", status=1))
        self.assertEqual(self.files(), ["first_downloads.sha256"])

    def test_makes_files(self):
        first = hashlib.sha256(ROWS[:ROWS.index(b"9,2\n") + 4]).hexdigest()
        self.write_sets(rows=f'url = "{self.url("rows.csv.gz")}"\npath = "rows/rows.csv.gz"\nkeep = true\n'
                             f'makes = [{{ path = "few/rows.xz", lines = 10, sha256 = "{first}" }}, '
                             '{ path = "few/later.csv", skip = 1, lines = 3 }, { path = "few/rest.csv", skip = 2 }]',
                        batches=f'url = "{self.url("batches.tar.gz")}"\npath = "batches/batches.tar.gz"\n'
                                'makes = [{ path = "batches/one.bin.xz", member = "batches/one.bin", bytes = 1000 }, '
                                '{ path = "batches/all.bin", member = "batches/one.bin" }]',
                        images=f'url = "{self.url("images.zip")}"\npath = "images/images.zip"\n'
                               'makes = [{ path = "images/images.tar.xz", folder = "top/Dataset/" }]')
        self.fetch("rows", "batches", "images")
        self.assertEqual(lzma.open(self.data / "few/rows.xz").read().splitlines(), ROWS.splitlines()[:10])
        self.assertEqual((self.data / "few/later.csv").read_bytes().splitlines(), ROWS.splitlines()[1:4])
        self.assertEqual((self.data / "few/rest.csv").read_bytes().splitlines(), ROWS.splitlines()[2:])
        self.assertEqual(lzma.open(self.data / "batches/one.bin.xz").read(), NOISE[:1000])
        self.assertEqual((self.data / "batches/all.bin").read_bytes(), NOISE)
        with tarfile.open(self.data / "images/images.tar.xz") as archive:
            self.assertEqual([(member.name, archive.extractfile(member).read()) for member in archive],
                             [(name, f"top/Dataset/{name}".encode()) for name in ("0/a.jpg", "1/b.jpg")])
        self.assertEqual(self.files(), ["batches/all.bin", "batches/one.bin.xz", "few/later.csv", "few/rest.csv", "few/rows.xz",
                                        "first_downloads.sha256", "images/images.tar.xz", "rows/rows.csv.gz"])

    def test_makes_nothing_wrong(self):
        rows = f'url = "{self.url("rows.csv.gz")}"\npath = "rows/rows.csv.gz"\n'
        for make, words in (('lines = 10, sha256 = "00"', "instead of 00: not kept"), ('member = "x"', "rows.csv.gz is not what it should be")):
            self.write_sets(rows=rows + f'makes = [{{ path = "few/rows.xz", {make} }}]')
            self.assertIn(words, self.fetch("rows", status=1))
            self.assertNotIn("few/rows.xz", self.files())
            self.assertNotIn("few/rows.xz.part", self.files())

    def test_the_list_of_sets(self):
        self.sets = ROOT / "tools/data_sets.toml"
        listed = self.fetch()
        sets = tomllib.loads(self.sets.read_text())
        for name, one in sets.items():
            with self.subTest(name):
                self.assertIn(f"\n{name}: {one['about']}\n", "\n" + listed)
                self.assertIn(f"licence {one['licence']}", listed)
                if "by_hand" in one:
                    self.assertIn(f"fetch-data: {name} cannot be fetched: ", self.fetch(name, status=1))
                for file in one.get("files", []):
                    self.assertRegex(file["path"], "^[a-z0-9-]+/")
                    self.assertTrue(all(len(file[kind]) == length for kind, length in (("sha256", 64), ("md5", 32)) if kind in file))

    def test_each_set_of_the_examples_is_listed(self):
        sets = tomllib.loads((ROOT / "tools/data_sets.toml").read_text())
        paths = [path for one in sets.values() for file in one.get("files", []) for path in [file["path"], *(make["path"] for make in file.get("makes", []))]]
        for job in (ROOT / "examples").rglob("*.toml"):
            for path in re.findall(r"\$YOKE_DATA/([\w./-]+)", job.read_text()):
                name = path.split("/")[0]
                self.assertTrue(path in paths or "by_hand" in sets.get(name, {}), f"{job}: {path}")


if __name__ == "__main__":
    unittest.main()
