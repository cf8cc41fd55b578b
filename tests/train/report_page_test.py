"""The report's page in a browser without a window: its tables, the values under the pointer, zoom, switches, narrow screens."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# What the tests ask of a page. A section is what stands under a heading; a table is a list of rows of texts.
DRIVER = """
const under = (title) => {
  const head = [...document.querySelectorAll("h2")].find((one) => one.textContent === title), found = [];
  for (let one = head?.nextElementSibling; one && one.tagName !== "H2"; one = one.nextElementSibling) found.push(one);
  return found;
};
const tables = (title) => under(title).flatMap((one) => [...one.querySelectorAll("table")])
  .map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
const figure = (title) => [...document.querySelectorAll("figure")].find((one) => one.querySelector("svg").getAttribute("aria-label") === title);
const pointer = (kind, title, part, y = 0.5) => {
  const picture = figure(title).querySelector(":scope > svg"), box = picture.getBoundingClientRect();
  picture.dispatchEvent(new PointerEvent(kind, { clientX: box.left + part * box.width, clientY: box.top + y * box.height, pointerType: "mouse", bubbles: true }));
  const values = figure(title).querySelector(".values");
  return values.hidden ? [] : [...values.children].map((one) => one.textContent);
};
const click = (text) => [...document.querySelectorAll("button")].find((one) => one.textContent === text).click();
const lines = (title) => figure(title).querySelectorAll(".series").length;
const ticks = (title) => [...figure(title).querySelectorAll("text")].map((one) => one.textContent);
"""


class ReportPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.TemporaryDirectory()  # one for all: a browser that finds one starts sooner
        cls.addClassCleanup(cls.profile.cleanup)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_folder(self, name, events=(), epochs=2, rate=0.1, ended=True, **files):
        """A run of some epochs, then `events`; its path."""
        os.mkdir(self.path(name))
        lines = [{"event": "start", "parameters": 1234, "cpu": "<b>cpu</b>", "version": "0.1.0"}]
        lines += [{"event": "epoch", "epoch": e, "seconds": 2 * e, "learning_rate": rate, "examples_per_second": 1000, "train": {"loss": 1 / e},
                   "test": {"loss": 0.5, "accuracy": (7 + e) / 10}} for e in range(1, epochs + 1)]
        lines += events
        if ended:
            lines.append({"event": "end", "reason": "finished", "seconds": 9, "test": {"loss": 0.5, "accuracy": 0.875}})
        self.write(f"{name}/metrics.jsonl", "".join(line + "\n" if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
        self.write(f"{name}/job.toml", f'[model]\nname = "mlp"\n[train]\nlearning_rate = {rate}\n' + files.pop("job", ""))
        for file, text in files.items():
            self.write(f"{name}/{file.replace('_', '.')}", text)
        return self.path(name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)

    def asked(self, runs, width=1440, **questions):
        """The answers of the runs' page to JavaScript expressions, by name. Nothing may go wrong in the page."""
        page = self.path("page.html")
        done = subprocess.run([YOKE, "report", *runs, "--output", page], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertNotRegex(text, r"https?://(?!www\.w3\.org/2000/svg)|src=")  # needs no network
        answers = ",".join(f"{json.dumps(name)}: {script}" for name, script in questions.items())
        script = f"""<script>{DRIVER}
          const errors = [];
          addEventListener("error", (event) => errors.push(event.message));
          setTimeout(() => {{
            const answers = {{{answers}, errors}}, out = document.createElement("pre");
            out.id = "answers";
            out.textContent = JSON.stringify(answers);
            document.body.append(out);
          }}, 200);
        </script>"""
        # A frame has the width that is asked for; a window may not be so narrow.
        with open(page, "w", encoding="utf-8") as file:
            file.write(text.replace("<script>\n\"use strict\";", script + "<script>\n\"use strict\";"))
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.profile.name}",
                               f"--window-size={width},900", "--virtual-time-budget=3000", "--dump-dom", "file://" + page],
                              capture_output=True, text=True, timeout=120)
        found = re.search(r'<pre id="answers">(.*?)</pre>', done.stdout, re.S)
        self.assertTrue(found, done.stderr[-2000:])
        text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&nbsp;", " ")
        answers = json.loads(text)
        self.assertEqual(answers.pop("errors"), [])
        return answers

    def test_one_run(self):
        run = self.run_folder("one", events=[{"event": "epoch", "epoch": 3, "seconds": 7, "train": {"loss": "x"}}, '{"event":"epo'], epochs=2)
        answers = self.asked([run], title="document.title", tiles="[...document.querySelectorAll('.tile')].map((one) => one.innerText.split('\\n'))",
                             charts="[...document.querySelectorAll('figure')].filter((one) => !one.hidden).map((one) => one.querySelector('svg').ariaLabel)",
                             conditions="document.querySelector('details').textContent")
        self.assertEqual(answers["title"], "one - yoke")
        self.assertIn(["0.8750", "test accuracy"], answers["tiles"])
        self.assertIn(["finished", "how it ended"], answers["tiles"])
        self.assertEqual(answers["charts"], ["Loss", "Accuracy", "Learning rate", "Training examples per second"])
        self.assertIn("<b>cpu</b>", answers["conditions"])  # as text
        self.assertIn("learning_rate = 0.1", answers["conditions"])

    def test_the_pointer_shows_values(self):
        run = self.run_folder("one", epochs=5)
        answers = self.asked([run], at_the_end="pointer('pointermove', 'Loss', 0.95)", in_the_middle="pointer('pointermove', 'Accuracy', 0.55)",
                             without="(click('training data'), pointer('pointermove', 'Loss', 0.95))", away="pointer('pointerleave', 'Loss', 0.5)",
                             by_time="(click('by seconds'), pointer('pointermove', 'Accuracy', 0.55))")
        self.assertEqual(answers["at_the_end"], ["epoch 5", "train loss0.2", "test loss0.5"])
        self.assertEqual(answers["in_the_middle"], ["epoch 3", "test accuracy1"])
        self.assertEqual(answers["without"], ["epoch 5", "test loss0.5"])
        self.assertEqual(answers["away"], [])
        self.assertEqual(answers["by_time"], ["seconds 6", "test accuracy1"])

    def test_evaluations_by_steps_are_drawn_by_training_time(self):
        events = [{"event": "evaluation", "step": 10 * i, "epoch": i / 2, "seconds": 5 * i, "training_seconds": 3 * i, "test": {"accuracy": i / 10, "accuracy_error": 0.01}} for i in (1, 2, 3, 4)]
        answers = self.asked([self.run_folder("steps", events=events, ended=False)], middle="pointer('pointermove', 'Accuracy', 0.55)", first="pointer('pointermove', 'Accuracy', 0.15)",
                             line="figure('Accuracy').querySelector('.line').getAttribute('d').replace(/[^ML]/g, '')", by_time="(click('by seconds'), pointer('pointermove', 'Accuracy', 0.99))",
                             tiles="[...document.querySelectorAll('.tile')].map((one) => one.innerText.split('\\n'))")
        self.assertEqual(answers["line"], "MLLL")
        self.assertEqual(answers["first"], ["epoch 0.5", "test accuracy0.1"])
        self.assertEqual(answers["by_time"], ["seconds 12", "test accuracy0.4"])
        self.assertIn(["0.4000", "test accuracy"], answers["tiles"])
        self.assertNotIn("accuracy_error", str(answers["tiles"]))

    def test_the_latest_of_epochs_and_evaluations_counts(self):
        """Evaluations by steps in the first session, by epochs in the second."""
        events = [{"event": "evaluation", "step": 10, "epoch": 0.5, "seconds": 5, "training_seconds": 5, "test": {"accuracy": 0.1}},
                  {"event": "epoch", "epoch": 2, "seconds": 1000, "training_seconds": 1000, "test": {"accuracy": 0.3}},
                  {"event": "epoch", "epoch": 3, "seconds": 2000, "training_seconds": 2000}]
        answers = self.asked([self.run_folder("both", events=events, epochs=1, ended=False)], tiles="[...document.querySelectorAll('.tile')].map((one) => one.innerText.split('\\n'))",
                             choices="[...document.querySelectorAll('.choice')].map((one) => one.innerText)")
        self.assertIn(["0.3000", "test accuracy"], answers["tiles"])
        self.assertEqual(answers["choices"], ["by epochs", "by steps", "by minutes"])

    def test_a_drag_zooms(self):
        run = self.run_folder("long", epochs=100)
        drag = "(pointer('pointerdown', 'Loss', 0.5), pointer('pointermove', 'Loss', 0.7), pointer('pointerup', 'Loss', 0.7), "
        answers = self.asked([run], zoomed=drag + "ticks('Loss'))", value="pointer('pointermove', 'Loss', 0.99)",
                             whole="(click('whole range'), ticks('Loss'))")
        inside = [int(tick) for tick in answers["zoomed"] if re.fullmatch(r"\d\d+", tick)]
        self.assertTrue(inside and all(45 < tick < 75 for tick in inside), answers["zoomed"])
        self.assertRegex(answers["value"][0], r"epoch (6|7)\d$")
        self.assertIn("100", answers["whole"])

    def test_a_zoom_between_two_epochs(self):
        drag = "(pointer('pointerdown', 'Loss', 0.6), pointer('pointerup', 'Loss', 0.8), "
        answers = self.asked([self.run_folder("short", epochs=3)], line=drag + "figure('Loss').querySelector('.line').getAttribute('d'))",
                             ticks="ticks('Loss')", value="pointer('pointermove', 'Loss', 0.9)")
        self.assertNotIn("NaN", answers["line"] + " ".join(answers["ticks"]))
        self.assertIn("L", answers["line"])
        self.assertEqual(answers["value"][0], "epoch 3")

    def test_one_epoch(self):
        answers = self.asked([self.run_folder("single", epochs=1)], by_time="(click('by seconds'), pointer('pointermove', 'Loss', 0.5))",
                             by_epoch="(click('by epochs'), pointer('pointermove', 'Loss', 0.5))")
        self.assertEqual(answers["by_time"], ["seconds 2", "train loss1", "test loss0.5"])
        self.assertEqual(answers["by_epoch"][0], "epoch 1")

    def test_equal_values(self):
        events = [{"event": "epoch", "epoch": e, "seconds": e, "train": {"loss": 0.1 + 1e-17 * e + (1.4e-17 if e == 2 else 0)}} for e in (1, 2, 3)]
        self.assertEqual(self.asked([self.run_folder("flat", events, epochs=0)], value="pointer('pointermove', 'Loss', 0.1)")["value"],
                         ["epoch 1", "train loss0.1"])

    def test_the_arrow_keys_show_values(self):
        key = "figure('Loss').querySelector(':scope > svg').dispatchEvent(new KeyboardEvent('keydown', { key: '%s' }))"
        shown = "[...figure('Loss').querySelector('.values').children].map((one) => one.textContent)"
        right, left = key % "ArrowRight", key % "ArrowLeft"
        answers = self.asked([self.run_folder("one", epochs=3)], first=f"({right}, {shown})", second=f"({right}, {shown})", back=f"({left}, {shown})")
        self.assertEqual([answers[name][0] for name in ("first", "second", "back")], ["epoch 1", "epoch 2", "epoch 1"])

    def test_a_long_run(self):
        run = self.run_folder("long", epochs=0, ended=False)
        with open(run + "/metrics.jsonl", "a") as lines:
            for e in range(1, 100001):
                lines.write('{"event":"epoch","epoch":%d,"seconds":%d,"train":{"loss":%g}}\n' % (e, e, 1 / e))
        answers = self.asked([run], value="pointer('pointermove', 'Loss', 0.99)", points="figure('Loss').querySelector('.line').getAttribute('d').length")
        self.assertRegex(answers["value"][0], "epoch (9[5-9]|100)")
        self.assertLess(answers["points"], 50000)  # some a pixel

    def test_many_runs(self):
        runs = [self.run_folder(f"run-{number}", rate=number + 1) for number in range(40)]
        answers = self.asked(runs, values="pointer('pointermove', 'Loss', 0.9)", series="lines('Loss')",
                             bar="document.querySelector('.bar').getBoundingClientRect().height / innerHeight",
                             looks="new Set([...figure('Loss').querySelectorAll('.series')].map((one) => one.getAttribute('class') + "
                                   "one.querySelector('.dot').getAttribute('d').replace(/[^a-z]/gi, ''))).size")
        self.assertEqual((len(answers["values"]), answers["series"]), (14, 80))
        self.assertEqual(answers["values"][-1], "and 68 more")
        self.assertLess(answers["bar"], 0.35)
        self.assertEqual(answers["looks"], 2 * 32)  # eight colours, four marks, solid and dashed

    def test_several_runs(self):
        slow, fast = self.run_folder("slow", rate=0.001), self.run_folder("fast", epochs=3, ended=False)
        answers = self.asked([slow, fast], results="tables('Results')", differences="tables('Differences between the jobs')", both="lines('Loss')",
                             one="(click('slow'), lines('Loss'))", best="[...document.querySelectorAll('.best')].map((one) => one.textContent)")
        (results,) = answers["results"]
        self.assertEqual(results[0], ["run", "test loss", "test accuracy", "epochs", "time", "examples/s", "ended", "best epoch", "model and data"])
        self.assertEqual(results[1][:8], ["slow", "0.5000", "0.8750", "2", "9.00 s", "1,000", "finished", "1"])
        self.assertEqual(results[1][8], "mlp; unknown data; 1,234 parameters")
        self.assertEqual(results[2][6], "not ended")
        self.assertEqual(answers["best"], ["0.5000", "0.5000", "1.0000"])
        self.assertEqual(answers["differences"], [[["key", "slow", "fast"], ["train.learning_rate", "0.001", "0.1"]]])
        self.assertEqual((answers["both"], answers["one"]), (4, 2))

    def test_what_replicas_exchanged(self):
        alone = self.run_folder("alone")
        counts = {"bytes": 2500000, "messages": 1200, "communicating": 0.125, "consensus_distance": 0.75, "updates": None}
        together = self.run_folder("together", [{"event": "epoch", "epoch": 3, "seconds": 6, "train": {"loss": 0.3}, "exchange": counts}], ended=False,
                                   job='[cluster]\nstrategy = "ad_psgd"\nreplicas = 4\n')
        self.assertEqual(self.asked([alone], tables="tables('What replicas exchanged')")["tables"], [])
        answers = self.asked([alone, together], tables="tables('What replicas exchanged')", distance="Boolean(figure('Distance between replicas'))")
        self.assertEqual(answers["tables"], [[["run", "strategy", "replicas", "sent", "messages", "time communicating", "distance between replicas"],
                                              ["together", "ad_psgd", "4", "2.50 MB", "1,200", "12.5 %", "0.75"]]])
        self.assertTrue(answers["distance"])

    @staticmethod
    def devices(epoch, examples, updates, busy=(0.75, 0.5)):
        """An epoch with counts so far of the devices cpu and emulated:0."""
        of = lambda pair: dict(zip(("cpu", "emulated:0"), pair))
        return {"event": "epoch", "epoch": epoch, "seconds": epoch, "node": {"examples": of(examples), "updates": of(updates), "busy": of(busy),
                                                                             "staleness": of((1.25, 6.5)), "most_stale": of((4, 17))}}

    def test_devices(self):
        two = self.run_folder("two", [self.devices(1, (1000, 3000), (1000, 250)), self.devices(2, (3000, 5000), (1500, 750))], epochs=0, ended=False)
        start = lambda executor: {"event": "start", "executor": executor}
        anew = self.run_folder("anew", [start("split"), self.devices(1, (100, 100), (10, 10)), start("hogbatch"), self.devices(2, (800, 800), (100, 20)),
                                        self.devices(3, (550, 300), (110, 10)), start("hogbatch"), self.devices(4, (610, 360), (120, 20))], epochs=0)
        answers = self.asked([two], table="tables('Devices')", **{f"at{part}": f"pointer('pointermove', 'Examples per update', {part})" for part in (0.1, 0.95)},
                             fraction="pointer('pointermove', 'Fraction of the updates', 0.1)")
        rows = answers["table"][0]
        self.assertEqual(rows[1], ["two", "cpu", "3,000", "37.5 %", "1,500", "66.7 %", "2", "75.0 %", "1.25", "4"])
        self.assertEqual(rows[2], ["two", "emulated:0", "5,000", "62.5 %", "750", "33.3 %", "6.667", "50.0 %", "6.5", "17"])
        self.assertEqual(answers["at0.1"], ["epoch 1", "two, cpu1", "two, emulated:012"])
        self.assertEqual(answers["at0.95"], ["epoch 2", "two, cpu4", "two, emulated:04"])
        self.assertEqual(answers["fraction"], ["epoch 1", "two, cpu0.8", "two, emulated:00.2"])
        # Another executor, and a count that has fallen, begin anew; the same executor goes on.
        answers = self.asked([anew], **{f"epoch{e}": f"pointer('pointermove', 'Examples per update', {0.06 + 0.31 * (e - 1)})" for e in (2, 3, 4)})
        self.assertEqual(answers["epoch2"], ["epoch 2", "anew, cpu8", "anew, emulated:040"])
        self.assertEqual(answers["epoch3"], ["epoch 3", "anew, cpu5", "anew, emulated:030"])
        self.assertEqual(answers["epoch4"], ["epoch 4", "anew, cpu6", "anew, emulated:06"])

    def test_busy_in_each_epoch_alone(self):
        counts = (100, 100), (10, 10)
        run = self.run_folder("busy", [self.devices(1, *counts, (0.5, 1)), self.devices(2, *counts, (0.75, 0.8)), {"event": "start"},
                                       self.devices(3, *counts, (0.25, 0.4))], epochs=0)
        answers = self.asked([run], **{f"epoch{e}": f"pointer('pointermove', 'About the fraction of the time busy', {0.06 + 0.45 * (e - 1)})" for e in (1, 2, 3)})
        self.assertEqual(answers["epoch1"], ["epoch 1", "busy, cpu0.5", "busy, emulated:01"])
        self.assertEqual(answers["epoch2"], ["epoch 2", "busy, cpu1", "busy, emulated:00.6"])
        self.assertEqual(answers["epoch3"], ["epoch 3", "busy, cpu0.25", "busy, emulated:00.4"])

    def test_devices_of_several_and_older_runs(self):
        old = {"event": "end", "reason": "finished", "node": {"examples": {"cpu": 10, "emulated:0": 30}, "updates": {"cpu": 5, "emulated:0": 0}, "busy": {"cpu": 0.5}}}
        runs = [self.run_folder("none"), self.run_folder("two", [self.devices(1, (100, 100), (10, 10))], epochs=0), self.run_folder("old", [old], ended=False)]
        answers = self.asked(runs, tables="tables('Devices')", value="pointer('pointermove', 'Examples per update', 0.5)", lines="lines('Examples per update')")
        rows = answers["tables"][0]
        self.assertEqual([row[:2] for row in rows[1:]], [["two", "cpu"], ["two", "emulated:0"], ["old", "cpu"], ["old", "emulated:0"]])
        self.assertEqual(rows[3][6:], ["2", "50.0 %", "-", "-"])
        self.assertEqual(rows[4][4:], ["0", "0.0 %", "-", "-", "-", "-"])
        self.assertEqual(answers["value"], ["epoch 1", "two, cpu10", "two, emulated:010"])
        self.assertEqual(answers["lines"], 2)

    def test_damaged_counts_are_passed_over(self):
        nodes = [7, None, [1], "x", {"examples": 3}, {"examples": {"cpu": "x"}, "updates": [], "busy": None}]
        damaged = [{"event": "epoch", "epoch": 2, "node": node} for node in nodes]
        damaged += [{"event": "epoch", "epoch": [], "seconds": "x", "train": 5}, {"event": 3}, {"event": "end", "test": [], "memory": 3, "reason": 4}]
        run = self.run_folder("damaged", damaged, epochs=1, ended=False)
        answers = self.asked([run], devices="tables('Devices')", loss="pointer('pointermove', 'Loss', 0.5)", text="document.body.innerText")
        self.assertEqual(answers["devices"], [])
        self.assertEqual(answers["loss"], ["epoch 1", "train loss1", "test loss0.5"])
        self.assertNotIn("NaN", answers["text"])
        self.assertNotIn("undefined", answers["text"])

    def test_plans(self):
        plan = ('chosen = "a, f32"\n[compared]\ncandidates = [\n {name = "a, f32", seconds_per_update = 0.001, updates = 100, seconds = 0.1, measured = 0.002, '
                'trial_loss = 0.5},\n {name = "b, f32", seconds_per_update = 0.002, updates = 100, seconds = 0.2, dropped = "slower"},\n]\n'
                "[[tried]]\nlearning_rate = 0.3\nmomentum = 0.9\ndiverged = true\nsteps = 66\n[[tried]]\nlearning_rate = 0.1\nloss = 0.25\n")
        candidates, tried = self.asked([self.run_folder("planned", plan_toml=plan)], tables="tables('How the configuration was chosen')")["tables"]
        self.assertEqual(candidates[1], ["a, f32", "1 ms", "2 ms", "0.10 s", "", "0.5000", "chosen"])
        self.assertEqual(candidates[2], ["b, f32", "2 ms", "-", "0.20 s", "", "-", "slower"])
        self.assertEqual(tried[1:], [["0.3", "0.9", "66", "diverged"], ["0.1", "-", "-", "0.2500"]])

    def test_rates_that_were_tried_are_drawn(self):
        plan = "[use.train]\nlearning_rate = 0.1\n" + "".join(f"[[tried]]\nlearning_rate = {rate}\nloss = {loss}\n" for rate, loss in ((1, 9), (0.1, 0.5), (0.01, 2)))
        title = "Loss of the trials by learning rate"
        answers = self.asked([self.run_folder("planned", plan_toml=plan)], middle=f"pointer('pointermove', '{title}', 0.55)",
                             rings=f"figure('{title}').querySelectorAll('.ring').length")
        self.assertEqual(answers, {"middle": ["learning rate, power of 10 -1", "planned, loss0.5"], "rings": 1})

    def test_damaged_plans_are_drawn_as_far_as_they_hold(self):
        plan = 'chosen = 3\n[compared]\ncandidates = [{name = 3, seconds = [1]}, 5, "x", {name = [], seconds = 2, measured = "x", dropped = 4}]\n'
        run = self.run_folder("plan", plan_toml=plan + 'tried = "x"\n')
        other = self.run_folder("tried", plan_toml='tried = [3, {learning_rate = "x", loss = []}]\ncompared = 7\n')
        candidates, tried = self.asked([run, other], tables="tables('How the configuration was chosen')")["tables"]
        self.assertEqual(candidates[1:], [["unknown", "-", "-", "2.00 s", "", "-", ""]])
        self.assertEqual(tried[1:], 2 * [["-", "-"]])

    def test_huge_values_leave_a_gap(self):
        events = [{"event": "epoch", "epoch": e, "seconds": e, "train": {"loss": loss}} for e, loss in ((1, 1), (2, 1.7e308), (3, 2))]
        answers = self.asked([self.run_folder("huge", events, epochs=0)], path="figure('Loss').querySelector('.line').getAttribute('d')")
        self.assertRegex(answers["path"], r"^M[\d. ]+M[\d. ]+$")

    def timeline(self, **keys):
        """Equal lanes of the first and the last of ten ranks."""
        lane = {"rank": 0, "group": 0, "fractions": {"computing": 0.625, "waiting": 0.375, "sending": 0.125}, "computing": [0, 0.125, 0.25, 0.5],
                "waiting": [0.125, 0.25], "sending": [0.1, 0.2], "steps": [0.25]}
        spread = {"minimum": 0.25, "minimum_rank": 0, "median": 0.5, "maximum": 0.75, "maximum_rank": 9}
        whole = {"from": 2, "to": 2.5, "seconds": 8, "ranks": 10, "sends": True, "fractions": {name: spread for name in ("computing", "waiting", "sending")},
                 "lanes": [lane, dict(lane, rank=9, group=1)]}
        return json.dumps(dict(whole, **keys))

    def test_a_timeline(self):
        title = "simulated: 2 of 10 ranks"
        answers = self.asked([self.run_folder("simulated", timeline_json=self.timeline())], table="tables('Who computes, waits and sends')",
                             ticks=f"ticks('{title}')", computes=f"pointer('pointermove', '{title}', 0.2, 0.15)",
                             waits=f"pointer('pointermove', '{title}', 0.4, 0.6)", text="document.body.innerText")
        self.assertEqual(answers["table"][0][1], ["simulated", "computing", "25.0 % (rank 0)", "50.0 %", "75.0 % (rank 9)"])
        self.assertEqual(len(answers["table"][0]), 4)
        for tick in ("rank 0", "rank 9", "milliseconds after 2 s of the run"):
            self.assertIn(tick, answers["ticks"])
        self.assertRegex(answers["computes"][0], r"^rank 0 after 2\.0\d+ s: computing$")
        self.assertEqual(answers["computes"][1:], ["computing, of the whole run62.5 %", "waiting, of the whole run37.5 %", "sending, of the whole run12.5 %"])
        self.assertRegex(answers["waits"][0], r"^rank 9 after 2\.1\d+ s: waiting, sending$")
        fair = self.run_folder("fair", timeline_json=self.timeline(sends=False, to=2))
        answers = self.asked([fair], table="tables('Who computes, waits and sends')",
                             figures="under('Who computes, waits and sends').filter((one) => one.tagName === 'FIGURE').length")
        self.assertEqual(answers["figures"], 0)  # nothing took time
        self.assertEqual([row[1] for row in answers["table"][0][1:]], ["computing", "waiting"])
        self.assertEqual(self.asked([self.run_folder("torn", timeline_json=self.timeline()[:99])], table="tables('Who computes, waits and sends')")["table"], [])

    def test_times_of_a_simulation(self):
        end = {"event": "end", "reason": "step_limit", "seconds": 2.5, "virtual_seconds": 2.5, "epochs": 0.25, "cost": 3, "test": {}}
        answers = self.asked([self.run_folder("times", [end], epochs=0, ended=False)],
                             tiles="[...document.querySelectorAll('.tile')].map((one) => one.innerText.split('\\n'))")
        self.assertEqual(answers["tiles"], [["0.25", "epochs"], ["2.50 s", "training time, in virtual seconds"], ["3", "cost of the cluster"], ["step_limit", "how it ended"]])
        answers = self.asked([self.path("times"), self.run_folder("real")], results="tables('Results')[0][1]")
        self.assertEqual(answers["results"][3:-1], ["0.25", "3", "2.50 s (virtual)", "-", "step_limit", "-"])

    def epochs(self, losses, **more):
        """Epoch events with these validation losses."""
        return [{"event": "epoch", "epoch": e, "step": 10 * e, "seconds": e, "learning_rate": 0.1 / e, "train": {"loss": loss / 2},
                 "validation": {"loss": loss, "accuracy": e / 10}, "test": {"loss": loss}, **more} for e, loss in enumerate(losses, 1)]

    def test_the_first_screen_names_what_was_trained(self):
        job = '[data]\nformat = "csv"\ntrain = "/home/a/train.csv"\n'
        first = "document.querySelector('h1').nextElementSibling.textContent"
        tiles = "[...document.querySelectorAll('.tile')].map((one) => one.innerText.split('\\n'))"
        rings = "figure('Loss').querySelectorAll('.ring').length"
        loss = self.asked([self.run_folder("loss", self.epochs([3, 1, 2]), epochs=0, job=job)], first=first, tiles=tiles, rings=rings)
        self.assertEqual(loss["first"], "mlp; csv, train.csv; 1,234 parameters")
        self.assertIn(["2", "best epoch, by validation loss 1.0000"], loss["tiles"])
        self.assertEqual(loss["rings"], 3)
        job = '[checkpoint]\nbest = "accuracy"\n'
        accuracy = self.asked([self.run_folder("accuracy", self.epochs([3, 1, 2]), epochs=0, job=job)], tiles=tiles)
        self.assertIn(["3", "best epoch, by validation accuracy 0.3000"], accuracy["tiles"])

    def test_sets_differ_by_dash_and_rates_are_drawn_by_step(self):
        dash = "new Set([...figure('Loss').querySelectorAll('.line')].map((one) => getComputedStyle(one).strokeDasharray)).size"
        answers = self.asked([self.run_folder("one", self.epochs([3, 1, 2]), epochs=0)], dashes=dash,
                             rate="(click('by steps'), pointer('pointermove', 'Learning rate', 0.95))")
        self.assertEqual((answers["dashes"], answers["rate"]), (3, ["step 30", "learning rate0.033333"]))

    def test_a_bad_run_does_not_crush_the_axes(self):
        runs = [self.run_folder("good", self.epochs([2, 1, 0.5]), epochs=0),
                self.run_folder("bad", self.epochs([2, 1e9, 1e12]) + [{"event": "end", "reason": "diverged", "message": "the loss became nan at step 40"}],
                                epochs=0, ended=False)]
        answers = self.asked(runs, ticks="ticks('Loss')", text="document.body.innerText", rate="ticks('Learning rate')")
        self.assertIn("bad diverged: the loss became nan at step 40.", answers["text"])
        self.assertIn("far values are cut off", answers["ticks"])
        self.assertNotIn("far values are cut off", answers["rate"])
        self.assertFalse([tick for tick in answers["ticks"] if re.search("[MGTP]$", tick)])

    def test_sampled_losses_have_their_own_axis(self):
        answers = self.asked([self.run_folder("lsh", self.epochs([3, 1, 2]), epochs=0, job='[data]\n[node]\noutput = "lsh"\n')],
                             full="pointer('pointermove', 'Loss', 0.95)", sampled="pointer('pointermove', 'Training loss over sampled labels', 0.95)")
        self.assertEqual((answers["full"], answers["sampled"]), (["epoch 3", "validation loss2", "test loss2"], ["epoch 3", "sampled loss1"]))

    def test_a_kept_evaluation_is_drawn(self):
        points = [[0, 0.5, 1], [0.5, 0.75, 0.6], [1, 1, 0.4]]
        kept = {"checkpoint": "runs/one/best", "examples": 1200, "balanced_accuracy": 0.75, "points": [{"class": "cat", "points": points}, {"class": "dog"}],
                "mistakes": [{"index": 7, "file": "a/b.png", "class": "cat", "probability": 0.125, "found": "dog", "found_probability": 0.875,
                              "picture": {"width": 2, "height": 1, "channels": 3, "pixels": "ff8000010203"}},
                             {"index": 9, "class": "cat", "probability": 0.25, "found": "dog", "found_probability": 0.75,
                              "picture": {"width": 2, "height": 1, "channels": 3, "pixels": "ff"}}]}
        answers = self.asked([self.run_folder("one", evaluation_json=json.dumps(kept))], roc="pointer('pointermove', 'ROC curves', 0.95)",
                             recall="pointer('pointermove', 'Precision-recall curves', 0.55)", worst="tables('Evaluation')",
                             pictures="[...document.querySelectorAll('canvas')].map((one) => [...one.getContext('2d').getImageData(0, 0, 2, 1).data])", text="document.body.innerText")
        self.assertEqual(answers["roc"], ["false positive rate 1", "cat1"])
        self.assertEqual(answers["recall"], ["recall 0.75", "cat0.6"])
        self.assertEqual([[cell.strip() for cell in row] for row in answers["worst"][0][1:]],
                         [["a/b.png", "cat 0.125", "dog 0.875"], ["9", "cat 0.25", "dog 0.75"]])
        self.assertEqual(answers["pictures"], [[255, 128, 0, 255, 1, 2, 3, 255]])
        self.assertIn("runs/one/best, 1,200 examples, balanced accuracy 0.7500.", answers["text"])
        damaged = self.asked([self.run_folder("two", evaluation_json='{"poi')], text="document.body.innerText")
        self.assertNotIn("Evaluation", damaged["text"])

    def test_virtual_seconds_and_names(self):
        run = self.run_folder("a-name_of.words", self.epochs([3, 1]) + [{"event": "end", "reason": "finished", "seconds": 2, "virtual_seconds": 2}],
                              epochs=0, ended=False)
        answers = self.asked([run], choices="[...document.querySelectorAll('.choice')].map((one) => one.textContent)",
                             name="document.querySelector('h1').innerHTML")
        self.assertEqual(answers["choices"][-1], "by virtual seconds")
        self.assertEqual(answers["name"], "a-<wbr>name_<wbr>of.<wbr>words")

    def test_no_epoch(self):
        answers = self.asked([self.run_folder("young", epochs=0, ended=False)], text="document.body.innerText")
        self.assertIn("No epoch is complete yet.", answers["text"])

    def test_an_end_without_an_epoch(self):
        answers = self.asked([self.run_folder("times", epochs=0)], text="document.body.innerText")
        self.assertIn("No epoch was evaluated.", answers["text"])

    def test_narrow_and_wide_screens(self):
        runs = [self.run_folder(name, [self.devices(3, (1000, 3000), (1000, 250))], timeline_json=self.timeline())
                for name in ("a", "a-run-of-a-rather-long-name-that-has-to-be-broken-somewhere")]
        for width in (375, 1440):
            page = self.path("page.html")
            subprocess.run([YOKE, "report", *runs, "--output", page], check=True, capture_output=True)
            frame = self.path("frame.html")  # a window may not be as narrow
            self.write("frame.html", f"""<iframe src="page.html" width="{width}" height="900" style="border: 0"></iframe><pre id="answers"></pre><script>
              setTimeout(() => {{
                const page = document.querySelector("iframe").contentDocument;
                document.getElementById("answers").textContent = JSON.stringify([page.documentElement.scrollWidth, page.querySelectorAll(".series").length,
                  Math.min(...[...page.querySelectorAll("figure > svg text")].map((one) => one.getBoundingClientRect().height))]);
              }}, 400);</script>""")
            done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                                   f"--user-data-dir={self.profile.name}", "--window-size=1600,1000", "--virtual-time-budget=3000", "--dump-dom",
                                   "file://" + frame], capture_output=True, text=True, timeout=120)
            found = re.search(r'<pre id="answers">(.*?)</pre>', done.stdout)
            self.assertTrue(found and found[1], done.stdout[-500:] + done.stderr[-500:])
            widest, series, smallest = json.loads(found[1])
            self.assertLessEqual(widest, width)
            self.assertGreater(series, 4)
            self.assertGreater(smallest, 11)  # pixels: readable


if __name__ == "__main__":
    if not BROWSER:
        print("skipped: no Chromium here, which draws the report's page")
        sys.exit(77)
    unittest.main()
