"""What bench/python.py measures, in the interpreter that has the packages: python_work.py FUNCTION WORDS... prints an answer as JSON."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np

SETS = ("iris", "wine", "breast_cancer", "digits", "diabetes", "housing")
NUMBERS = ("diabetes", "housing")


def median(work, repeats):
    """Seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def few():
    random = np.random.default_rng(1)
    x = random.normal(size=(100, 10)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(int)


def import_seconds(words):
    return median(lambda: subprocess.run([sys.executable, "-c", words], check=True), 7)


def calls(repeats, epochs):
    import yoke
    x, y = few()
    estimator = yoke.YokeClassifier(random_state=1)
    fit = median(lambda: yoke.YokeClassifier(random_state=1).fit(x, y), int(repeats))
    estimator.fit(x, y)
    one, many = estimator.model_, 100 * int(repeats)
    one.predict(x[:1])
    answers = [("fit on 100 rows", 1e3 * fit, "ms"), ("Model.predict of one row", 1e6 * median(lambda: one.predict(x[:1]), many), "us"),
               ("estimator.predict of one row", 1e6 * median(lambda: estimator.predict(x[:1]), many), "us"),
               ("import beyond NumPy's", 1e3 * (import_seconds("import yoke") - import_seconds("import numpy")), "ms")]
    job = {"data": {"format": "synthetic-digits", "train_size": 6000, "test_size": 500}, "model": {"name": "lenet"},
           "train": {"epochs": int(epochs), "learning_rate": 0.02}, "node": {"threads": 1}}
    text = "\n".join(f"[{name}]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in section.items()) for name, section in job.items())
    pathlib.Path("job.toml").write_text(text)
    rates = {"Python": [], "command line": []}
    for turn in range(min(7, int(repeats))):
        rates["Python"].append(yoke.train(job, run=f"p{turn}").epochs)
        subprocess.run([os.environ["YOKE"], "train", "job.toml", "--run", f"c{turn}", "--quiet"], check=True)
        lines = map(json.loads, pathlib.Path(f"c{turn}/metrics.jsonl").read_text().splitlines())
        rates["command line"].append([line for line in lines if line["event"] == "epoch"])
    for name, runs in rates.items():
        answers.append((f"training, by {name}", statistics.median(run[-1]["seconds"] for run in runs), "s"))
    answers.append(("Python / command line", answers[-2][1] / answers[-1][1], ""))
    return answers


def housing():
    """Prices of places, as of California: six features of different scales, and where it is expensive."""
    random, count = np.random.default_rng(0), 4000
    income, age, rooms = random.lognormal(1, 0.5, count), random.integers(1, 52, count), random.normal(5, 1, count)
    north, east, people = random.uniform(32, 42, count), random.uniform(-124, -114, count), random.lognormal(7, 0.8, count)
    cities = 2 * np.exp(-((north - 34) ** 2 + (east + 118) ** 2) / 2) + 3 * np.exp(-((north - 37.7) ** 2 + (east + 122.4) ** 2))
    price = 0.45 * income + 0.1 * rooms + cities + 0.005 * age + random.normal(0, 0.3, count)
    return np.column_stack([income, age, rooms, north, east, people]), price


def data():
    from sklearn import datasets
    shapes = {}
    for name in SETS:
        x, y = housing() if name == "housing" else getattr(datasets, f"load_{name}")(return_X_y=True)
        np.savez(f"{name}.npz", x=x, y=y)
        shapes[name] = x.shape
    return shapes


def loaded(name):
    stored = np.load(f"{name}.npz")
    return stored["x"], stored["y"]


def folds(x, y, count):
    """Shuffled examples; fold k has every count-th one."""
    order = np.random.default_rng(1).permutation(len(x))
    for k in range(count):
        yield np.concatenate([order[j::count] for j in range(count) if j != k]), order[k::count]


def score(name, predicted, truth):
    if name not in NUMBERS:
        return float(np.mean(predicted == truth))
    return float(1 - np.sum((predicted - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def scores(count, fit_predict):
    answers = {}
    for name in SETS:
        x, y = loaded(name)
        found, began = [], time.process_time()
        for train, test in folds(x, y, int(count)):
            found.append(score(name, fit_predict(name, x[train], y[train], x[test]), y[test]))
        answers[name] = statistics.mean(found), time.process_time() - began
    return answers


def yoke(count):
    import yoke as package
    fit = {False: package.YokeClassifier, True: package.YokeRegressor}
    return scores(count, lambda name, x, y, test: fit[name in NUMBERS](random_state=1).fit(x, y).predict(test))


def sklearn(count):
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    fit = {False: MLPClassifier, True: MLPRegressor}
    return scores(count, lambda name, x, y, test: make_pipeline(StandardScaler(), fit[name in NUMBERS](random_state=1)).fit(x, y).predict(test))


def torch(count):
    return scores_of_torch(count, train_torch)


def skorch(count):
    return scores_of_torch(count, train_skorch)


def scores_of_torch(count, train):
    import torch as package
    package.set_num_threads(1)
    few_examples, classes = few()
    train(package, False, few_examples, classes, few_examples)  # what a first call loads counts for no data
    return scores(count, lambda name, x, y, test: train(package, name in NUMBERS, x, y, test))


def epochs_of(x, batch=32):
    """How often YokeClassifier and YokeRegressor take their examples, and in how many steps."""
    steps = -(-len(x) // batch)
    return max(20, -(-200 // steps)), steps


def standardized(x, test):
    mean, deviation = x.mean(0), np.where(x.std(0) > 0, x.std(0), 1)
    return ((part - mean) / deviation for part in (x, test))


def network(torch, numbers, x, y):
    return torch.nn.Sequential(torch.nn.Linear(x.shape[1], 100), torch.nn.ReLU(), torch.nn.Linear(100, 1 if numbers else int(y.max()) + 1))


def train_torch(torch, numbers, x, y, test, batch=32):
    """As YokeClassifier and YokeRegressor by their defaults, in a plain loop."""
    torch.manual_seed(1)
    x, test = (torch.tensor(part, dtype=torch.float32) for part in standardized(x, test))
    shift, unit = (y.mean(), y.std()) if numbers else (0, 1)
    targets = torch.tensor((y - shift) / unit, dtype=torch.float32)[:, None] if numbers else torch.tensor(y)
    net = network(torch, numbers, x, y)
    epochs, steps = epochs_of(x)
    rule = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(rule, epochs * steps)
    loss_of = torch.nn.MSELoss() if numbers else torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch):
            rule.zero_grad()
            loss_of(net(x[part]), targets[part]).backward()
            rule.step()
            schedule.step()
    with torch.no_grad():
        outputs = net(test)
    return outputs[:, 0].numpy() * unit + shift if numbers else outputs.argmax(1).numpy()


def train_skorch(torch, numbers, x, y, test, batch=32):
    """The same by skorch's estimators."""
    import skorch
    torch.manual_seed(1)
    x, test = (part.astype(np.float32) for part in standardized(x, test))
    shift, unit = (y.mean(), y.std()) if numbers else (0, 1)
    targets = ((y - shift) / unit).astype(np.float32)[:, None] if numbers else y.astype(np.int64)
    epochs, steps = epochs_of(x)
    schedule = skorch.callbacks.LRScheduler("CosineAnnealingLR", step_every="batch", T_max=epochs * steps)
    make, loss = (skorch.NeuralNetRegressor, torch.nn.MSELoss) if numbers else (skorch.NeuralNetClassifier, torch.nn.CrossEntropyLoss)
    fitted = make(network(torch, numbers, x, y), criterion=loss, optimizer=torch.optim.Adam, lr=0.01, batch_size=batch, max_epochs=epochs,
                  iterator_train__shuffle=True, train_split=None, callbacks=[schedule], verbose=0).fit(x, targets)
    predicted = fitted.predict(test)
    return predicted[:, 0] * unit + shift if numbers else predicted


def memory(fits):
    import yoke as package
    x, y = few()
    fits, answers = int(fits), []
    marks = {1, fits // 10, fits // 4, fits // 2, fits}
    for done in range(1, fits + 1):
        package.YokeClassifier(epochs=5, random_state=1).fit(x, y).predict(x)
        if done in marks:
            pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
            answers.append((done, pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))))
    return answers


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
