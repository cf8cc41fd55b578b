"""Regression on a table of pandas: prices of flats, with columns of numbers and of categories."""
import numpy as np
import pandas as pd
import yoke

random = np.random.default_rng(1)
count = 2000
flats = pd.DataFrame({"area": random.uniform(20, 150, count), "floor": random.integers(0, 12, count),
                      "district": random.choice(["centre", "harbour", "north"], count)})
worth = flats["district"].map({"centre": 9000, "harbour": 7000, "north": 4000})
flats["price"] = flats["area"] * worth + 2000 * flats["floor"] + random.normal(0, 20000, count)

x, y = pd.get_dummies(flats.drop(columns="price"), dtype="float32"), flats["price"]
job = {"data": {"normalize": "standard"}, "model": {"name": "mlp", "widths": [32, 32]},
       "train": {"epochs": 30, "rule": "adam", "learning_rate": 0.01, "schedule": {"name": "cosine"}}}
run = yoke.train(job, {"train": (x[:1600], y[:1600]), "test": (x[1600:], y[1600:])}, keys={"data.task": "regression"})
print(run.table()[["epoch", "train_loss", "test_rmse"]].tail(3).to_string(index=False))
print("r2", run.test["r2"])
print("a flat of 80 m2", run.model().predict(x[1600:1601])[0, 0], "was", y.iloc[1600])
