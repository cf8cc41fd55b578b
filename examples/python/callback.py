"""A callback that stops a run where the loss no longer falls."""
import numpy as np
import yoke


class Patience:
    """Stops after `epochs` epochs without a lower loss."""

    def __init__(self, epochs):
        self.epochs, self.best, self.since = epochs, float("inf"), 0

    def __call__(self, event):
        if event["event"] != "epoch":
            return False
        loss = event["train"]["loss"]
        self.since = 0 if loss < 0.99 * self.best else self.since + 1
        self.best = min(self.best, loss)
        return self.since >= self.epochs


random = np.random.default_rng(1)
x = random.normal(size=(1000, 10)).astype(np.float32)
y = (x.sum(axis=1) > 0).astype(int)
job = {"model": {"name": "mlp", "widths": [16]}, "train": {"epochs": 500, "learning_rate": 0.05}}
run = yoke.train(job, (x, y), callbacks=[Patience(3)])
print(run.end["reason"], "after", len(run.epochs), "epochs")
