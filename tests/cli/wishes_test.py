"""docs/words.md: each wish of its last table has a command that works."""
import os
import random
import re
import struct
import subprocess
import tarfile
import unittest
import zipfile

from program import YOKE, ProgramTest, png

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
PHOTOS = '[data]\nformat = "image-folder"\ntrain = "photos"\n[model]\nname = "mlp"\nwidths = [8]\n[train]\nepochs = 1\nbatch = 8\nlearning_rate = 0.01\n'


def npy(shape, numbers):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(numbers)}d", *numbers)


class WishesTest(ProgramTest):
    def shell(self, text):
        return subprocess.run(["bash", "-e"], input=text, cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"]))

    def people(self):
        draw, names = random.Random(1), ["age", "city", "size", "tags", "bought", "price"]
        rows = []
        for _ in range(300):
            age, city, size = draw.randint(18, 80), draw.choice(["Paris", "Lima", "Oslo"]), round(draw.uniform(0.1, 1), 3)
            rows.append([age, city, size, "old;far" if age > 50 else "young", "yes" if age > 50 or city == "Oslo" else "no", 2 * age + 30 * (city == "Lima") + 5 * size])
        for name, step in (("people.csv", 1), ("turned.csv", -1)):
            self.write(name, "".join(",".join(map(str, row[::step])) + "\n" for row in [names, *rows]))

    def folders(self):
        for split, count in (("train", 12), ("val", 4), ("test", 4)):
            for kind, grey, word in (("bright", 200, "good"), ("dark", 20, "bad")):
                for place in ("photos", "texts"):
                    os.makedirs(self.path(f"{place}/{split}/{kind}"))
                for i in range(count):
                    with open(self.path(f"photos/{split}/{kind}/{i}.png"), "wb") as out:
                        out.write(png(grey + i))
                    self.write(f"texts/{split}/{kind}/{i}.txt", f"a {word} film, number {i}")
        with tarfile.open(self.path("photos.tar"), "w") as archive:
            archive.add(self.path("photos"), "photos")
        self.write("photos.toml", PHOTOS)
        with zipfile.ZipFile(self.path("xy.npz"), "w") as archive:
            archive.writestr("x.npy", npy((40, 2), [float(i % 9) for i in range(80)]))
            archive.writestr("y.npy", npy((40,), [float(i % 2) for i in range(40)]))

    def test_each_wish(self):
        with open(f"{DOCS}/words.md") as page:
            wishes = re.findall(r"^\| ([^|]+) \| `(yoke [^`]+)` \|$", page.read(), re.MULTILINE)
        self.assertEqual(len(wishes), 34)
        self.people()
        self.folders()
        os.makedirs(self.path("bin"))
        os.symlink(YOKE, self.path("bin/yoke"))
        with open(f"{DOCS}/recipes.md") as page:
            recipes = page.read()
        jobs = re.findall(r"^    (printf .*|cat > own.toml.*\n(?:    .*\n)*?    END)$", recipes, re.MULTILINE)
        self.assertEqual(len(jobs), 3)
        prepared = self.shell(re.sub(r"^    ", "", "\n".join(jobs), flags=re.MULTILINE) + """
printf '[train]\\nepochs = 3\\n' | tee -a bought.toml >> price.toml  # as the recipes have them they train until they stop
for run in bought own; do yoke train $run.toml --run $run --quiet; done
""")
        self.assertEqual((prepared.returncode, prepared.stderr), (0, ""))
        for wish, command in wishes:
            with self.subTest(wish):
                done = self.shell(command)
                self.assertEqual((done.returncode, done.stderr), (0, ""), command)


if __name__ == "__main__":
    unittest.main()
