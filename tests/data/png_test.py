"""The pixels that yoke reads from PNG files are Pillow's, as torchvision's loader asks for them: Image.open(...).convert(...)."""
import io
import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PIXELS = os.path.abspath(os.environ.get("IMAGE_PIXELS", "build/release/tests/image_pixels"))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import packages  # noqa: E402

packages.need("PIL")
from PIL import Image  # noqa: E402

GREY, COLOUR, PALETTE, GREY_ALPHA, COLOUR_ALPHA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, COLOUR: 3, PALETTE: 1, GREY_ALPHA: 2, COLOUR_ALPHA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), COLOUR: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), COLOUR_ALPHA: (8, 16)}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))  # x, y, steps of x, y
# Chunks that say how the samples would be shown.
SHOWN = {"": b"", "gAMA": struct.pack(">I", 55556), "gAMA ": struct.pack(">I", 100000), "sRGB": b"\0",
         "cHRM": struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(row, depth):
    """Samples of one row, the last byte filled up with zeros."""
    bits = "".join(f"{sample:0{depth}b}" for sample in row)
    bits += "0" * (-len(bits) % 8)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big")


def png(pixels, kind, depth, chunks=(), interlaced=False):
    """A file of these rows of pixels, each a tuple of samples."""
    height, width = len(pixels), len(pixels[0])
    raw = b""
    for x, y, dx, dy in ADAM7 if interlaced else ((0, 0, 1, 1),):
        for row in pixels[y::dy]:
            if row[x::dx]:
                raw += b"\0" + packed([sample for pixel in row[x::dx] for sample in pixel], depth)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)) +
            b"".join(chunk(*each) for each in chunks) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def noise(draw, kind, depth, size=(9, 13)):
    """Rows of random pixels; the ends of the range are among them."""
    def sample():
        return draw.choice((0, (1 << depth) - 1, draw.randrange(1 << depth)))
    return [[tuple(sample() for _ in range(SAMPLES[kind])) for _ in range(size[1])] for _ in range(size[0])]


def transparency(draw, kind, depth, pixels):
    """tRNS: a colour of the image, or an alpha for each of a palette's first colours."""
    if kind == PALETTE:
        return bytes(draw.randrange(256) for _ in range(1 << depth))
    return struct.pack(f">{SAMPLES[kind]}H", *pixels[3][5])


def pillow(data, channels):
    with Image.open(io.BytesIO(data)) as image:
        if image.mode == "I;16":  # see test_grey_of_16_bits
            image = Image.frombytes("L", image.size, image.tobytes()[1::2])
        return image.size[::-1], image.convert("RGB" if channels == 3 else "L").tobytes()


def yoke(files, folder):
    """For each (bytes, channels) the size and the pixels, or the sentence of the refusal."""
    lines = []
    for i, (data, channels) in enumerate(files):
        lines.append(f"{folder}/{i}.png\t{channels}")
        with open(f"{folder}/{i}.png", "wb") as out:
            out.write(data)
    done = subprocess.run([PIXELS], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120, check=True)
    answers = []
    for line in done.stdout.splitlines():
        height, width, pixels = line.split(" ", 2)
        answers.append(line if height == "refused:" else ((int(height), int(width)), bytes.fromhex(pixels)))
    return answers


class PngTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)

    def compare(self, named):
        files = [(data, channels) for _, data in named for channels in (3, 1)]
        names = [f"{name}, {channels} channels" for name, _ in named for channels in (3, 1)]
        for name, (data, channels), found in zip(names, files, yoke(files, self.temporary.name), strict=True):
            with self.subTest(name):
                self.assertEqual(found, pillow(data, channels))

    def test_every_kind_of_sample(self):
        draw, named = random.Random(1), []
        for kind, interlaced, shown, transparent in itertools.product(SAMPLES, (False, True), SHOWN, (False, True)):
            for depth in DEPTHS[kind]:
                pixels = noise(draw, kind, depth)
                chunks = [(shown[:4].encode(), SHOWN[shown])] if shown else []
                if kind == PALETTE:
                    chunks.append((b"PLTE", bytes(draw.randrange(256) for _ in range(3 << depth))))
                if transparent and kind in (GREY, COLOUR, PALETTE):
                    chunks.append((b"tRNS", transparency(draw, kind, depth, pixels)))
                named.append((f"kind {kind}, depth {depth}, {chunks}, interlaced {interlaced}",
                              png(pixels, kind, depth, chunks, interlaced)))
        self.compare(named)

    def test_what_pillow_writes(self):
        draw, named = random.Random(2), []
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
            image = Image.frombytes("RGB", (31, 17), draw.randbytes(31 * 17 * 3)).convert(mode)
            for options in ({}, {"optimize": True}, {"bits": 4} if mode == "P" else {}, {"icc_profile": b"profile"}):
                out = io.BytesIO()
                image.save(out, "PNG", **options)
                named.append((f"{mode} {options}", out.getvalue()))
        self.compare(named)

    def test_images_of_one_row_or_column(self):
        draw = random.Random(3)
        self.compare([(f"{size} {interlaced}", png(noise(draw, COLOUR, 8, size), COLOUR, 8, interlaced=interlaced))
                      for size in ((1, 1), (1, 9), (9, 1), (3, 2)) for interlaced in (False, True)])

    def test_grey_of_16_bits(self):
        """The high byte, as of all other samples of 16 bits. Pillow cuts these alone off at 255, and white images are left."""
        values = [0, 100, 255, 256, 25700, 25855, 65535]
        data = png([[(value,) for value in values]], GREY, 16)
        expected = bytes(value >> 8 for value in values)
        self.assertEqual(yoke([(data, 1)], self.temporary.name)[0][1], expected)
        alike = png([[(value, 65535) for value in values]], GREY_ALPHA, 16)
        self.assertEqual(pillow(alike, 1)[1], expected)

    def test_every_cut_is_refused(self):
        data = png(noise(random.Random(4), COLOUR, 8, (4, 4)), COLOUR, 8)
        for found in yoke([(data[:length], 3) for length in range(len(data))], self.temporary.name):
            self.assertIn("refused: ", found)


if __name__ == "__main__":
    unittest.main()
