"""SLIDE (Chen et al. 2020, arXiv 1903.03129, and Daghaghi et al. 2021, arXiv 2103.10891): the shapes of its data sets, its form beside ours, its figures.

All data are drawn in the shapes of the sets. Jobs: examples/papers/slide-*.toml. Other tables of the hashed layer: bench/slide.py.
"""
import functools
import math
import tomllib
from typing import NamedTuple

from lib.comparison import Compared, compare
from lib.options import part
from lib.places import CORES, ROOT
from lib.runner import events, last, write_job
from lib.tables import print_table, say
from slide_jobs import DECAY, microseconds, p_at_1, synthetic, train, xmc_job


BITS = {"dwta": 3, "simhash": 1}  # of a hash


def published(family, hashes, tables, labels, active):
    """The published form with so many outputs active at most. Where keys are so long that buckets would stay nearly empty, they are folded into as
    many slots as find these outputs; the published code drops bits of its keys, which fills its buckets."""
    slots = 2**int(math.log2(labels * tables / active))
    folded = {"slots": slots} if slots < 2**(BITS[family] * hashes) else {}
    return {"form": "paper", "family": family, "hashes": hashes, "tables": tables, "bucket": 128, "share": active / labels, "rehash_every": 50, **folded}


class Recipe(NamedTuple):
    """A data set's shape, published settings, and P@1 published for it."""
    features: int
    labels: int
    examples: int
    nonzeros: int
    labels_per_example: float
    family: str
    hashes: int
    tables: int
    active: int
    batch: int
    published: str

    def data(self, arguments):
        return {"format": "synthetic-xmc", "features": self.features // arguments.shrink, "labels": self.labels // arguments.shrink,
                "nonzeros": self.nonzeros, "labels_per_example": self.labels_per_example, "train_size": arguments.examples, "test_size": arguments.test}

    def lsh(self, arguments):
        return published(self.family, self.hashes, self.tables, self.labels // arguments.shrink, self.active // arguments.shrink)


RECIPES = {
    "amazon-670k": Recipe(135909, 670091, 490449, 75, 5.45, "dwta", 8, 50, 3000, 256, "0.315 SLIDE, 0.33 dense [1]; 0.449 Parabel [2]"),
    "delicious-200k": Recipe(782585, 205443, 196606, 297, 75.54, "simhash", 9, 50, 1000, 128, "0.473 CRAFTML [3]"),
    "wikilshtc-325k": Recipe(1617899, 325056, 1778351, 42, 3.19, "dwta", 5, 350, 1625, 256, "0.650 Parabel [2]")}
YARDSTICK = {"labels": 50000, "features": 50000, "examples": 20000, "active": 1000}
INTEL_SECONDS = 6.25  # of an epoch of the yardstick: 5.9 to 6.6, told us of 2 threads of an AVX-512 Xeon


def counts_of(run):
    """Mean counts of the hashed layer's sets in the last epoch; {} of a dense one."""
    return next(iter(run.epochs[-1].get("layers", {}).values()), {})


def forecast(job, arguments):
    """Bytes that `yoke info` expects."""
    file = write_job(arguments.runs / "slide.toml", job)
    return last(events("info", file, "--threads", str(arguments.threads)), "info")["memory"]["total"]


def percent(fraction):
    return None if fraction is None else 100 * fraction


def megabytes(*sizes):
    return [f"{size / 1e6:,.0f}" for size in sizes]


def recipe_job(name, form, arguments):
    """The job of examples/papers, or that with the published settings, on drawn data and for fewer examples."""
    job, recipe = tomllib.loads((ROOT / f"examples/papers/slide-{name}.toml").read_text(encoding="utf-8")), RECIPES[name]
    job["data"] = recipe.data(arguments)
    job["train"] |= {"epochs": arguments.epochs, "learning_rate": arguments.rate}
    if form == "published":
        job["model"]["lsh"] = recipe.lsh(arguments)
        job["train"]["batch"] = recipe.batch
    return job


def recipes(arguments):
    """What the jobs cost: data drawn in the shapes of the sets."""
    def row(name, form):
        job, recipe = recipe_job(name, form, arguments), RECIPES[name]
        run = train(f"{name}, {form}", job, arguments)
        us = microseconds(run)
        return [name, form, f"{us:.1f}", f"{us * 1e-6 * recipe.examples:.0f}", *megabytes(run.end["memory"]["peak"], forecast(job, arguments)),
                f"{max(p_at_1(run)):.4f}", recipe.published]

    print_table(["shape of", "settings", "us an example", "s an epoch of the whole set", "peak, MB", "forecast, MB", "P@1 of drawn data", "P@1 of the real data"],
                (row(name, form) for name in arguments.sets for form in ("ours", "published")), recipes.__doc__)


def amazon(arguments, *, lsh=None, dense=False, **more):
    """A job in the shape of Amazon-670K."""
    settings = {"epochs": arguments.dense_epochs, "learning_rate": arguments.dense_rate} if dense else {
        "epochs": arguments.epochs, "learning_rate": arguments.rate, "schedule": DECAY}
    return xmc_job(RECIPES["amazon-670k"].data(arguments), lsh=lsh, **{"batch": 256, **settings, **more})


def form_jobs(arguments):
    """The sides of the table of forms: {name: job}."""
    paper, rate = RECIPES["amazon-670k"].lsh(arguments), {"learning_rate": arguments.paper_rate}
    return {"default": amazon(arguments, lsh={}), "the paper's form": amazon(arguments, lsh=paper, **rate),
            "the same, updates merged": amazon(arguments, lsh=paper | {"updates": "merged"}, **rate),
            "the paper's form with the default's 262,144 slots": amazon(arguments, lsh={key: one for key, one in paper.items() if key != "slots"}, **rate),
            "uniform, corrected": amazon(arguments, lsh={"sampler": "uniform", "correct": True}), "dense": amazon(arguments, dense=True)}


def forms(run_of, arguments):
    """The form as published beside ours, uniform draws and the dense layer, in the shape of Amazon-670K."""
    def row(name, job):
        run = run_of(name)
        counts, used = counts_of(run), run.end["memory"]
        return [name, f"{microseconds(run):.1f}", f"{run.epochs[-1]['train_seconds']:.1f}", f"{max(p_at_1(run)):.4f}",
                *(say(counts.get(key), ".0f") for key in ("labels", "found", "random")),
                say(percent(counts.get("empty_queries")), ".1f"), *megabytes(used.get("tables", 0), used["peak"], forecast(job, arguments))]

    print_table(["", "us an example", "training, s", "best P@1", "active: labels", "found", "random", "empty queries, %", "tables, MB", "peak, MB", "forecast, MB"],
                (row(*side) for side in form_jobs(arguments).items()), forms.__doc__)


def yardstick(family, hashes, tables, batch, arguments):
    """Seconds of an epoch of the yardstick."""
    labels, features, active = (YARDSTICK[key] // arguments.shrink for key in ("labels", "features", "active"))
    job = xmc_job(synthetic(labels, arguments.examples, arguments.test, features), lsh=published(family, hashes, tables, labels, active), batch=batch,
                  epochs=arguments.epochs, learning_rate=1e-3)
    return microseconds(train("yardstick", job, arguments)) * 1e-6 * YARDSTICK["examples"]


def figures(run_of, arguments):
    """The papers' figures."""
    slide, dense = run_of("the paper's form"), run_of("dense")
    yield Compared("dense, times SLIDE's seconds, Amazon-670K", 8, microseconds(dense) / microseconds(slide), note="44 cores; 10 with huge pages and SIMD")
    yield Compared("SLIDE's P@1, times the dense one", 1, max(p_at_1(slide)) / max(p_at_1(dense)), ".3f", "the same per iteration")
    yield Compared("active outputs, Amazon-670K", 3000, counts_of(slide)["active"], ".0f")
    if "delicious-200k" in arguments.sets:
        run = train("delicious-200k, published", recipe_job("delicious-200k", "published", arguments), arguments)
        yield Compared("active outputs, Delicious-200K", 1000, counts_of(run)["active"], ".0f", "75 of them labels")
    for hashes, tables, batch in ((8, 50, 128), (8, 50, 256), (6, 400, 1024)):
        yield Compared(f"K {hashes}, L {tables}, batch {batch}: s an epoch of Intel's test", INTEL_SECONDS, yardstick("dwta", hashes, tables, batch, arguments),
                       note="50,000 labels, 1,000 active; theirs at batch 128, K and L not told")


PARTS = [recipes, forms, figures]


@part(only=[one.__name__ for one in PARTS], sets=list(RECIPES), examples=20000, test=2000, epochs=6, rate=0.02, paper_rate=0.005, dense_epochs=4, dense_rate=0.01, shrink=1,
      threads=CORES, quick={"examples": 2048, "test": 100, "epochs": 2, "dense_epochs": 1, "shrink": 32})
def slide(arguments):
    """Recipes of three data sets, forms of the hashed layer, and the papers' figures."""
    run_of = functools.cache(lambda name: train(name, form_jobs(arguments)[name], arguments))
    if "recipes" in arguments.only:
        recipes(arguments)
    if "forms" in arguments.only:
        forms(run_of, arguments)
    if "figures" in arguments.only:
        compare(figures(run_of, arguments), figures.__doc__)
    print("\n[1] arXiv 2110.07029 after 6,000 s, [2] github.com/tomtung/omikuji, [3] github.com/tomtung/craftml-rs: other methods, for orientation.")
    return f"{arguments.examples:,} drawn examples, {arguments.epochs} epochs, one run each"
