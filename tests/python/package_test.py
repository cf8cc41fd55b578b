"""The package yoke: train, models, data of all kinds, errors, events, signals."""
import module

module.need()

import logging
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import scipy.sparse

import yoke

JOB = {"data": {"format": "synthetic-digits", "train_size": 600, "test_size": 100}, "model": {"name": "mlp", "widths": [16]},
       "train": {"epochs": 2, "learning_rate": 0.05, "batch": 32}, "node": {"threads": 1}}
NET = {"model": JOB["model"], "train": {"epochs": 10, "learning_rate": 0.05, "batch": 32}, "node": {"threads": 1}}
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(200, 5)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)


class PackageTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        os.environ["XDG_CACHE_HOME"] = folder.name  # what planners keep

    def test_what_a_run_logs_as_a_warning_is_one(self):
        job = {**JOB, "node": {"threads": 1, "executor": "split", "devices": ["cpu", "emulated:0"], "device_timeout": 0.02,
                               "emulated_slowdown": 1000}}
        with self.assertWarnsRegex(RuntimeWarning, "device emulated:0 failed .*: training goes on without it"):
            yoke.train(job, run="w")

    def test_a_dict_trains_as_its_file_does(self):
        run = yoke.train(JOB, run="a")
        with open("job.toml", "w") as out:
            out.write('[data]\nformat = "synthetic-digits"\ntrain_size = 600\ntest_size = 100\n[model]\nname = "mlp"\nwidths = [16]\n'
                      '[train]\nepochs = 2\nlearning_rate = 0.05\nbatch = 32\n[node]\nthreads = 1\n')
        done = subprocess.run([sys.executable, "-m", "yoke", "train", "job.toml", "--run", "b", "--quiet"])
        self.assertEqual(done.returncode, 0)
        weights = [pathlib.Path(name, "last/model.safetensors").read_bytes() for name in ("a", "b")]
        self.assertEqual(*weights)
        self.assertEqual(yoke.train("job.toml", run="c", keys={"train.epochs": 1}).end["epochs"], 1)
        self.assertEqual(len(run.epochs), 2)
        self.assertEqual(run.test, run.epochs[-1]["test"])
        self.assertEqual(run.metrics["test_accuracy"].shape, (2,))
        self.assertEqual(list(run.table()["epoch"]), [1, 2])
        self.assertIn("<html", run.report())
        self.assertEqual([os.path.basename(path) for path in run.checkpoints], ["19", "38"])
        self.assertTrue(os.path.samefile(run.checkpoints[-1], run.checkpoint))

    def test_arrays_of_each_kind(self):
        pairs = {"float64": X.astype(float), "list": X.tolist(), "fortran": np.asfortranarray(X), "csr": scipy.sparse.csr_array(X),
                 "csc": scipy.sparse.csc_matrix(X)}
        import pandas
        pairs["pandas"] = pandas.DataFrame(X)
        for name, x in pairs.items():
            run = yoke.train(NET, (x, Y), run=name)
            model = run.model()
            self.assertEqual(model.predict(x).shape, (200, 2), name)
            self.assertGreater(model.evaluate(x, Y)["accuracy"], 0.7, name)

    def test_tables_of_arrow_and_tensors(self):
        class Tensor:  # as PyTorch's
            def __dlpack__(self, **rest):
                return X.__dlpack__(**rest)

            def __dlpack_device__(self):
                return X.__dlpack_device__()
        kinds = {"dlpack": Tensor(), "buffer": memoryview(X)}
        try:
            import pyarrow
            kinds["arrow"] = pyarrow.table({f"c{i}": X[:, i] for i in range(5)})
            kinds["batch"] = pyarrow.record_batch({f"c{i}": X[:, i] for i in range(5)})
        except ImportError:
            pass  # tools/setup python installs it
        scores = []
        for name, x in kinds.items():
            model = yoke.train(NET, (x, Y), run=name).model()
            scores.append(model.predict(x))
            np.testing.assert_array_equal(scores[-1], scores[0], name)

        class Broken:
            def __dlpack__(self, **rest):
                raise BufferError("it needs a gradient")
        with self.assertRaisesRegex(yoke.UserError, "cannot be read as an array: it needs a gradient"):
            yoke.train(NET, (Broken(), Y))

    def test_batches_of_an_iterator(self):
        labels = (X[:, :3] > 0).astype(int)
        kinds = {"classes": (X, Y), "texts": (X, np.where(Y == 1, "yes", "no")), "sets": (X, scipy.sparse.csr_matrix(labels)),
                 "numbers": (X, X[:, 0] + 0.5), "sparse": (scipy.sparse.csr_matrix(X), Y), "bytes": ((X > 0).astype(np.uint8), Y)}
        for name, (x, y) in kinds.items():
            whole = yoke.train(NET, {"train": (x, y), "test": (x[:50], y[:50])}, run=f"{name}-whole")
            parts = ((x[at:at + 60], y[at:at + 60]) for at in range(0, 200, 60))
            test = [(x[at:at + 25], y[at:at + 25]) for at in (0, 25)]
            run = yoke.train(NET, {"train": parts, "test": iter(test)}, run=name, keys={"data.memory_limit": 0})
            np.testing.assert_array_equal(whole.model().predict(x), run.model().predict(x), name)
            self.assertEqual(whole.test, run.test)

    def test_a_bar_shows_progress(self):
        told = []

        class Bar:
            def __init__(self, total, **rest):
                self.n, self.total = 0, total
                told.append(total)

            def update(self, by):
                self.n += by

            def set_postfix(self, metrics):
                told.append((round(self.n, 6), *metrics))

            def close(self):
                told.append("closed")
        from yoke import _runs
        yoke.train(NET, (X, Y), run="a", callbacks=[_runs._Bar(Bar)])
        self.assertEqual((told[0], told[-2], told[-1]), (10, (10, "loss"), "closed"))
        self.assertFalse(_runs._in_notebook())

    def test_classes_are_texts_or_numbers(self):
        names = np.where(Y == 1, "yes", "no")
        run = yoke.train(NET, {"train": (X, names), "test": (X[:20], names[:20])}, run="a")
        self.assertEqual(run.model().classes, ["no", "yes"])
        self.assertIn("accuracy", run.test)
        self.assertEqual(yoke.train(NET, (X, Y.astype(float)), run="b").model().classes, ["0", "1"])
        with self.assertRaisesRegex(yoke.UserError, "'maybe' is not one of the training's"):
            run.model().evaluate(X[:2], ["no", "maybe"])

    def test_label_sets(self):
        labels = (X[:, :3] > 0).astype(int)
        for name, y in {"dense": labels, "sparse": scipy.sparse.csr_matrix(labels)}.items():
            model = yoke.train(NET, (X, y), run=name).model()
            self.assertEqual(model.predict(X).shape, (200, 3))
            self.assertIn("p_at_1", model.evaluate(X, y))
            best, probabilities = model.best(X, top=2)
            self.assertEqual((best.shape, probabilities.shape), ((200, 2), (200, 2)))
            self.assertTrue((probabilities[:, 0] >= probabilities[:, 1]).all())

    def test_images_in_bytes(self):
        images = RANDOM.integers(0, 256, (60, 28, 28)).astype(np.uint8)
        model = yoke.train({**NET, "model": {"name": "lenet"}}, (images, np.arange(60) % 3), run="a").model()
        self.assertEqual(model.input, (1, 28, 28))
        np.testing.assert_array_equal(model.predict(images), model.predict(images.astype(np.float32)))
        np.testing.assert_array_equal(model.predict(images), model.predict(images.reshape(60, -1)))

    def test_models_are_pickled_and_exported(self):
        model = yoke.train(NET, (X, Y), run="a").model()
        scores = model.predict(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), scores)
        model.export("model.onnx")
        np.testing.assert_allclose(yoke.Model.load("model.onnx").predict(X), scores, rtol=1e-5)
        weights = model.weights()
        self.assertEqual(weights["linear1.weight"].shape, (16, 5))
        self.assertFalse(weights["linear1.weight"].flags.writeable)
        del model
        self.assertTrue(np.isfinite(weights["linear1.weight"]).all())

    def test_numbers_have_the_unit_of_their_targets(self):
        y = 100 + 30 * X[:, 0]
        for loss in ("mean_squared_error", "huber"):
            model = yoke.train({**NET, "model": {**NET["model"], "loss": loss}}, (X, y), run=loss).model()
            self.assertGreater(model.evaluate(X, y)["r2"], 0.5)
            model.export("model.onnx")
            loaded = yoke.Model.load("model.onnx")
            np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-4, atol=1e-3)
            self.assertAlmostEqual(loaded.evaluate(X, y)["r2"], model.evaluate(X, y)["r2"], 3)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(loaded)).predict(X), loaded.predict(X))
            for one in (model, loaded):
                with self.assertRaisesRegex(yoke.UserError, "predicts numbers: use predict"):
                    one.best(X)

    def test_a_pickle_needs_no_onnx_file(self):
        yoke.train(NET, (X, np.where(Y == 1, "yes", "no")), run="a").model().export("model.onnx")
        loaded = yoke.Model.load("model.onnx")
        self.assertEqual(loaded.classes, ["no", "yes"])
        pickled = pickle.dumps(loaded)
        os.remove("model.onnx")
        np.testing.assert_array_equal(pickle.loads(pickled).predict(X), loaded.predict(X))

    def test_amounts_in_whole_numbers(self):
        amounts = np.floor(1000 * X[:, 0])
        with self.assertRaisesRegex(yoke.UserError, "more than 100 different whole numbers"):
            yoke.train(NET, (X, amounts), run="a")
        keys = {"data.task": "regression"}
        self.assertEqual(yoke.train(NET, (X, amounts), run="b", keys=keys).model().predict(X).shape, (200, 1))
        self.assertEqual(yoke.resume("b", (X, amounts), keys={"train.epochs": 12}).end["epochs"], 12)

    def test_data_stand_for_the_files_of_a_job(self):
        with open("job.toml", "w") as out:
            out.write('[data]\nformat = "csv"\ntrain = "absent.csv"\nvalidation = "absent.csv"\nlabel = 0\ndelimiter = ";"\n'
                      'normalize = "standard"\ntest_share = 0.2\n[model]\nname = "mlp"\nwidths = [16]\n')
        run = yoke.train("job.toml", (X, Y), run="a", keys={"train.epochs": 1})
        self.assertIn("accuracy", run.test)
        kept = run.model().job["data"]
        self.assertEqual((kept["format"], kept["normalize"]), ("memory", "standard"))
        self.assertFalse({"train", "validation", "label", "delimiter"} & kept.keys())
        with self.assertRaisesRegex(yoke.UserError, "normalise"):
            yoke.train({**NET, "data": {"normalise": "standard"}}, (X, Y), run="b")
        with self.assertRaisesRegex(yoke.UserError, "reads no files; expected validation_share"):
            yoke.train(NET, (X, Y), run="c", keys={"data.validation": "absent.csv"})

    def test_the_environment_replaces_devices(self):
        os.environ["YOKE_DEVICES"] = "cpu"
        self.addCleanup(os.environ.pop, "YOKE_DEVICES")
        run = yoke.train({**NET, "node": {"devices": ["absent"]}}, (X, Y), run="a")
        self.assertEqual(run.model().job["node"]["devices"], ["cpu"])

    def test_predictions_do_not_depend_on_their_number(self):
        model = yoke.train(NET, (X, Y), run="a").model()
        each = np.concatenate([model.predict(X[i:i + 1]) for i in range(50)])
        np.testing.assert_allclose(model.predict(X[:50]), each, rtol=1e-6, atol=1e-7)
        self.assertEqual(model.predict(X[:0]).shape, (0, 2))

    def test_threads_share_a_model(self):
        model = yoke.train(NET, (X, Y), run="a").model()
        expected, found = model.predict(X), []
        threads = [threading.Thread(target=lambda: found.append(model.predict(X))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in found:
            np.testing.assert_array_equal(one, expected)

    def test_mistakes_are_user_errors(self):
        cases = {"synthetic-digits": lambda: yoke.train({**JOB, "data": {"format": "synthetic-digts"}}),
                 "no .model. section": lambda: yoke.train({"data": JOB["data"]}),
                 "expected a plain value": lambda: yoke.train({**JOB, "train": {"epochs": object()}}),
                 "train.epochs": lambda: yoke.train({**JOB, "train": {"epochs": 0}}),
                 "cannot read": lambda: yoke.train("absent.toml"),
                 "no checkpoint": lambda: yoke.Model.load("absent"),
                 "absent.onnx": lambda: yoke.Model.load("absent.onnx"),
                 "one class": lambda: yoke.train(NET, (X, Y * 0)),
                 "200 examples": lambda: yoke.train(NET, (X, Y[:10])),
                 "value of nan": lambda: yoke.train(NET, (X * np.nan, Y)),
                 "value of inf": lambda: yoke.train(NET, (X.astype(float) * 1e300, Y)),
                 "expected numbers": lambda: yoke.train(NET, (X.astype(str), Y)),
                 "2 to 6 axes": lambda: yoke.train(NET, (X[:, 0], Y)),
                 "no features": lambda: yoke.train(NET, (X[:, :0], Y)),
                 "no training examples": lambda: yoke.train(NET, (X[:0], Y[:0])),
                 "'train' and 'test'": lambda: yoke.train(NET, {"training": (X, Y)}),
                 "different labels": lambda: yoke.train(NET, (np.ones((5000, 1)), np.arange(5000))),
                 "test examples are": lambda: yoke.train(NET, {"train": (X, Y), "test": (X[:, :2], Y)}),
                 "known kinds|kind": lambda: yoke.list("colours"),
                 "no run directory": lambda: yoke.resume("absent"),
                 "cannot read absent": lambda: yoke.simulate(JOB, "absent.toml")}
        for sentence, work in cases.items():
            with self.subTest(sentence), self.assertRaisesRegex(yoke.UserError, sentence):
                work()
        self.assertEqual(yoke.UserError.exit_status, 2)
        self.assertTrue(issubclass(yoke.UserError, ValueError))
        model = yoke.train(NET, (X, Y), run="a").model()
        with self.assertRaisesRegex(yoke.UserError, "the examples are 2; expected 5"):
            model.predict(X[:, :2])
        with self.assertRaisesRegex(yoke.UserError, "sparse; expected dense"):
            model.predict(scipy.sparse.csr_array(X))
        with self.assertRaisesRegex(yoke.UserError, "ends in .onnx"):
            model.export("model.txt")
        with self.assertRaisesRegex(yoke.UserError, "holds a run already"):
            yoke.train(NET, (X, Y), run="a")

    def test_a_divergence_has_its_class(self):
        with self.assertRaises(yoke.Diverged) as caught:
            yoke.train({**NET, "train": {"learning_rate": 1e30, "rule": "sgd"}}, (X * 1e10, Y), run="a")
        self.assertEqual(caught.exception.exit_status, 3)
        self.assertEqual(caught.exception.run.directory, "a")

    def test_callbacks_see_events_and_stop(self):
        seen = []
        run = yoke.train({**NET, "train": {"epochs": 50, "learning_rate": 0.01}}, (X, Y), run="a",
                         callbacks=[lambda event: seen.append(event["event"]), lambda event: event.get("epoch", 0) == 3])
        self.assertEqual((run.end["reason"], len(run.epochs)), ("interrupted", 3))
        self.assertEqual((seen[0], seen[-1]), ("start", "end"))
        self.assertEqual(yoke.resume("a", (X, Y), keys={"train.epochs": 5}).end["epochs"], 5)

    def test_a_callbacks_exception_is_raised(self):
        with self.assertRaises(ZeroDivisionError):
            yoke.train(NET, (X, Y), run="a", callbacks=[lambda event: 1 / 0])
        self.assertTrue(os.path.exists("a/job.toml"))

    def test_messages_are_logged(self):
        with self.assertLogs("yoke", logging.INFO):
            yoke.train({**NET, "train": {"learning_rate": 0.01, "planner": "omnivore"}}, (X, Y), run="a")

    def test_ctrl_c_stops_in_order(self):
        code = ("import sys, yoke, test_data as d\n"
                "try: yoke.train(d.JOB, run='a', callbacks=[lambda e: print(e['event'], flush=True)])\n"
                "except KeyboardInterrupt as stop: print('stopped', stop.run.end['reason'], stop.__notes__); sys.exit(5)\n")
        with open("test_data.py", "w") as out:
            out.write(f"JOB = {({**JOB, 'train': {'epochs': 100000, 'learning_rate': 0.01}})!r}\n")
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": f"{module.MODULE}:."})
        while process.stdout.readline().strip() != "epoch":
            pass
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 5)
        self.assertIn("stopped interrupted", rest)
        self.assertTrue(os.path.exists("a/last/model.safetensors"))

    def test_the_lock_of_python_is_free_while_it_trains(self):
        counted, over = [0], threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        yoke.train({**NET, "train": {"epochs": 300, "learning_rate": 0.01}}, (X, Y), run="a")
        over.set()
        thread.join()
        self.assertGreater(counted[0], 20)

    def test_a_process_may_fork_afterwards(self):
        run = yoke.train({**JOB, "node": {"threads": 2}}, run="a")
        model, many = run.model(), np.zeros((20000, 784), np.float32)
        scores = model.predict(many)
        child = os.fork()
        if child == 0:
            same = np.array_equal(model.predict(many), scores)
            os._exit(0 if same and yoke.train({**JOB, "node": {"threads": 2}}, run="b").test["accuracy"] > 0.2 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_processes_of_a_launcher(self):
        if not shutil.which("mpirun.openmpi"):
            self.skipTest("no Open MPI: tools/setup build")
        pathlib.Path("program.py").write_text(f"import yoke\nrun = yoke.train({JOB!r}, run='r')\nprint(run.test)\n")
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONPATH": module.MODULE}
        done = subprocess.run(["mpirun.openmpi", "--oversubscribe", "-n", "2", sys.executable, "program.py"], capture_output=True, text=True,
                              env={**os.environ, **allowed}, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("accuracy", done.stdout)
        self.assertIn("world\": 2", pathlib.Path("r/metrics.jsonl").read_text().replace("\":2", "\": 2"))

    def test_lists_plans_and_simulations(self):
        self.assertIn("relu", [entry["name"] for entry in yoke.list("layers")])
        planned = yoke.plan(JOB, trial_seconds=1, only=["single"])
        self.assertEqual(planned["candidates"][planned["chosen"]]["executor"], "single")
        with open("cluster.toml", "w") as out:
            out.write("[[nodes]]\ncount = 2\noperations_per_second = 1e9\nbytes_per_second = 1e9\n"
                      "[network]\nlatency = 1e-5\nbytes_per_second = 1e8\n")
        run = yoke.simulate(JOB, "cluster.toml", steps=5, run="a")
        self.assertEqual(run.start["world"], 2)
        self.assertGreater(run.end["virtual_seconds"], 0)


if __name__ == "__main__":
    unittest.main()
