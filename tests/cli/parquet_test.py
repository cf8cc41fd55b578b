"""Parquet files, which pyarrow writes: the same as the CSV file of the same content."""
import os
import subprocess
import unittest

from program import YOKE, ProgramTest

CACHE = os.environ.get("YOKE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")
PYTHON = os.path.join(CACHE, "venv-python/bin/python")
LIBRARY = os.path.join(os.path.dirname(YOKE), "yoke-parquet/arrow.so")
WRITE = """
import datetime, random
import pandas as pd, pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, pyarrow.parquet as pq
draw = random.Random(1)
n = 400
size = [None if i % 9 == 4 else round(draw.uniform(0, 9), 3) for i in range(n)]
table = pa.table({
    "size": pa.array(size, pa.float64()), "half": pa.array([draw.random() for _ in range(n)], pa.float32()),
    "count": pa.array([draw.randint(0, 9) for _ in range(n)], pa.int16()), "member": [None if i % 7 == 3 else draw.random() < 0.5 for i in range(n)],
    "kind": [draw.choice(["yes", "no", "bought"]) for _ in range(n)],
    "city": pa.array([draw.choice(["Lima", "Oslo, N", 'Par"is', None]) for _ in range(n)]).dictionary_encode(),
    "two": [draw.choice(["a\\nb", "c"]) for _ in range(n)]})
flat = table.set_column(6, "two", pa.array([text.replace("\\n", " ") for text in table["two"].to_pylist()]))
pa.csv.write_csv(flat.set_column(5, "city", flat["city"].cast(pa.string())), "t.csv")
pq.write_table(table, "t.parquet", row_group_size=64)
pq.write_table(table.select(["two", "city", "count", "half", "size", "member"]), "new.parquet")
pq.write_table(table.set_column(6, "two", pc.replace_substring(table["two"], "\\n", "\\r")), "returns.parquet")
pq.write_table(pa.concat_tables([table] * 200), "many.parquet")
pq.write_table(table.select(["size"]), "size.parquet")
city = table["city"].cast(pa.string())
pq.write_table(pa.table({"city": city}), "city.parquet")
pq.write_table(pa.table({"city": city.fill_null("")}), "city_filled.parquet")
frame = pd.DataFrame({"x": range(n), "kind": ["true" if i < 300 else "false" for i in range(n)]}).sample(frac=1, random_state=1)
frame.to_parquet("sampled.parquet")
frame.to_csv("sampled.csv", index=False)
pq.write_table(table.append_column("day", pa.array([datetime.date(2026, 1, 1)] * n)), "dates.parquet")
pq.write_table(table.append_column("tags", pa.array([[1, 2]] * n)), "lists.parquet")
pq.write_table(table.slice(0, 0), "empty.parquet")
"""
JOB = '[data]\nformat = "%s"\ntrain = "t.%s"\nlabel = "kind"\n[train]\nepochs = 2\nlearning_rate = 0.01\n[model]\nname = "mlp"\nwidths = [8]\n'


@unittest.skipUnless(os.path.exists(PYTHON) and os.path.exists(LIBRARY), "yoke was built without pyarrow (tools/setup python)")
class ParquetTest(ProgramTest):
    def setUp(self):
        super().setUp()
        subprocess.run([PYTHON, "-c", WRITE], cwd=self.folder, check=True)

    def train(self, job, *words):
        self.write("job.toml", JOB % job)
        return self.yoke("train", "job.toml", "--quiet", *words)

    def test_the_same_as_csv(self):
        for name in ("csv", "parquet"):
            self.assertEqual(self.train((name, name), "--run", name).code, 0)
        self.assertEqual(*[self.good("predict", name, f"t.{name}").out for name in ("csv", "parquet")])
        self.assertEqual(*[self.good("eval", "parquet", *words, "--json").events()[-1]["metrics"] for words in (["t.parquet"], ["t.csv"])])

    def test_a_job_of_csv_takes_both(self):
        self.assertEqual(self.train(("csv", "parquet"), "--run", "r").code, 0)
        self.assertEqual(*[self.good("predict", "r", file).out for file in ("t.csv", "new.parquet")])

    def test_predictions(self):
        self.assertEqual(self.train(("parquet", "parquet"), "--run", "r").code, 0)
        for name in ("p.csv", "p.parquet"):
            self.good("predict", "r", "new.parquet", "--output", name)
        self.check("assert pq.read_table('p.parquet') == pyarrow.csv.read_csv('p.csv')")

    def check(self, code):
        subprocess.run([PYTHON, "-c", "import pyarrow as pa, pyarrow.csv, pyarrow.parquet as pq\n" + code], cwd=self.folder, check=True)

    def test_predictions_in_pieces(self):
        self.assertEqual(self.train(("parquet", "parquet"), "--run", "r").code, 0)
        for name in ("p.csv", "p.parquet"):
            self.good("predict", "r", "many.parquet", "--output", name)
        self.check("assert pq.ParquetFile('p.parquet').num_row_groups > 1 and pq.read_table('p.parquet') == pyarrow.csv.read_csv('p.csv')")

    def test_pandas_index_and_classes_that_look_like_booleans(self):
        self.assertEqual(self.train(("parquet", "parquet"), "--run", "r", "--set", 'data.train="sampled.parquet"', "--set", "data.label=-1").code, 0)
        self.assertEqual(*[self.good("predict", "r", f"sampled.{name}").out for name in ("csv", "parquet")])
        self.write("x.csv", "x\n3\n390\n")
        self.good("predict", "r", "x.csv", "--output", "p.parquet")
        self.check("assert pq.read_schema('p.parquet').types == [pa.int64(), pa.string(), pa.float64()]\n"
                   "assert set(pq.read_table('p.parquet')['label'].to_pylist()) <= {'true', 'false'}")

    def test_line_ends_are_blanks_whatever_else_is_in_the_file(self):
        self.assertEqual(self.train(("parquet", "parquet"), "--run", "r").code, 0)
        self.assertEqual(*[self.good("predict", "r", file).out for file in ("t.csv", "returns.parquet")])

    def test_one_column_with_nulls(self):
        for run, files, words in (("size", ["size"], []), ("city", ["city", "city_filled"], []), ("free", ["city", "city_filled"], ["--set", 'data.text="city"'])):
            self.assertEqual(self.train(("csv", "csv"), "--run", run, "--set", f'data.columns="{files[0]}"', *words).code, 0)
            expected = self.good("predict", run, "t.csv").out
            for file in files:
                self.assertEqual(self.good("predict", run, f"{file}.parquet").out, expected, (run, file))

    def test_what_it_does_not_read(self):
        for file, sentence in (("dates", "column 7 ('day'): '2026-01-01' looks like a date"), ("lists", "column 'tags' holds list<element: int64>"),
                               ("empty", "the file holds no example"), ("missing", "there is no such file")):
            result = self.train(("parquet", "parquet"), "--set", f'data.train="{file}.parquet"')
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn(sentence, result.error)
        self.write("bad.parquet", "PAR1")
        self.assertIn("bad.parquet: ", self.train(("parquet", "parquet"), "--set", 'data.train="bad.parquet"').error)
        self.assertEqual(self.train(("parquet", "parquet"), "--set", 'data.train="dates.parquet"', "--set", 'data.drop="day"').code, 0)


if __name__ == "__main__":
    unittest.main()
