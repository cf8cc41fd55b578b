"""A strategy of one's own, on threads and on a simulated cluster: replicas average their values with one neighbour at a time."""
import numpy as np
import yoke


class Pairs(yoke.Strategy, name="pairs", options={"period": 1}, replicas_differ=True, deterministic=True):
    """Every `period` steps each replica averages its values with a neighbour's, in turn the left and the right one."""

    def prepare(self):
        self.other = np.empty_like(self.values)

    def step(self, step):
        self.update()
        turn, rest = divmod(step.step + 1, self.options["period"])
        partner = self.world.rank ^ 1 if turn % 2 else (self.world.rank + 1 ^ 1) - 1
        if rest != 0 or not 0 <= partner < self.world.size:
            return
        self.world.send(self.values, partner)
        self.world.receive(self.other, partner)
        self.values += self.other
        self.values /= 2


job = {"data": {"format": "synthetic-digits", "train_size": 2000, "test_size": 500}, "model": {"name": "mlp", "widths": [32]},
       "train": {"epochs": 4, "learning_rate": 0.05, "batch": 16}, "cluster": {"strategy": "pairs"}, "node": {"threads": 1}}
print("threads", yoke.train(job, keys={"cluster.replicas": 4}).test["accuracy"])

with open("cluster.toml", "w") as out:
    out.write("[[nodes]]\ncount = 4\noperations_per_second = 1e10\nbytes_per_second = 1e10\n"
              "[network]\nlatency = 1e-4\nbytes_per_second = 1e8\n")
run = yoke.simulate(job, "cluster.toml")
print("simulated", run.test["accuracy"], "in", run.end["virtual_seconds"], "virtual seconds")
