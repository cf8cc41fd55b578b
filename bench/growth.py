#!/usr/bin/env python3
"""How far a step of each network grows with threads, computed from the CPU time of each thread: `yoke bench JOB --growth`.

usage: bench/growth.py [--rows MODEL:BATCH:TYPE,...] [--teams 1,2,4,...] [--seconds S] [--memory GB/S] [--check] [--svg FILE]
       bench/growth.py --shapes [--rows ...] [--machines CORES:NODES,...] [--seconds S] [--memory GB/S] [--check]

Each row is a training step (forward, backward, momentum update) of one model on random images, or of SLIDE with so many labels
(slide:LABELS:f32, batch 256): how many times as fast as one thread each team is, if each thread has a core. The other columns are of the
team of 16, or the last one: "alone": what one thread does while the others wait, of one thread's step; "Amdahl": the growth that this
would leave; "uneven": waiting for the last thread of a region, of the team's step; "CPU time": of all its threads, times one thread's;
"GB/s": what it moves by the layers' count. With --memory, the bandwidth of the machine that is meant, "bound" is what that would leave the
last team. --check (`make cores-check`) also trains with teams that have cores here: "1.9 of 2.0" is measured, where reading batches is
in, of computed.

--shapes: how many times as fast as one team of all cores ranks x threads are that divide the batch and exchange by all-reduce in memory,
computed for machines of so many cores and memory nodes (--memory: of the last machine), and what `yoke plan` chooses for each. With
--check also measured, for a machine with as many cores as this one: "1.2 of 1.3".
"""
import tomllib

from lib.options import main, part
from lib.places import CORES, PROGRAM
from lib.plot import plot
from lib.random_images import image_data
from lib.runner import events, execute, last, trains_bf16, write_job
from lib.tables import listed, print_table
from slide_jobs import synthetic, xmc_job
from step import CASES, LARGE, TITLES

IMAGES = {model: image for model, _, image, _ in CASES}
ROWS = ["mlp:64:f32", "mlp:512:f32", "lenet:64:f32", "lenet:64:bf16", "alexnet-cifar:128:f32", "alexnet-cifar:128:bf16", "resnet20:128:f32",
        "resnet20:128:bf16", "caffenet:64:f32", "caffenet:64:bf16", "vgg11:16:f32", "vgg11:16:bf16", "resnet50:16:f32", "resnet50:16:bf16",
        "slide:200000:f32", "slide:670091:f32"]
SLIDE_BATCH = 256
EXPLAINED = 16  # threads of the team that the last columns are of
MEASURED = 1.5  # seconds of training, about


def image_job(folder, model, batch, precision):
    image, classes = IMAGES[model]
    count = batch * (8 if IMAGES[model] == LARGE else 32)
    data = image_data(folder, tuple(map(int, image.split("x"))), count, classes)
    return count, {"data": {**data, "test": data["train"], "normalize": "none"}, "model": {"name": model},
                   "train": {"batch": batch, "learning_rate": 1e-6}, "node": {"precision": precision}}


def slide_job(labels):
    count = 20 * SLIDE_BATCH
    return count, xmc_job(synthetic(labels, count, test=64), lsh={}, batch=SLIDE_BATCH, learning_rate=0.001)


def measure(job, count, growth):
    """Examples a second of a training by each team that has cores here."""
    teams = [point["threads"] for point in growth["points"] if point["threads"] <= CORES]
    one = growth["batch"] / growth["points"][0]["seconds"]
    choices = [f"--with=node.threads={threads} train.epochs={max(1, round(MEASURED * one * threads / count))}" for threads in teams]
    found = last(events("bench", job, *choices), "bench")["choices"]
    return {threads: choice["examples_per_second"] for threads, choice in zip(teams, found)}


def cell(point, rates):
    if point["threads"] not in rates:
        return f"{point['growth']:.1f}"
    return f"{rates[point['threads']] / rates[1]:.1f} of {point['growth']:.1f}"


def bound(growth, memory):
    """The last team's growth where memory gives so many bytes a second."""
    seconds = max(growth["points"][-1]["seconds"], growth["bytes"] / (1e9 * memory))
    return growth["points"][0]["seconds"] / seconds


def jobs_of(arguments):
    """Of each row: its title, the examples, the job file, the precision."""
    for row in arguments.rows:
        model, size, precision = row.split(":")
        if precision == "bf16" and not trains_bf16():
            continue
        count, job = slide_job(int(size)) if model == "slide" else image_job(arguments.runs, model, int(size), precision)
        title = f"{'SLIDE, labels' if model == 'slide' else TITLES[model]} {int(size):,}" + (f" {precision}" if model != "slide" else "")
        yield title, count, write_job(arguments.runs / f"{row.replace(':', '-')}.toml", job), precision


def joined(lines):
    """The precisions of one model in one line: f32/bf16."""
    rows = {}
    for title, *cells in lines:
        rows.setdefault(title.removesuffix(" f32").removesuffix(" bf16"), []).append(cells)
    return [[title, *map("/".join, map(dict.fromkeys, zip(*cells)))] for title, cells in rows.items()]


