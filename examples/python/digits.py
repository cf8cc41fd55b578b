"""Trains LeNet on drawn digits, and reads three of them."""
import yoke

job = {"data": {"format": "synthetic-digits", "train_size": 3000, "test_size": 500}, "model": {"name": "lenet"},
       "train": {"epochs": 2, "learning_rate": 0.02}}
run = yoke.train(job, callbacks=[lambda event: event["event"] == "epoch" and print(event["epoch"], event["test"]["accuracy"])])
print("test accuracy", run.test["accuracy"])
print("weights", {name: weight.shape for name, weight in run.model().weights().items()})
