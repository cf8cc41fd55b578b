// The script of the report's page: draws what the program has put into the element "runs".
"use strict";

// Numbers for people.

const finite = (value) => (Number.isFinite(value) ? value : null);
const digits = (value, most) => (finite(value) === null ? "-" : String(Number(value.toPrecision(most))));
const count = (value) => (finite(value) === null ? "-" : Math.round(value).toLocaleString("en-US"));
const percent = (value) => (finite(value) === null ? "-" : (100 * value).toFixed(1) + " %");

/** Three digits of a number divided by 1000 as often as there are units. */
function scaled(value, units, between) {
  if (finite(value) === null) return "-";
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) value /= 1000, ++unit;
  const size = Math.abs(value), whole = unit === 0 && value === Math.floor(value);
  return value.toFixed(whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + between + units[unit];
}
const short = (value) => scaled(value, ["", "k", "M", "G", "T", "P"], "");
const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"], " ");

function metric(value) {
  if (finite(value) === null) return "-";
  const size = Math.abs(value);
  return size === 0 || (size >= 0.001 && size < 1e5) ? value.toFixed(4) : value.toExponential(2);
}

function duration(seconds) {
  if (!(seconds >= 0) || seconds === Infinity) return "?";
  if (seconds < 9.995) return seconds.toFixed(2) + " s";
  const whole = Math.round(seconds), two = (n) => String(n % 60).padStart(2, "0");
  if (whole < 60) return whole + " s";
  if (whole < 3600) return Math.floor(whole / 60) + ":" + two(whole);
  return Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60)) + ":" + two(whole);
}

/** The least and the largest; of any number of values, unlike Math.min(...values). */
const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** Round numbers (1, 2, 5 times a power of ten) from `low` to `high`, at most `most` + 2. */
function roundTicks(low, high, most, whole) {
  const rough = Math.max((high - low) / most, 1e-300), power = 10 ** Math.floor(Math.log10(rough));
  let step = power * ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10);
  if (whole) step = Math.max(1, step);
  const ticks = [], last = Math.ceil(high / step - 1e-9);
  for (let i = Math.floor(low / step + 1e-9); i <= last; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** The same for a logarithmic axis: powers of ten, with 2 and 5 between where there are few. */
function logarithmicTicks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), every = Math.max(1, Math.round((last - first) / 6));
  const ticks = [];
  for (let power = first; power <= last; ++power)
    for (const factor of high / low < 300 ? [1, 2, 5] : [1])
      if (factor > 1 || (power - first) % every === 0) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  const from = ticks.findLastIndex((tick) => tick <= low), to = ticks.findIndex((tick) => tick >= high);
  return ticks.slice(Math.max(from, 0), to < 0 ? undefined : to + 1);
}

