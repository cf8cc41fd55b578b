"""The figures of docs/: registry and pages agree, a new table takes its place, and the runner of benchmarks counts and prints."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = """#!/usr/bin/env python3
import json, pathlib, sys
words = sys.argv[1:]
if words[0] == "version":
    print(json.dumps({"version": "9.9", "commit": "abc1234def"}))
else:
    run = pathlib.Path(words[words.index("--run") + 1])
    run.mkdir()
    epochs = [{"event": "epoch", "epoch": n, "seconds": 2.0 * n, "examples_per_second": 50, "test": {"accuracy": n / 10}} for n in (1, 2, 3)]
    lines = [{"event": "start", "train_examples": 100}, *epochs, {"event": "end", "reason": "finished"}]
    (run / "metrics.jsonl").write_text("\\n".join(map(json.dumps, lines)))
"""
FOLDER = tempfile.TemporaryDirectory()
PROGRAM = pathlib.Path(FOLDER.name, "yoke")
PROGRAM.write_text(FAKE)
PROGRAM.chmod(0o755)
os.environ["YOKE"] = str(PROGRAM)
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import figures  # noqa: E402
from lib import runner, tables  # noqa: E402


def printed(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        call(*arguments)
    return out.getvalue()


class FiguresTest(unittest.TestCase):
    def test_each_figure_has_its_place(self):
        for name, figure in figures.registry().items():
            with self.subTest(name):
                self.assertIn(name, figures.markers(figures.page_of(figure).read_text(encoding="utf-8")))
                for path in figure["measures"].split():
                    self.assertTrue((ROOT / path).exists(), path)

    def test_each_place_has_its_figure(self):
        for page in (ROOT / "docs").rglob("*.md"):
            text = page.read_text(encoding="utf-8")
            for name in figures.markers(text):
                self.assertEqual(figures.page_of(figures.registry()[name]), page, name)
            self.assertEqual(text.count("<!-- figure: "), len(figures.markers(text)), f"{page}: a comment without its end, or twice")

    def test_a_new_table_takes_the_place_of_the_old(self):
        page = "before\n<!-- figure: a, commit 1111111, 2026-01-01 -->\n| old |\n<!-- end -->\nafter\n"
        output = printed(tables.print_table, ["x", "y"], [[1, 2]]) + "\n" + tables.conditions(1, "one run")
        new = figures.replaced(page, "a", "progress\n" + output + "\n")
        self.assertRegex(new, r"^before\n<!-- figure: a, commit abc1234, \d{4}-\d\d-\d\d -->\n\| x \| y \|\n\| --- \| --- \|\n\| 1 \| 2 \|\n\n"
                              r"Conditions: yoke 9\.9 \(abc1234def\), .*; one run\.\n<!-- end -->\nafter\n$")
        self.assertEqual(figures.replaced(page, "a", "| other |\n\n" + output + "\n", [-1]), new)
        self.assertEqual(figures.replaced(page, "another", output), page)
        self.assertRaisesRegex(RuntimeError, "prints no Markdown table", figures.replaced, page, "a", "1.5 s\n")

    def test_a_command_with_words_to_choose_is_not_run(self):
        made = pathlib.Path(FOLDER.name, "made")
        figure = {"page": "a.md", "command": f"touch {made} --set cluster.compression=KIND JOB", "measures": "src"}
        with unittest.mock.patch.object(figures, "registry", return_value={"a": figure}):
            for quick in (False, True):
                self.assertRaisesRegex(RuntimeError, "^a: replace KIND, JOB in `touch .*docs/a.md by hand$", figures.measure, "a", quick)
        self.assertFalse(made.exists())
        done = subprocess.run([sys.executable, str(ROOT / "bench/figures.py"), "search"], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, "^figures.py: search: replace CHECKPOINT in ")


    def test_a_page_measures_all_its_figures_and_tells_what_is_left(self):
        found = {name: {"page": page} for name, page in [("first", "a.md"), ("by-hand", "a.md"), ("second", "a.md"), ("other", "b.md")]}
        with unittest.mock.patch.object(figures, "registry", return_value=found), \
                unittest.mock.patch.object(figures, "measure", side_effect=[None, RuntimeError("by-hand: replace JOB"), None]) as measure:
            self.assertRaisesRegex(RuntimeError, "^by-hand: replace JOB$", figures.measure_page, "docs/a.md", True)
            self.assertEqual([call.args for call in measure.call_args_list], [("first", True), ("by-hand", True), ("second", True)])
            self.assertRaisesRegex(RuntimeError, "^no figure on page c.md; there are some on a.md, b.md$", figures.measure_page, "c.md", True)


class RunnerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def trained(self, **settings):
        job = runner.write_job(self.folder / "job.toml", {"train": {"epochs": 3, "schedule": {"name": "cosine"}}})
        return runner.trained(job, settings, self.folder)

    def test_a_job_is_trained_once(self):
        run = self.trained(rate=0.1)
        self.assertEqual((run.seconds, run.accuracy, run.reaches(0.25), run.epochs[-1]["train_seconds"]), (6.0, 0.3, 5.0, 6.0))
        stamp = (run.folder / "finished").stat().st_mtime_ns
        self.assertEqual((self.trained(rate=0.1).folder / "finished").stat().st_mtime_ns, stamp)
        self.assertNotEqual(self.trained(rate=0.2).folder, run.folder)

    def test_another_launcher_is_another_run(self):
        job = runner.write_job(self.folder / "job.toml", {"train": {"epochs": 3}})
        folders = {runner.trained(job, {}, self.folder, launcher=launcher).folder for launcher in ((), ["env"], ["env", "A=1"])}
        self.assertEqual(len(folders), 3)

    def test_searches_count_in_virtual_time(self):
        def epoch(seconds):
            return {"event": "epoch", "seconds": seconds, "test": {"accuracy": seconds / 10}}

        start, ends = {"event": "start", "train_examples": 1}, [{"event": "end", "seconds": 3.0, "virtual_seconds": 8.0},
                                                                {"event": "end", "seconds": 4.0, "virtual_seconds": 10.5}]
        lines = [start, epoch(1.0), epoch(3.0), ends[0], start, epoch(4.0), ends[1], start, epoch(5.0)]  # the last session has no end
        (self.folder / "metrics.jsonl").write_text("\n".join(json.dumps({"examples_per_second": 1, **line}) for line in lines))
        run = runner.Run(self.folder)
        self.assertEqual(run.virtual_curve(), [(6.0, 0.1), (8.0, 0.3), (10.5, 0.4)])
        self.assertEqual([run.searched(one) for one in run.starts], [5.0, 6.5, None])

    def test_medians_in_turn(self):
        calls = []
        found = runner.medians(["a", "b"], 3, lambda case: calls.append(case) or (len(calls), 2 * len(calls)))
        self.assertEqual(calls, ["a", "b"] * 3)
        self.assertEqual(found, {"a": (3, 6), "b": (4, 8)})

    def test_words_of_settings(self):
        self.assertEqual(runner.changes({"a.b": [1, "x"], "c": "0.10", "d": True}), ['--set=a.b=[1, "x"]', "--set=c=0.10", "--set=d=true"])
        self.assertEqual(runner.job_text({"a": {"b": {"c": 1}}}), "[a]\nb = { c = 1 }\n")
        self.assertEqual(runner.from_words(["a=b=c"]), {"a": "b=c"})

    def test_a_table_of_cells(self):
        self.assertEqual(printed(tables.grid, "n", [1, 2], ["a"], lambda line, column: column > 1 and f"{line}{column}"),
                         "\n| n | 1 | 2 |\n| --- | --- | --- |\n| a |  | a2 |\n")


if __name__ == "__main__":
    unittest.main()
