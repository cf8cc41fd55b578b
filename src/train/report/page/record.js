// What the record holds. Damaged values are passed over.

const object = (value) =>
    (value && typeof value === 'object' && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);
const words = (value, otherwise = 'unknown') =>
    (typeof value === 'string' && value ? value : otherwise);
const numbers = (value) =>
    Object.fromEntries(Object.entries(object(value)).filter(([, one]) => finite(one) !== null));

/**
 * {cpu: {examples: 10, updates: 2, ...}, ...} out of {examples: {cpu: 10}, updates: {cpu: 2},
 * ...}.
 */
function devicesOf(line) {
  const devices = {};
  for (const [measure, byDevice] of Object.entries(object(line.node)))
    for (const [name, value] of Object.entries(numbers(byDevice)))
      (devices[name] ??= {})[measure] = value;
  return devices;
}

/** An epoch or an evaluation. Its time is without evaluations where the line has that. */
function pointOf(line, executor, session) {
  const values = numbers({'learning rate': line.learning_rate, speed: line.examples_per_second});
  for (const set of ['train', 'validation', 'test', 'exchange'])
    for (const [name, value] of Object.entries(numbers(line[set])))
      values[set + ' ' + name] = value;
  return {
    waiting: finite(object(line.data).waiting),
    epoch: finite(line.epoch),
    seconds: finite(line.training_seconds) ?? finite(line.seconds),
    step: finite(line.step),
    values,
    executor,
    devices: devicesOf(line),
    session
  };
}

function takeStart(run, line) {
  Object.assign(run, {
    exchange: numbers(line.exchange),
    reason: 'not ended',
    test: {},
    executor: words(line.executor),
    sessions: run.sessions + 1
  });
  run.facts = {
    parameters: count(finite(line.parameters) ?? 0),
    examples: count(finite(line.train_examples) ?? 0) + ' for training, ' +
        count(finite(line.test_examples) ?? 0) + ' for testing',
    devices: words(line.hardware, words(line.devices)),
    'executor, strategy': run.executor + ', ' + words(line.strategy),
    processor: words(line.cpu),
    yoke: words(line.version) + ' (' + words(line.commit) + ')',
    oneDNN: words(object(line.libraries).oneDNN, '-'),
  };
}

function takeEnd(run, line) {
  const memory = numbers(line.memory);
  Object.assign(run, {
    reason: words(line.reason),
    seconds: finite(line.seconds) ?? 0,
    done: finite(line.epochs) ?? 0,
    test: numbers(line.test),
    cost: finite(line.cost) ?? 0,
    simulated: line.virtual_seconds > 0,
    collapse: words(object(line.collapse).message, ''),
    message: words(line.message, '')
  });
  if (words(line.good, '')) run.facts['last good checkpoint'] = line.good;
  if (memory.ratio > 0)
    run.facts['peak memory'] = bytes(memory.peak) + ' (parameters, optimizer state and tables ' +
        bytes(memory.peak / memory.ratio) + ')';
  if (run.simulated) run.facts['virtual time'] = digits(line.virtual_seconds, 4) + ' s';
  if (run.cost > 0) run.facts['cost of the cluster'] = digits(run.cost, 4);
}

/** The values of the latest point with test metrics. */
function lastTested(points) {
  const tested =
      points.filter((point) => Object.keys(point.values).some((name) => name.startsWith('test ')));
  const latest = Math.max(...tested.map((point) => point.epoch ?? 0));
  return tested.findLast((point) => (point.epoch ?? 0) === latest)?.values ?? {};
}

const betterIsLess = (name) => ['loss', 'rmse', 'mae'].includes(name);
const settingOf = (run, key) => words(run.job[key], '').replace(/^"(.*)"$/, '$1');

/** The best epoch, by what the job watches, else by the loss: {epoch, by, value}; null: none. */
function bestOf(run) {
  const watched = ['train.early_stopping', 'train.schedule'].map(
      (key) => settingOf(run, key).match(/metric = "(\w+)"/)?.[1]);
  const name = settingOf(run, 'checkpoint.best') || watched.find((one) => one) || 'loss';
  const set =
      run.points.some((point) => 'validation ' + name in point.values) ? 'validation ' : 'test ';
  const sign = betterIsLess(name) ? 1 : -1;
  let best = null;
  for (const {epoch, values} of run.points) {
    const value = finite(values[set + name] ?? null);
    if (epoch !== null && value !== null && !(sign * value >= sign * best?.value))
      best = {epoch, by: set + name, value};
  }
  return best;
}

function runOf(raw, number) {
  const run = {
    ...raw,
    number,
    epochs: [],
    evaluations: [],
    exchange: {},
    devices: {},
    test: {},
    facts: {},
    reason: 'not ended',
    executor: '',
    sessions: 0,
    collapse: '',
    message: '',
    seconds: 0,
    done: 0,
    cost: 0,
    simulated: false
  };
  run.sampled = /^output = "lsh"|"lsh_linear"/m.test(words(raw.toml, ''));
  for (const line of raw.lines) {
    if (line.event === 'start') takeStart(run, line);
    Object.assign(run.exchange, numbers(line.exchange));
    for (const [name, device] of Object.entries(devicesOf(line))) run.devices[name] = device;
    if (line.event === 'epoch') run.epochs.push(pointOf(line, run.executor, run.sessions));
    if (line.event === 'evaluation') run.evaluations.push(pointOf(line, '', run.sessions));
    if (line.event === 'end') takeEnd(run, line);
  }
  run.points = [...run.epochs, ...run.evaluations];
  run.seconds = Math.max(run.seconds, ...run.points.map((point) => point.seconds ?? 0));
  run.done = Math.max(run.done, ...run.points.map((point) => point.epoch ?? 0));
  if (!Object.keys(run.test).length)  // it has not ended
    for (const [name, value] of Object.entries(lastTested(run.points)))
      if (name.startsWith('test ') && !name.endsWith('_error')) run.test[name.slice(5)] = value;
  const speeds = run.epochs.map((epoch) => epoch.values.speed)
                     .filter((speed) => speed !== undefined)
                     .sort((a, b) => a - b);
  if (run.sampled)
    for (const {values} of run.points) {
      if ('train loss' in values) values['sampled loss'] = values['train loss'];
      delete values['train loss'];
    }
  run.best = bestOf(run);
  run.speed = speeds[Math.floor(speeds.length / 2)] ?? 0;
  return run;
}

const {yoke, runs: raw} = JSON.parse(document.getElementById('runs').textContent);
const runs = raw.map(runOf);
const several = runs.length > 1;