// Elements.

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const html = (tag, attributes = {}, ...children) => make(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => make(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const main = document.querySelector("main");
const add = (...elements) => main.append(...elements);
const heading = (text) => add(html("h2", {}, text));
const note = (text) => add(html("p", { class: "note" }, text));
const swatch = (colour) => html("i", { class: "swatch c" + (colour % 8) });

/** A column is {title, cell(row): text or element, number}; the first is the row's heading. */
function table(columns, rows) {
  const cell = (tag, column, content) => html(tag, column.number ? { class: "number" } : {}, ...[content].flat());
  add(html("div", { class: "wide" }, html("table", {},
    html("thead", {}, html("tr", {}, ...columns.map((column) => cell("th", column, column.title)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...columns.map((column, i) => cell(i ? "td" : "th", column, column.cell(row)))))))));
}
const text = (title, cell) => ({ title, cell });
const number = (title, cell) => ({ title, cell, number: true });

// What the record holds. Damaged values are passed over.

const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);
const words = (value, otherwise = "unknown") => (typeof value === "string" && value ? value : otherwise);
const numbers = (value) => Object.fromEntries(Object.entries(object(value)).filter(([, one]) => finite(one) !== null));

/** {cpu: {examples: 10, updates: 2, ...}, ...} out of {examples: {cpu: 10}, updates: {cpu: 2}, ...}. */
function devicesOf(line) {
  const devices = {};
  for (const [measure, byDevice] of Object.entries(object(line.node)))
    for (const [name, value] of Object.entries(numbers(byDevice))) (devices[name] ??= {})[measure] = value;
  return devices;
}

function epochOf(line, executor) {
  const values = numbers({ "learning rate": line.learning_rate, speed: line.examples_per_second });
  for (const set of ["train", "validation", "test", "exchange"])
    for (const [name, value] of Object.entries(numbers(line[set]))) values[set + " " + name] = value;
  return { epoch: finite(line.epoch), seconds: finite(line.seconds), values, executor, devices: devicesOf(line) };
}

function takeStart(run, line) {
  Object.assign(run, { exchange: numbers(line.exchange), reason: "not ended", test: {}, executor: words(line.executor) });
  run.facts = {
    parameters: count(finite(line.parameters) ?? 0),
    examples: count(finite(line.train_examples) ?? 0) + " for training, " + count(finite(line.test_examples) ?? 0) + " for testing",
    devices: words(line.hardware, words(line.devices)),
    "executor, strategy": run.executor + ", " + words(line.strategy),
    processor: words(line.cpu),
    yoke: words(line.version) + " (" + words(line.commit) + ")",
    oneDNN: words(object(line.libraries).oneDNN, "-"),
  };
}

function takeEnd(run, line) {
  const memory = numbers(line.memory);
  Object.assign(run, { reason: words(line.reason), seconds: finite(line.seconds) ?? 0, test: numbers(line.test), cost: finite(line.cost) ?? 0,
    simulated: line.virtual_seconds > 0, collapse: words(object(line.collapse).message, "") });
  if (words(line.good, "")) run.facts["last good checkpoint"] = line.good;
  if (memory.ratio > 0)
    run.facts["peak memory"] = bytes(memory.peak) + " (parameters, optimizer state and tables " + bytes(memory.peak / memory.ratio) + ")";
  if (run.simulated) run.facts["virtual time"] = digits(line.virtual_seconds, 4) + " s";
  if (run.cost > 0) run.facts["cost of the cluster"] = digits(run.cost, 4);
}

function runOf(raw, number) {
  const run = { ...raw, number, epochs: [], exchange: {}, devices: {}, test: {}, facts: {}, reason: "not ended", executor: "", collapse: "",
    seconds: 0, cost: 0, simulated: false };
  for (const line of raw.lines) {
    if (line.event === "start") takeStart(run, line);
    Object.assign(run.exchange, numbers(line.exchange));
    for (const [name, device] of Object.entries(devicesOf(line))) run.devices[name] = device;
    if (line.event === "epoch") run.epochs.push(epochOf(line, run.executor));
    if (line.event === "end") takeEnd(run, line);
  }
  const last = run.epochs.at(-1);
  run.seconds = Math.max(run.seconds, last?.seconds ?? 0);
  if (last && !Object.keys(run.test).length)  // it has not ended
    for (const [name, value] of Object.entries(last.values)) if (name.startsWith("test ")) run.test[name.slice(5)] = value;
  const speeds = run.epochs.map((epoch) => epoch.values.speed).filter((speed) => speed !== undefined).sort((a, b) => a - b);
  run.speed = speeds[Math.floor(speeds.length / 2)] ?? 0;
  return run;
}

const { yoke, runs: raw } = JSON.parse(document.getElementById("runs").textContent);
const runs = raw.map(runOf);
const several = runs.length > 1;

// What is shown: the switches of the bar, and what is drawn anew when one changes.

const shown = { byTime: false, without: new Set() };
const drawings = [];
const redraw = () => drawings.forEach((draw) => draw());

const longest = Math.max(0, ...runs.map((run) => run.epochs.at(-1)?.seconds ?? 0));
const time = longest > 3 * 3600 ? ["hours", 3600] : longest > 600 ? ["minutes", 60] : ["seconds", 1];

function choice(title, byTime) {
  const button = html("button", { class: "choice" }, title);
  drawings.push(() => button.setAttribute("aria-pressed", shown.byTime === byTime));
  button.onclick = () => { shown.byTime = byTime; redraw(); };
  return button;
}

/** Switches series of a run, or of a set of data, on and off. */
function toggle(title, key, colour, faint) {
  const line = svg("svg", { viewBox: "0 0 26 10", class: "c" + (colour % 8) + (faint ? " faint" : "") }, svg("path", { class: "line", d: "M2 5H24" }));
  const button = html("button", { "aria-pressed": true }, line, title);
  button.onclick = () => {
    if (!shown.without.delete(key)) shown.without.add(key);
    button.setAttribute("aria-pressed", !shown.without.has(key));
    redraw();
  };
  return button;
}

function bar() {
  const sets = [["test", "test data", false], ["train", "training data", true], ["validation", "validation data", true]];
  const has = (set) => runs.some((run) => run.epochs.some((epoch) => Object.keys(epoch.values).some((name) => name.startsWith(set + " "))));
  add(html("div", { class: "bar" }, ...(several ? runs.map((run) => toggle(run.name, run.number, run.number, false)) : []),
    ...sets.filter(([set]) => has(set)).map(([set, title, faint]) => toggle(title, set, several ? 7 : 0, faint)),
    html("span", { class: "gap" }), choice("by epochs", false), choice("by " + time[0], true)));
}

// Charts: values under the pointer, zoom by a drag.

/** Shows `rows` of [colour class or null, name, value] beside the pointer. */
function showValues(box, title, rows, event) {
  const figure = box.parentElement.getBoundingClientRect();
  box.replaceChildren(html("div", {}, title), ...rows.map(([colour, name, value]) =>
    html("div", {}, colour ? html("i", { class: "swatch " + colour }) : null, name, html("b", {}, value))));
  box.hidden = false;
  const x = event.clientX - figure.left, left = x > figure.width / 2 ? x - box.offsetWidth - 14 : x + 14;
  box.style.left = Math.max(4, Math.min(left, figure.width - box.offsetWidth - 4)) + "px";
  box.style.top = Math.max(4, event.clientY - figure.top - box.offsetHeight - 10) + "px";
}

/** A figure that `draw(svg element, width)` fills, again when its width or a switch changes. */
function figureOf(caption, draw) {
  const picture = svg("svg", { role: "img", "aria-label": caption }), values = html("div", { class: "values" });
  const head = html("figcaption", {}, caption), figure = html("figure", {}, head, picture, values);
  values.hidden = true;
  const again = () => {
    const width = picture.clientWidth || 400;
    picture.replaceChildren();
    values.hidden = true;
    draw(picture, width);
  };
  new ResizeObserver(again).observe(figure);
  drawings.push(again);
  return { figure, head, picture, values, again };
}

/** `series()` gives what is shown: {name, colour, faint, points of [x, y]}. */
function chart(spec, series) {
  const height = 230, left = 58, right = 12, top = 8, bottom = 40;
  let zoom = null, axes = null, drag = null, lines = [];
  const it = figureOf(spec.title, draw), reset = html("button", {}, "whole range");
  const label = () => (spec.byEpoch || !shown.byTime ? "epoch" : time[0]);
  const zoomed = () => (zoom && zoom.label === label() ? zoom.range : null);

  function axesFor(width) {
    const all = lines.flatMap((line) => line.points), xs = all.map(([x]) => x);
    const [low, high] = zoomed() ?? extent(xs);
    const ys = all.filter(([x]) => x >= low && x <= high).map(([, y]) => y);
    let [from, to] = extent(ys);
    const logarithmic = spec.logarithmic && from > 0 && to > 30 * from;
    if (spec.fromZero && !logarithmic && from > 0) from = 0;
    if (to === from) to += Math.abs(from) * 0.1 || 1;
    const ticks = logarithmic ? logarithmicTicks(from, to) : roundTicks(from, to, 5);
    from = Math.min(from, ticks[0]), to = Math.max(to, ticks.at(-1));
    const of = logarithmic ? Math.log : (value) => value, span = high - low || 1, wide = width - left - right, high_ = height - top - bottom;
    return { low, high, ticks, x: (value) => left + (high > low ? (value - low) / span : 0.5) * wide,
      y: (value) => top + (1 - (of(value) - of(from)) / (of(to) - of(from))) * high_, at: (pixel) => low + ((pixel - left) / wide) * span };
  }

  function drawAxes(picture, width) {
    for (const tick of axes.ticks)
      picture.append(svg("path", { class: "grid", d: `M${left} ${axes.y(tick)}H${width - right}` }),
        svg("text", { x: left - 7, y: axes.y(tick) + 4, "text-anchor": "end" }, Math.abs(tick) >= 1e4 ? short(tick).replace(/\.0+(?=\D)/, "") : digits(tick, 6)));
    const inside = (tick) => tick >= axes.low - 1e-9 && tick <= axes.high + 1e-9;
    for (const tick of roundTicks(axes.low, axes.high, width / 90, label() === "epoch").filter(inside))
      picture.append(svg("text", { x: axes.x(tick), y: height - bottom + 18, "text-anchor": "middle" }, digits(tick, 6)));
    picture.append(svg("path", { class: "axis", d: `M${left} ${height - bottom}H${width - right}` }),
      svg("text", { x: width - right, y: height - 4, "text-anchor": "end" }, label()));
  }

  function drawLine(picture, line) {
    const inside = line.points.filter(([x], i, all) => (all[i + 1]?.[0] ?? x) >= axes.low && (all[i - 1]?.[0] ?? x) <= axes.high);
    let path = "", after = null;
    for (const [x, y, index] of inside) path += (index === after ? "L" : "M") + axes.x(x).toFixed(1) + " " + axes.y(y).toFixed(1), after = index + 1;
    const dots = inside.length <= 40 ? inside.map(([x, y]) => svg("circle", { class: "dot", cx: axes.x(x), cy: axes.y(y), r: 2.6 })) : [];
    picture.append(svg("g", { class: "series " + line.colour + (line.faint ? " faint" : ""), "clip-path": "url(#" + spec.id + ")" },
      svg("path", { class: "line", d: path }), ...dots));
  }

  function draw(picture, width) {
    lines = series().filter((line) => line.points.length);
    it.figure.hidden = !lines.length && !zoomed();
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    reset.remove();
    if (zoomed()) it.head.append(reset);
    if (!lines.length) return;
    axes = axesFor(width);
    picture.append(svg("clipPath", { id: spec.id }, svg("rect", { x: left - 4, y: 0, width: Math.max(0, width - left - right + 8), height: height - bottom + 4 })));
    drawAxes(picture, width);
    lines.toSorted((a, b) => b.faint - a.faint).forEach((line) => drawLine(picture, line));  // important ones on top
    picture.append(svg("path", { class: "cross" }), svg("rect", { class: "zoom", y: top, height: height - top - bottom, width: 0 }));
  }

  const pixel = (event) => event.clientX - it.picture.getBoundingClientRect().left;
  function nearest(points, x) {
    return points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  }
  function point(event) {
    if (!lines.length) return;
    const x = axes.at(pixel(event)), at = nearest(lines.flatMap((line) => line.points), x)[0];
    it.picture.querySelector(".cross").setAttribute("d", `M${axes.x(at)} ${top}V${height - bottom}`);
    const rows = lines.map((line) => [line, nearest(line.points, at)]).filter(([, found]) => Math.abs(found[0] - at) <= 1e-9 + (axes.high - axes.low) / 50);
    showValues(it.values, label() + " " + digits(at, 6), rows.map(([line, found]) => [line.colour, line.name, digits(found[1], 5)]), event);
    if (drag === null) return;
    const zone = it.picture.querySelector(".zoom"), [from, to] = [drag, pixel(event)].sort((a, b) => a - b);
    zone.setAttribute("x", from);
    zone.setAttribute("width", to - from);
  }
  it.picture.onpointermove = point;
  it.picture.onpointerdown = (event) => { drag = pixel(event); point(event); };
  it.picture.onpointerup = (event) => {
    const [from, to] = [axes?.at(drag), axes?.at(pixel(event))].sort((a, b) => a - b), moved = drag !== null && Math.abs(pixel(event) - drag) > 8;
    drag = null;
    if (moved) zoom = { range: [from, to], label: label() }, it.again();
  };
  it.picture.onpointerleave = () => { drag = null; it.values.hidden = true; it.picture.querySelector(".cross")?.removeAttribute("d"); };
  reset.onclick = () => { zoom = null; it.again(); };
  return it.figure;
}

/** Points of a run's epochs: [x, y, number of the epoch], where `measure` is finite. */
function pointsOf(run, byEpoch, measure) {
  return run.epochs.map((epoch, i) => [byEpoch || !shown.byTime ? epoch.epoch : epoch.seconds / time[1], measure(epoch, i), i])
    .filter(([x, y]) => finite(x) !== null && finite(y) !== null);
}

function curves() {
  const panels = [
    { title: "Loss", of: (set) => set + " loss", logarithmic: true }, { title: "Accuracy", of: (set) => set + " accuracy" },
    ...[1, 3, 5].map((k) => ({ title: "Precision at " + k, of: (set) => set + " p_at_" + k })),
    { title: "Area under the ROC curve", of: (set) => set + " auc" },
    { title: "Learning rate", of: () => "learning rate", fromZero: true },
    { title: "Training examples per second", of: () => "speed", fromZero: true },
    { title: "Distance between replicas", of: () => "exchange consensus_distance", fromZero: true }];
  const used = (panel) => runs.some((run) => run.epochs.some((epoch) => ["train", "test", "validation"].some((set) => panel.of(set) in epoch.values)));
  const series = (panel) => runs.filter((run) => !shown.without.has(run.number)).flatMap((run) => {
    const names = new Map(["test", "validation", "train"].map((set) => [panel.of(set), set]).reverse());
    const sets = names.size > 1 ? [...names].filter(([, set]) => !shown.without.has(set)) : [...names];
    return sets.map(([name, set]) => ({ name: several ? run.name + ", " + name : name, colour: "c" + (run.number % 8),
      faint: names.size > 1 && set !== "test", points: pointsOf(run, false, (epoch) => epoch.values[name]) }));
  });
  heading("Curves");
  if (!runs.some((run) => run.epochs.length)) return note("No epoch is complete yet.");
  bar();
  add(html("div", { class: "charts" }, ...panels.filter(used).map((panel, i) => chart({ ...panel, id: "curve" + i }, () => series(panel)))));
}

// Results.

const betterIsLess = (name) => name === "loss";
const metricNames = [...new Set(runs.flatMap((run) => Object.keys(run.test)))];

function tiles(run) {
  const epochs = run.epochs.at(-1)?.epoch ?? 0;
  const all = [...Object.entries(run.test).map(([name, value]) => [metric(value), "test " + name]), [digits(epochs, 6), epochs === 1 ? "epoch" : "epochs"],
    [duration(run.seconds), run.simulated ? "simulated training time" : "training time"], [short(run.speed), "examples per second"], [run.reason, "how it ended"]];
  if (run.cost > 0) all.splice(-2, 0, [digits(run.cost, 4), "cost of the cluster"]);
  add(html("div", { class: "tiles" }, ...all.map(([value, name]) => html("div", { class: "tile" }, html("b", {}, value), html("span", {}, name)))));
}

const runColumn = text("run", (run) => [swatch(run.number), run.name]);

function results() {
  const best = (name) => Math[betterIsLess(name) ? "min" : "max"](...runs.map((run) => run.test[name]).filter((value) => value !== undefined));
  const cell = (run, name) => html("span", run.test[name] === best(name) ? { class: "best" } : {}, metric(run.test[name]));
  const columns = [runColumn, ...metricNames.map((name) => number("test " + name, (run) => cell(run, name))),
    number("epochs", (run) => digits(run.epochs.at(-1)?.epoch ?? 0, 6)), number("time", (run) => duration(run.seconds)),
    number("examples/s", (run) => count(run.speed)), text("ended", (run) => run.reason)];
  if (runs.some((run) => run.cost > 0)) columns.splice(-3, 0, number("cost", (run) => (run.cost > 0 ? digits(run.cost, 4) : "-")));
  heading("Results");
  table(columns, runs);
}

// Replicas and devices.

function exchange() {
  const of = (format) => (metric) => (run) => (metric in run.exchange ? format(run.exchange[metric]) : "-");
  const cluster = (run, key) => words(run.job["cluster." + key], "-").replace(/^"(.*)"$/, "$1");
  const measures = [["bytes", "sent", bytes], ["bytes_by_formula", "of these by formula", bytes], ["messages", "messages", count],
    ["communicating", "time communicating", percent], ["updates", "updates", count], ["effective_batch", "effective batch", (v) => digits(v, 4)],
    ["staleness_mean", "staleness, mean", (v) => digits(v, 4)], ["staleness_95", "95th percentile", (v) => digits(v, 4)],
    ["consensus_distance", "distance between replicas", (v) => digits(v, 4)]];
  const rows = runs.filter((run) => Object.keys(run.exchange).length);
  if (!rows.length) return;
  heading("What replicas exchanged");
  table([runColumn, text("strategy", (run) => cluster(run, "strategy")), number("replicas", (run) => cluster(run, "replicas")),
    ...measures.filter(([name]) => rows.some((run) => name in run.exchange)).map(([name, title, format]) => number(title, of(format)(name)))], rows);
}

/** A device's count in one epoch alone. It begins anew where the executor is another, or a count has fallen. */
function growth(run, i, name, measure) {
  const now = run.epochs[i].devices[name], before = run.epochs[i - 1]?.executor === run.epochs[i].executor ? run.epochs[i - 1].devices[name] : undefined;
  const fallen = before && ["examples", "updates"].some((one) => before[one] > now[one]);
  return now?.[measure] - (before && !fallen ? before[measure] : 0);
}

function devices() {
  const rows = runs.flatMap((run) => Object.entries(run.devices).map(([name, of]) => ({ run, name, of })));
  rows.forEach((row, i) => { row.colour = i % 8; });
  if (!rows.length) return;
  const total = (run, measure) => Object.values(run.devices).reduce((sum, of) => sum + (of[measure] ?? 0), 0);
  const examplesAnUpdate = ({ run, name }, i) => growth(run, i, name, "examples") / growth(run, i, name, "updates");
  const fraction = ({ run, name }, i) =>
    growth(run, i, name, "updates") / Object.keys(run.epochs[i].devices).reduce((sum, other) => sum + growth(run, i, other, "updates"), 0);
  const series = (measure) => () => rows.filter((row) => !shown.without.has(row.run.number)).map((row) => ({ name: row.run.name + ", " + row.name,
    colour: "c" + row.colour, faint: false, points: pointsOf(row.run, true, (epoch, i) => (row.name in epoch.devices ? measure(row, i) : null)) }));
  heading("Devices");
  note("Counts since the run began; busy and staleness since its last session began. Of several replicas, rank 0's devices.");
  table([text("run", (row) => [swatch(row.colour), row.run.name]), text("device", (row) => row.name), number("examples", ({ of }) => count(of.examples)),
    number("of all examples", ({ run, of }) => percent(of.examples / total(run, "examples"))), number("updates", ({ of }) => count(of.updates)),
    number("of all updates", ({ run, of }) => percent(of.updates / total(run, "updates"))),
    number("examples per update", ({ of }) => digits(of.examples / of.updates, 4)), number("busy", ({ of }) => percent(of.busy)),
    number("staleness, mean", ({ of }) => digits(of.staleness, 4)), number("staleness, most", ({ of }) => count(of.most_stale))], rows);
  add(html("div", { class: "charts" },
    chart({ title: "Examples per update", id: "device0", byEpoch: true, fromZero: true, logarithmic: true }, series(examplesAnUpdate)),
    chart({ title: "Fraction of the updates", id: "device1", byEpoch: true, fromZero: true }, series(fraction))));
}

// How the configuration was chosen.

const candidatesOf = (run) =>
  list(object(run.plan.compared).candidates ?? run.plan.candidate).map(object).filter((one) => one.seconds > 0).slice(0, 24);

function candidates(run) {
  const rows = candidatesOf(run), most = Math.max(...rows.map((one) => one.seconds));
  const milliseconds = (value) => (value > 0 ? digits(1000 * value, 3) + " ms" : "-");
  const length = (one) => html("i", { style: `width: ${(100 * one.seconds) / most}%` });
  if (rows.length)
    table([text(run.name, (one) => words(one.name)), number("an update, predicted", (one) => milliseconds(one.seconds_per_update)),
      number("measured", (one) => milliseconds(one.measured)), number("in all, predicted", (one) => duration(one.seconds)),
      { title: "", cell: (one) => html("div", { class: "length" }, length(one)) }, number("loss of its trials", (one) => metric(one.trial_loss)),
      text("why not", (one) => (one.name === run.plan.chosen ? "chosen" : words(one.dropped, "")))], rows);
}

function tried(run) {
  const rows = list(run.plan.tried).map(object);
  if (rows.length)
    table([text(run.name + ": learning rate tried", (one) => digits(one.learning_rate, 6)), number("momentum", (one) => digits(one.momentum, 6)),
      number("steps", (one) => count(one.steps)), number("loss of its trials", (one) => (one.diverged ? "diverged" : metric(one.loss)))], rows);
}

function plans() {
  const planned = runs.filter((run) => run.plan);
  if (!planned.length) return;
  heading("How the configuration was chosen");
  if (planned.some((run) => candidatesOf(run).length)) note("The candidates with the shortest predicted times. An update is a batch on each replica.");
  planned.forEach(candidates);
  planned.forEach(tried);
}

// Who computes, waits and sends on a simulated cluster: a bar says whether a rank computes or waits, a strip under it
// whether its messages leave the card. Dark, hatched and thin, they differ without colours, too.

function lanes(run) {
  const { lanes, from, to, ranks, sends } = run.timeline, span = to - from, few = lanes.length <= 12, left = 66, right = 12, top = 10;
  const height = few ? 15 : 10, strip = few ? 5 : 4, pitch = few ? 29 : 19, tops = [];
  const [unit, seconds] = span >= 2 ? ["seconds", 1] : span >= 2e-3 ? ["milliseconds", 1e-3] : ["microseconds", 1e-6];
  const end = lanes.reduce((y, lane, i) => {
    tops.push(y + (i > 0 && lane.group !== lanes[i - 1].group ? 7 : 0));
    return tops[i] + pitch;
  }, top);
  const names = ["computing", "waiting", "sending"].filter((name) => sends || name !== "sending");
  let at = null;
  const drawn = lanes.length < ranks ? `${lanes.length} of ${count(ranks)} ranks` : lanes.length === 1 ? "1 rank" : `all ${lanes.length} ranks`;
  const it = figureOf(run.name + ": " + drawn, (picture, width) => {
    at = (value) => left + (value / span) * (width - left - right);
    picture.setAttribute("viewBox", `0 0 ${width} ${end + 40}`);
    for (const tick of roundTicks(0, span / seconds, width / 100).filter((one) => one * seconds <= span))
      picture.append(svg("path", { class: "grid", d: `M${at(tick * seconds)} ${top - 6}V${end}` }),
        svg("text", { x: at(tick * seconds), y: end + 17, "text-anchor": "middle" }, digits(tick, 6)));
    picture.append(svg("text", { x: width - right, y: end + 36, "text-anchor": "end" }, `${unit} after ${digits(from, 4)} s of the run`));
    lanes.forEach((lane, i) => drawLane(picture, lane, tops[i]));
  });
  function drawLane(picture, lane, y) {
    picture.append(svg("text", { x: left - 8, y: y + height / 2 + 4.5, "text-anchor": "end" }, "rank " + count(lane.rank)));
    for (const name of ["waiting", "computing", "sending"]) {
      const sending = name === "sending";
      let path = "";
      for (let i = 0; i + 1 < lane[name].length; i += 2) {
        const begin = at(Math.max(0, lane[name][i])), stop = at(Math.min(span, lane[name][i + 1]));
        if (stop > begin) path += `M${begin.toFixed(1)} ${sending ? y + height + 1 : y}H${stop.toFixed(1)}v${sending ? strip : height}H${begin.toFixed(1)}z`;
      }
      if (path) picture.append(svg("path", { class: name, d: path }));
    }
    const steps = lane.steps.filter((step) => step >= 0 && step <= span).map((step) => `M${at(step).toFixed(1)} ${y - 2.5}v${height + 4}`);
    picture.append(svg("path", { class: "step", d: steps.join("") }));
  }
  it.picture.onpointermove = (event) => {
    const box = it.picture.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const lane = lanes[tops.findLastIndex((one) => one <= y)] ?? lanes[0], now = ((x - left) / (box.width - left - right)) * span;
    const does = names.filter((name) => lane[name].some((begin, i) => i % 2 === 0 && begin <= now && now < lane[name][i + 1]));
    showValues(it.values, `rank ${count(lane.rank)} after ${digits(from + now, 6)} s: ${does.join(", ") || "idle"}`,
      names.map((name) => [null, name + ", of the whole run", percent(lane.fractions[name])]), event);
  };
  it.picture.onpointerleave = () => { it.values.hidden = true; };
  return it.figure;
}

function key(name, d) {
  return html("span", {}, svg("svg", { width: 26, height: 10 }, svg("path", { class: name, d })), " " + (name === "step" ? "end of a step" : name));
}

function timelines() {
  const simulated = runs.filter((run) => run.timeline);
  if (!simulated.length) return;
  const sends = simulated.some((run) => run.timeline.sends), drawn = simulated.filter(({ timeline }) => timeline.to > timeline.from && timeline.lanes.length);
  heading("Who computes, waits and sends");
  note("A few steps of the simulated cluster, a lane for each rank. The table has fractions of the whole run's time, over all ranks.");
  add(svg("svg", { width: 0, height: 0, style: "position: absolute" }, svg("pattern", { id: "hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, svg("path", { d: "M0 0H5V5H0z" }), svg("path", { class: "stripe", d: "M1 0V5" }))));
  if (drawn.length)
    add(html("p", { class: "bar" }, key("computing", "M2 0H24V10H2z"), key("waiting", "M2 0H24V10H2z"), sends ? key("sending", "M2 5H24V10H2z") : null,
      key("step", "M13 0V10")), ...drawn.map(lanes));
  const rows = simulated.flatMap((run) => ["computing", "waiting", "sending"].filter((name) => run.timeline.sends || name !== "sending")
    .map((name) => ({ run, name, of: run.timeline.fractions[name] })));
  const spread = (of, which) => `${percent(of[which])} (rank ${count(of[which + "_rank"])})`;
  table([runColumn, text("", (row) => row.name), number("minimum", (row) => spread(row.of, "minimum")), number("median", (row) => percent(row.of.median)),
    number("maximum", (row) => spread(row.of, "maximum"))].map((column, i) => (i ? column : text("run", (row) => runColumn.cell(row.run)))), rows);
}

// Jobs.

function differences() {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.job)))].filter((key) => new Set(runs.map((run) => run.job[key] ?? "-")).size > 1);
  heading("Differences between the jobs");
  if (!keys.length) return note("None: all runs have the same job.");
  table([text("key", (key) => html("code", {}, key)), ...runs.map((run) => text([swatch(run.number), run.name], (key) => html("code", {}, run.job[key] ?? "-")))], keys);
}

function conditions() {
  heading("Conditions");
  for (const run of runs)
    add(html("details", {}, html("summary", {}, run.name + ": conditions and job"),
      html("div", { class: "wide" }, html("table", {}, html("tbody", {},
        ...Object.entries(run.facts).map(([name, value]) => html("tr", {}, html("th", {}, name), html("td", {}, value)))))),
      html("pre", {}, run.toml)));
}

// The page.

const title = several ? runs.length + " runs" : runs[0].name;
document.title = title + " - yoke";
main.replaceChildren(html("h1", {}, title));
several ? results() : tiles(runs[0]);
for (const run of runs.filter((one) => one.collapse)) note(`${run.name}: the model has collapsed: ${run.collapse}.`);
curves();
exchange();
devices();
plans();
timelines();
if (several) differences();
conditions();
add(html("footer", {}, "Drawn by yoke " + yoke + "."));
redraw();
