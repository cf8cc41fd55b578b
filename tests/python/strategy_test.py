"""Strategies that are classes of Python, in threads and in the simulator."""
import module

module.need()

import os
import tempfile
import unittest

import numpy as np
import scipy.sparse

import yoke

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(320, 6)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
JOB = {"data": {"format": "synthetic-digits", "train_size": 640, "test_size": 100}, "model": {"name": "mlp", "widths": [16]},
       "train": {"epochs": 2, "learning_rate": 0.05, "batch": 16}, "node": {"threads": 1}, "cluster": {"replicas": 4}}
CLUSTER = ("[[nodes]]\ncount = 4\noperations_per_second = 1e9\nbytes_per_second = 1e9\n"
           "[network]\nlatency = 1e-5\nbytes_per_second = 1e8\n")


class Mean(yoke.Strategy, name="test_mean", options={"period": 2, "scale": 0.5, "loud": False, "word": "a"}):
    """The mean gradient of all replicas."""
    seen: list = []

    def prepare(self):
        Mean.seen.append((self.world.rank, self.options["period"], self.options["scale"], self.options["word"]))

    def step(self, step):
        self.world.all_reduce(self.gradient)
        self.update(1 / self.world.size)


class Averaging(yoke.Strategy, name="test_averaging", options={"period": 4}, replicas_differ=True):
    """Local training, then the mean."""
    steps = 0

    def step(self, step):
        self.update()
        self.steps += 1
        if self.steps % self.options["period"] == 0:
            self.world.all_reduce(self.values)
            self.values /= self.world.size

    def state(self):
        return {"steps": self.steps, "rank": self.world.rank}

    def restore(self, state):
        self.steps = state["steps"]


class Failing(yoke.Strategy, name="test_failing"):
    def step(self, step):
        self.update()
        if step.step == 3 and self.world.rank == 1:
            raise ZeroDivisionError("on purpose")
        self.world.barrier()


class Views(yoke.Strategy, name="test_views", replicas_differ=True):
    """Takes the gradient at half the values, and gives twice the values as its model."""
    shapes: dict = {}

    def view(self, step):
        Views.shapes = {name: array.shape for name, array in self.parameters.items()}
        assert self.parameters["linear1.weight"].base is not None
        assert set(self.gradients) == set(self.parameters)
        return self.values / 2

    def step(self, step):
        self.update()

    def model(self):
        return 2 * self.values


class Talkative(yoke.Strategy, name="test_talkative", replicas_differ=True):
    """All other messages."""
    told: list = []

    def step(self, step):
        self.update()
        rank, size = self.world.rank, self.world.size
        mine = np.full(3, rank, np.float32)
        self.world.send(mine, (rank + 1) % size, tag=2)
        got = np.empty(3, np.float32)
        source = self.world.receive(got, tag=2)
        self.world.broadcast(mine, 1)
        total = np.ones(2, np.float32)
        self.world.reduce(total, 0)
        self.world.charge(operations=1e6)
        Talkative.told.append((rank, source, got[0], mine[0], total[0] if rank == 0 else 0, self.world.now() >= 0))


class StrategyTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        Mean.seen.clear()

    def weights(self, strategy, run, rule="momentum", **cluster):
        train = {**JOB["train"], "rule": rule}
        result = yoke.train({**JOB, "train": train, "cluster": {"replicas": 4, "strategy": strategy, **cluster}}, run=run)
        return result.model().weights()

    def assert_same(self, a, b):
        for name, values in a.items():
            np.testing.assert_allclose(values, b[name], rtol=2e-3, atol=2e-4, err_msg=name)

    def test_the_mean_gradient_is_allreduce(self):
        self.assert_same(self.weights("test_mean", "a"), self.weights("allreduce", "b"))
        self.assertEqual(sorted(Mean.seen), [(rank, 2, 0.5, "a") for rank in range(4)])

    def test_rules_of_whole_layers(self):
        self.assert_same(self.weights("test_mean", "a", "lamb"), self.weights("allreduce", "b", "lamb"))

    def test_averaging_is_local_sgd(self):
        self.assert_same(self.weights("test_averaging", "a"), self.weights("local_sgd", "b", period=4))

    def test_it_runs_in_the_simulator(self):
        with open("cluster.toml", "w") as out:
            out.write(CLUSTER)
        job = {**JOB, "cluster": {"strategy": "test_averaging"}}
        run = yoke.simulate(job, "cluster.toml", run="a")
        self.assertGreater(run.end["virtual_seconds"], 0)
        self.assert_same(run.model().weights(), self.weights("test_averaging", "b"))

    def test_messages_in_threads_and_in_the_simulator(self):
        with open("cluster.toml", "w") as out:
            out.write(CLUSTER)
        job = {**JOB, "train": {**JOB["train"], "epochs": 1}}
        for work in (lambda: yoke.train({**job, "cluster": {"strategy": "test_talkative", "replicas": 4}}, run="a"),
                     lambda: yoke.simulate({**job, "cluster": {"strategy": "test_talkative"}}, "cluster.toml", run="b")):
            Talkative.told.clear()
            work()
            self.assertEqual(set(Talkative.told), {(rank, (rank - 1) % 4, (rank - 1) % 4, 1.0, 4.0 if rank == 0 else 0, True)
                                                   for rank in range(4)})

    def test_sparse_layers_are_refused(self):
        job = {name: section for name, section in JOB.items() if name != "data"}
        with self.assertRaisesRegex(yoke.UserError, 'strategy = "test_mean": strategies of Python train dense layers, and this model has a sparse one'):
            yoke.train({**job, "cluster": {"strategy": "test_mean", "replicas": 2}}, (scipy.sparse.csr_matrix(X), Y), run="a")

    def test_views_of_parameters(self):
        run = yoke.train({**JOB, "cluster": {"strategy": "test_views", "replicas": 1}}, run="a")
        self.assertEqual(Views.shapes["linear1.weight"], (16, 784))
        self.assertEqual(run.model().weights()["linear1.weight"].shape, (16, 784))

    def test_an_exception_is_raised_as_it_is(self):
        for replicas in (2, 4):
            with self.assertRaisesRegex(Exception, "on purpose"):
                self.weights("test_failing", f"a{replicas}", replicas=replicas)

    def test_it_continues(self):
        job = {**JOB, "cluster": {"strategy": "test_averaging", "replicas": 2, "period": 3}}
        whole = yoke.train(job, run="a").model().weights()
        yoke.train(job, run="b", keys={"train.epochs": 1})
        continued = yoke.resume("b", keys={"train.epochs": 2}).model().weights()
        self.assert_same(whole, continued)

    def test_a_class_is_defined_again(self):
        weights = []
        for turn, (factor, epochs) in enumerate(((1.0, 2), (0.0, 2), (0.0, 1))):
            class Scaled(yoke.Strategy, name="test_scaled"):
                def step(self, step):
                    self.update(factor)
            job = {**JOB, "cluster": {"strategy": "test_scaled", "replicas": 1}}
            weights.append(yoke.train(job, run=f"a{turn}", keys={"train.epochs": epochs}).model().weights()["linear1.weight"])
        self.assertTrue((weights[1] == weights[2]).all())
        self.assertFalse((weights[0] == weights[1]).all())

    def test_mistakes(self):
        with self.assertRaisesRegex(yoke.UserError, "'allreduce' is one of yoke's"):
            type("A", (yoke.Strategy,), {}, name="allreduce")
        with self.assertRaisesRegex(yoke.UserError, "the option list: expected"):
            type("A", (yoke.Strategy,), {}, name="test_list", options={"list": [1]})
        with self.assertRaisesRegex(yoke.UserError, "perid"):
            self.weights("test_averaging", "a", perid=3)
        with self.assertRaisesRegex(yoke.UserError, "known"):
            self.weights("test_averging", "b")

        class Short(yoke.Strategy, name="test_short"):
            def view(self, step):
                return self.values[:3].copy()

            def step(self, step):
                self.update()
        with self.assertRaisesRegex(yoke.Error, "gave 3 values; expected"):
            self.weights("test_short", "c", replicas=1)

        class Wrong(yoke.Strategy, name="test_wrong"):
            def step(self, step):
                self.world.all_reduce(np.zeros(3))
        with self.assertRaisesRegex(Exception, "array of float32 in C order"):
            self.weights("test_wrong", "d", replicas=1)

        class Empty(yoke.Strategy, name="test_empty"):
            pass
        with self.assertRaisesRegex(Exception, "has no step"):
            self.weights("test_empty", "e", replicas=1)

    def test_it_is_listed(self):
        listed = {entry["name"]: entry["summary"] for entry in yoke.list("strategies")}
        self.assertEqual(listed["test_mean"], "The mean gradient of all replicas")


if __name__ == "__main__":
    unittest.main()
