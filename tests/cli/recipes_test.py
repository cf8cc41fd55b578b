"""docs/recipes.md: each task runs as its page types it, in one folder, in order."""
import os
import random
import re
import subprocess
import unittest

from program import YOKE, ProgramTest

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/recipes.md")


class RecipesTest(ProgramTest):
    def test_each_task(self):
        with open(PAGE) as page:
            tasks = re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", page.read(), re.MULTILINE)
        self.assertEqual(len(tasks), 10)
        draw = random.Random(1)
        rows = ((draw.randint(18, 80), draw.choice(["Paris", "Lima", "Oslo"]), round(draw.uniform(0, 1), 3)) for _ in range(500))
        self.write("people.csv", "age,city,size,bought,price\n" + "".join(
            f"{age},{city},{size},{'yes' if age > 50 or city == 'Oslo' else 'no'},{2 * age + 30 * (city == 'Lima') + 5 * size}\n" for age, city, size in rows))
        os.makedirs(self.path("bin"))
        os.symlink(YOKE, self.path("bin/yoke"))
        for title, text in tasks:
            lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
            self.assertTrue(0 < len(lines) <= 10, title)
            with self.subTest(title):
                done = subprocess.run(["bash", "-e"], input="\n".join(lines) + "\n", cwd=self.folder, capture_output=True, text=True, timeout=120,
                                      env=dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"]))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.read("predictions.csv").splitlines()), 501)
        self.assertIn("class,threshold", self.read("curves.csv"))


if __name__ == "__main__":
    unittest.main()