def ranks_of(cores, nodes):
    """One a memory node (a quarter of the cores, where there is one node), eight on large machines, one a core."""
    return sorted({each for each in (nodes if nodes > 1 else 4, 8 if cores > 16 else cores, cores) if cores % each == 0})


def predict(path, cluster, precision):
    """Seconds of an update on the machine of a cluster file, by ranks, and what is chosen."""
    found = last(events("plan", path, "--cluster", cluster, "--only", f"single,split,none,allreduce,{precision}"), "plan")
    seconds = {each["keys"].get("cluster.replicas", "1"): each["seconds_per_update"] for each in found["candidates"]
               if each["executor"] == "single" and each["seconds_per_update"]}
    keys = found["candidates"][found["chosen"]]["keys"]
    names = {"cluster.replicas": "ranks", "node.parts": "parts"}
    return seconds, next((f"{keys[key]} {name}" for key, name in names.items() if key in keys), "one team")


def measure_ranks(path, count, ranks, update):
    """Examples a second of trainings by so many ranks, where an update takes about so long."""
    batch = tomllib.loads(path.read_text(encoding="utf-8"))["train"]["batch"]
    epochs = max(1, round(MEASURED / update * batch / count))
    choices = [f"--with=cluster.replicas={each} train.batch={batch // each} train.epochs={epochs}" for each in ranks]
    found = last(events("bench", path, *choices, "--rounds", 3), "bench")["choices"]
    return {each: choice["examples_per_second"] for each, choice in zip(ranks, found)}


def shape_cells(arguments, machine, count, path, precision):
    """Of one machine."""
    cores, nodes = machine
    ranks, cluster = ranks_of(cores, nodes), path.with_suffix(f".{cores}.toml")
    memory = ["--memory", arguments.memory * cores / machines_of(arguments)[-1][0]] if arguments.memory else []
    execute([PROGRAM, "bench", path, "--growth", "--teams", ",".join(str(cores // each) for each in [1, *ranks]), "--seconds", arguments.seconds,
             "--output", cluster, "--memory-nodes", nodes, *memory])
    seconds, chosen = predict(path, cluster, precision)
    rates = measure_ranks(path, count, [1, *ranks], seconds["1"]) if arguments.check and cores == CORES else {}

    def times(each):
        if str(each) not in seconds:
            return "-"
        computed = f"{seconds['1'] / seconds[str(each)]:.2f}"
        return f"{rates[each] / rates[1]:.2f} of {computed}" if rates else computed
    return [*map(times, ranks), chosen]


def machines_of(arguments):
    return [tuple(map(int, machine.split(":"))) for machine in arguments.machines]


def shapes(arguments):
    arguments.rows = [row for row in arguments.rows if not row.startswith("slide")]  # ranks of hashed layers have no predicted time
    machines, columns = machines_of(arguments), ["step"]
    for cores, nodes in machines:
        columns += [*(f"{each} x {cores // each}" for each in ranks_of(cores, nodes)), f"chosen of {cores}"]
    print_table(columns, joined([title, *(cell for machine in machines for cell in shape_cells(arguments, machine, *job))]
                                for title, *job in jobs_of(arguments)))


@part(rows=ROWS, teams=[1, 2, 4, 8, 16, 64], seconds=15.0, memory=0.0, check=False, svg="", shapes=False, machines=["16:1", "64:2"],
      quick={"rows": ["mlp:64:f32", "slide:20000:f32"], "teams": [1, 2, 4], "seconds": 0.5, "machines": ["4:1"]})
def grow(arguments):
    """Rows by teams."""
    conditions = "computed from CPU times" + (", and measured" if arguments.check else "")
    if arguments.shapes:
        shapes(arguments)
        return conditions
    teams, curves, lines = sorted({1, *arguments.teams}), {}, []
    for title, count, path, _ in jobs_of(arguments):
        growth = last(events("bench", path, "--growth", f"--teams={listed(teams).replace(' ', '')}", "--seconds", arguments.seconds), "growth")
        rates = measure(path, count, growth) if arguments.check else {}
        curves[title] = [(point["threads"], point["growth"]) for point in growth["points"]]
        one = growth["points"][0]
        team = max((point for point in growth["points"] if point["threads"] <= EXPLAINED), key=lambda point: point["threads"])
        serial = team["alone"] / one["seconds"]
        lines.append([title, *(cell(point, rates) for point in growth["points"][1:]),
                      *([f"{bound(growth, arguments.memory):.1f}"] if arguments.memory else []),
                      f"{100 * serial:.1f}", f"{1 / (serial + (1 - serial) / team['threads']):.1f}",
                      f"{100 * team['uneven'] / team['seconds']:.0f}", f"{team['busy'] / one['busy']:.2f}",
                      f"{growth['bytes'] / team['seconds'] / 1e9:.0f}"])
    bounds = ["bound"] if arguments.memory else []
    columns = [*bounds, "alone, %", "Amdahl", "uneven, %", "CPU time", "GB/s"]
    print_table(["step", *(f"{threads} threads" for threads in teams[1:]), *columns], joined(lines))
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as file:
            file.write(plot({"": curves}, "computed growth of a training step", below="threads"))
    return conditions


if __name__ == "__main__":
    main(__doc__)
