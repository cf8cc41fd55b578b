"""Extreme classification from SciPy: sparse features, and many labels of which an example has a few."""
import numpy as np
import scipy.sparse
import yoke

random = np.random.default_rng(1)
examples, features, labels = 4000, 2000, 500
own = random.integers(0, features, (labels, 8))  # the features that a label brings
chosen = random.integers(0, labels, (examples, 2))
rows = np.repeat(np.arange(examples), 16)
x = scipy.sparse.csr_matrix((np.ones(rows.size, np.float32), (rows, own[chosen].reshape(-1))), (examples, features))
y = scipy.sparse.csr_matrix((np.ones(2 * examples), (np.repeat(np.arange(examples), 2), chosen.reshape(-1))), (examples, labels))

job = {"model": {"name": "xmc", "hidden": 64}, "train": {"epochs": 15, "rule": "adam", "learning_rate": 0.005}}
run = yoke.train(job, {"train": (x[:3500], y[:3500]), "test": (x[3500:], y[3500:])})
print(run.test)
best, probabilities = run.model().best(x[3500:], top=2)
print("labels", best[0], "truth", np.sort(chosen[3500]))
