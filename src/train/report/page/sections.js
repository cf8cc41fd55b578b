// The sections of the page: curves, results, replicas, devices, plans, jobs.

/** Of epochs or evaluations: [x, y, number of the point], where both can be drawn. */
function pointsOf(from, byEpoch, measure) {
  return from
      .map(
          (point, i) =>
              [byEpoch || shown.by === 'epoch' ? point.epoch :
                   shown.by === 'step'         ? point.step :
                                                 point.seconds / time[1],
               measure(point, i), i])
      .filter(([x, y]) => isDrawable(x) && isDrawable(y));
}

function curves() {
  const panels = [
    {title: 'Loss', of: (set) => set + ' loss', logarithmic: true, cuts: true}, {
      title: 'Training loss over sampled labels',
      of: () => 'sampled loss',
      logarithmic: true,
      cuts: true
    },
    {title: 'Accuracy', of: (set) => set + ' accuracy'},
    ...[1, 3, 5].map((k) => ({title: 'Precision at ' + k, of: (set) => set + ' p_at_' + k})),
    {title: 'Area under the ROC curve', of: (set) => set + ' auc'}, {
      title: 'Root of the mean squared error',
      of: (set) => set + ' rmse',
      fromZero: true,
      cuts: true
    },
    {title: 'Mean absolute error', of: (set) => set + ' mae', fromZero: true, cuts: true},
    {title: 'R2', of: (set) => set + ' r2', cuts: true},
    {title: 'Learning rate', of: () => 'learning rate', fromZero: true},
    {title: 'Training examples per second', of: () => 'speed', fromZero: true},
    {title: 'Distance between replicas', of: () => 'exchange consensus_distance', fromZero: true}
  ];
  const used = (panel) => runs.some(
      (run) => run.points.some(
          (point) => ['train', 'test', 'validation'].some(
              (set) => isDrawable(point.values[panel.of(set)] ?? NaN))));
  const has = (name) => (point) => name in point.values;
  const from = (run, name) => (run.evaluations.some(has(name)) ? run.evaluations : run.epochs);
  const series = (panel) => runs.filter((run) => !shown.without.has(run.number)).flatMap((run) => {
    const names =
        new Map(['test', 'validation', 'train'].map((set) => [panel.of(set), set]).reverse());
    const sets =
        names.size > 1 ? [...names].filter(([, set]) => !shown.without.has(set)) : [...names];
    return sets.map(([name, set]) => {
      const source = from(run, name);
      const points = pointsOf(source, false, (point) => point.values[name]);
      return {
        name: several ? run.name + ', ' + name : name,
        number: run.number,
        set: names.size > 1 ? set : 'test',
        points,
        best: run.best && points.find(([, , i]) => source[i].epoch === run.best.epoch)
      };
    });
  });
  heading('Curves');
  if (!runs.some((run) => run.points.length))
    return note(
        runs.some((run) => run.reason === 'not ended') ? 'No epoch is complete yet.' :
                                                         'No epoch was evaluated.');
  bar();
  if (runs.some((run) => run.best)) note('A ring marks the best epoch of a run.');
  add(html(
      'div', {class: 'charts'},
      ...panels.filter(used).map(
          (panel, i) => chart({...panel, id: 'curve' + i}, () => series(panel)))));
}

// Results.

/** What was trained, on what. */
function about(run) {
  const of = (key) => settingOf(run, key).replace(/^\["?(.*?)"?\]$/, '$1');
  const file = of('data.train').split('/').at(-1);
  return [
    of('model.name') || (of('model.file') || 'layers of its own').split('/').at(-1),
    [of('data.format'), file].filter((one) => one).join(', ') || 'unknown data',
    (run.facts.parameters ?? '0') + ' parameters'
  ].join('; ');
}
const metricNames = [...new Set(runs.flatMap((run) => Object.keys(run.test)))];

function tiles(run) {
  const all = [
    ...Object.entries(run.test).map(([name, value]) => [metric(value), 'test ' + name]),
    ...(run.best ? [[
      digits(run.best.epoch, 6), `best epoch, by ${run.best.by} ${metric(run.best.value)}`
    ]] :
                   []),
    [digits(run.done, 6), run.done === 1 ? 'epoch' : 'epochs'],
    [duration(run.seconds), run.simulated ? 'training time, in virtual seconds' : 'training time'],
    ...(run.cost > 0 ? [[digits(run.cost, 4), 'cost of the cluster']] : []),
    ...(run.speed > 0 ? [[short(run.speed), 'examples per second']] : []),
    [run.reason, 'how it ended']
  ];
  add(html(
      'div', {class: 'tiles'},
      ...all.map(
          ([value, name]) =>
              html('div', {class: 'tile'}, html('b', {}, value), html('span', {}, name)))));
}

const runColumn = text('run', (run) => [swatch(run.number), ...broken(run.name)]);

function results() {
  const best = (name) => Math[betterIsLess(name) ? 'min' : 'max'](
      ...runs.map((run) => run.test[name]).filter((value) => value !== undefined));
  const cell = (run, name) =>
      html('span', run.test[name] === best(name) ? {class: 'best'} : {}, metric(run.test[name]));
  const columns = [
    runColumn, ...metricNames.map((name) => number('test ' + name, (run) => cell(run, name))),
    number('epochs', (run) => digits(run.done, 6)),
    number('time', (run) => duration(run.seconds) + (run.simulated ? ' (virtual)' : '')),
    number('examples/s', (run) => (run.speed > 0 ? count(run.speed) : '-')),
    text('ended', (run) => run.reason),
    number('best epoch', (run) => (run.best ? digits(run.best.epoch, 6) : '-')),
    text('model and data', (run) => html('span', {class: 'about'}, ...broken(about(run))))
  ];
  if (runs.some((run) => run.cost > 0))
    columns.splice(-5, 0, number('cost', (run) => (run.cost > 0 ? digits(run.cost, 4) : '-')));
  heading('Results');
  table(columns, runs);
}

// Replicas and devices.

function exchange() {
  const of = (format) => (metric) => (run) =>
      (metric in run.exchange ? format(run.exchange[metric]) : '-');
  const cluster = (run, key) => words(run.job['cluster.' + key], '-').replace(/^"(.*)"$/, '$1');
  const measures = [
    ['bytes', 'sent', bytes], ['bytes_by_formula', 'of these by formula', bytes],
    ['messages', 'messages', count], ['communicating', 'time communicating', percent],
    ['updates', 'updates', count], ['effective_batch', 'effective batch', (v) => digits(v, 4)],
    ['staleness_mean', 'staleness, mean', (v) => digits(v, 4)],
    ['staleness_95', '95th percentile', (v) => digits(v, 4)],
    ['consensus_distance', 'distance between replicas', (v) => digits(v, 4)]
  ];
  const rows = runs.filter((run) => Object.keys(run.exchange).length);
  if (!rows.length) return;
  heading('What replicas exchanged');
  table(
      [
        runColumn, text('strategy', (run) => cluster(run, 'strategy')),
        number('replicas', (run) => cluster(run, 'replicas')),
        ...measures.filter(([name]) => rows.some((run) => name in run.exchange))
            .map(([name, title, format]) => number(title, of(format)(name)))
      ],
      rows);
}

/**
 * A device's count in one epoch alone. It begins anew where the executor is another, or a count
 * has fallen.
 */
function growth(run, i, name, measure) {
  const now = run.epochs[i].devices[name],
        before = run.epochs[i - 1]?.executor === run.epochs[i].executor ?
      run.epochs[i - 1].devices[name] :
      undefined;
  const fallen = before && ['examples', 'updates'].some((one) => before[one] > now[one]);
  return now?.[measure] - (before && !fallen ? before[measure] : 0);
}

/**
 * About the fraction of one epoch alone in which a device was busy. The record has that of its
 * session's training, without evaluations and checkpoints, which count as training here.
 */
function busyIn(run, i, name) {
  const {session, seconds, devices} = run.epochs[i], now = devices[name].busy;
  const first = run.epochs.findIndex((epoch) => epoch.session === session);
  const before = i > first ? run.epochs[i - 1].devices[name]?.busy : undefined;
  if (before === undefined) return now;
  const start = run.epochs[first - 1]?.seconds ?? 0, last = run.epochs[i - 1].seconds;
  const busy = now * (seconds - start) - before * (last - start);
  return Math.min(1, Math.max(0, busy / (seconds - last)));
}

function devices() {
  const rows =
      runs.flatMap((run) => Object.entries(run.devices).map(([name, of]) => ({run, name, of})))
          .map((row, colour) => ({...row, colour}));
  if (!rows.length) return;
  const total = (run, measure) =>
      Object.values(run.devices).reduce((sum, of) => sum + (of[measure] ?? 0), 0);
  const examplesAnUpdate = ({run, name}, i) =>
      growth(run, i, name, 'examples') / growth(run, i, name, 'updates');
  const fraction = ({run, name}, i) => growth(run, i, name, 'updates') /
      Object.keys(run.epochs[i].devices)
          .reduce((sum, other) => sum + growth(run, i, other, 'updates'), 0);
  const series = (measure) => () =>
      rows.filter((row) => !shown.without.has(row.run.number))
          .map((row) => ({
                 name: row.run.name + ', ' + row.name,
                 number: row.colour,
                 set: 'test',
                 points: pointsOf(
                     row.run.epochs, true,
                     (epoch, i) => (row.name in epoch.devices ? measure(row, i) : null))
               }));
  heading('Devices');
  note(
      'Counts since the run began; busy and staleness since its last session began. Of several replicas, rank 0\'s devices.');
  table(
      [
        text('run', (row) => [swatch(row.colour), ...broken(row.run.name)]),
        text('device', (row) => row.name), number('examples', ({of}) => count(of.examples)),
        number('of all examples', ({run, of}) => percent(of.examples / total(run, 'examples'))),
        number('updates', ({of}) => count(of.updates)),
        number('of all updates', ({run, of}) => percent(of.updates / total(run, 'updates'))),
        number('examples per update', ({of}) => digits(of.examples / of.updates, 4)),
        number('busy', ({of}) => percent(of.busy)),
        number('staleness, mean', ({of}) => digits(of.staleness, 4)),
        number('staleness, most', ({of}) => count(of.most_stale))
      ],
      rows);
  add(html(
      'div', {class: 'charts'},
      chart(
          {
            title: 'Examples per update',
            id: 'device0',
            byEpoch: true,
            fromZero: true,
            logarithmic: true
          },
          series(examplesAnUpdate)),
      rows.length === new Set(rows.map((row) => row.run)).size ?
          null :
          chart(
              {title: 'Fraction of the updates', id: 'device1', byEpoch: true, fromZero: true},
              series(fraction)),
      chart(
          {
            title: 'About the fraction of the time busy',
            id: 'device2',
            byEpoch: true,
            fromZero: true
          },
          series(({run, name}, i) => busyIn(run, i, name)))));
}

// An evaluation that `yoke eval --keep` left in the run.

function pictureOf(row) {
  const {width, height, channels, pixels} = object(row.picture);
  const sizes = [width, height, channels];
  if (!sizes.every((size) => Number.isInteger(size) && size > 0 && size <= 64) ||
      words(pixels, '').length !== 2 * width * height * channels)
    return [];
  const canvas = html('canvas', {width, height, class: 'picture'});
  const drawing = canvas.getContext('2d');
  const image = drawing.createImageData(width, height);
  const byte = (at) => parseInt(pixels.slice(2 * at, 2 * at + 2), 16);
  for (let i = 0; i < width * height; ++i)
    for (let c = 0; c < 4; ++c)
      image.data[4 * i + c] = c === 3 ? 255 : byte(channels * i + (channels === 3 ? c : 0));
  drawing.putImageData(image, 0, 0);
  return [canvas, ' '];
}

function mistakes(run) {
  const rows = list(object(run.evaluation).mistakes).map(object);
  if (!rows.length) return;
  const found = (name) => (row) =>
      [words(row[name]), ' ',
       digits(row[name === 'class' ? 'probability' : 'found_probability'], 3)];
  table(
      [
        text(
            (several ? run.name + ': w' : 'W') + 'orst mistakes',
            (row) => [...pictureOf(row), ...broken(words(row.file, count(row.index)))]),
        text('its class, with its probability', found('class')),
        text('the class found, with its probability', found('found'))
      ],
      rows);
}

function evaluations() {
  const kept = runs.filter((run) => run.evaluation);
  if (!kept.length) return;
  const curvesOf = (run) => list(run.evaluation.points).map(object);
  const series = (point) => () =>
      kept.filter((run) => !shown.without.has(run.number))
          .flatMap(
              (run) => curvesOf(run).map(
                  (curve, i) => ({
                    name: (several ? run.name + ', ' : '') + words(curve.class),
                    number: several ? run.number : i,
                    set: 'test',
                    points: list(curve.points)
                                .map((one, index) => [...point(list(one)), index])
                                .filter(([x, y]) => isDrawable(x) && isDrawable(y))
                                .sort(([a], [b]) => a - b)
                                .map(([x, y], index) => [x, y, index])
                  })));
  heading('Evaluation');
  for (const {name, evaluation} of kept)
    note(
        (several ? name + ': ' : '') + `${words(evaluation.checkpoint)}, ` +
        `${count(evaluation.examples)} examples, balanced accuracy ` +
        `${metric(evaluation.balanced_accuracy)}.`);
  if (kept.some((run) => curvesOf(run).length))
    add(html(
        'div', {class: 'charts'},
        chart(
            {title: 'ROC curves', id: 'roc', axis: 'false positive rate', fromZero: true},
            series(([rate, recall]) => [rate, recall])),
        chart(
            {title: 'Precision-recall curves', id: 'recall', axis: 'recall', fromZero: true},
            series(([, recall, precision]) => [recall, precision]))));
  kept.forEach(mistakes);
}

// How the configuration was chosen.

/** A row of a plan: its numbers, and its texts. */
const planRow = (one) => ({
  ...numbers(one),
  name: words(object(one).name),
  dropped: words(object(one).dropped, ''),
  diverged: object(one).diverged === true
});

const candidatesOf = (run) => list(object(run.plan.compared).candidates ?? run.plan.candidate)
                                  .map(planRow)
                                  .filter((one) => one.seconds > 0)
                                  .slice(0, 24);

function candidates(run) {
  const rows = candidatesOf(run), most = Math.max(...rows.map((one) => one.seconds));
  const milliseconds = (value) => (value > 0 ? digits(1000 * value, 3) + ' ms' : '-');
  const length = (one) => html('i', {style: `width: ${(100 * one.seconds) / most}%`});
  if (rows.length)
    table(
        [
          text(run.name, (one) => one.name),
          number('an update, predicted', (one) => milliseconds(one.seconds_per_update)),
          number('measured', (one) => milliseconds(one.measured)),
          number('in all, predicted', (one) => duration(one.seconds)),
          {title: '', cell: (one) => html('div', {class: 'length'}, length(one))},
          number('loss of its trials', (one) => metric(one.trial_loss)),
          text('why not', (one) => (one.name === run.plan.chosen ? 'chosen' : one.dropped))
        ],
        rows);
}

function tried(run) {
  const rows = list(run.plan.tried).map(planRow);
  const has = (name) => rows.some((one) => name in one);
  if (rows.length)
    table(
        [
          text(run.name + ': learning rate tried', (one) => digits(one.learning_rate, 6)),
          ...(has('momentum') ? [number('momentum', (one) => digits(one.momentum, 6))] : []),
          ...(has('steps') ? [number('steps', (one) => count(one.steps))] : []),
          number('loss of its trials', (one) => (one.diverged ? 'diverged' : metric(one.loss)))
        ],
        rows);
}

/** The least loss of each learning rate; the ring is at the chosen one. */
function rateSeries(run) {
  const losses = new Map();
  for (const one of list(run.plan.tried).map(planRow).filter(({loss}) => isDrawable(loss)))
    losses.set(one.learning_rate, Math.min(one.loss, losses.get(one.learning_rate) ?? Infinity));
  const points =
      [...losses].sort(([a], [b]) => a - b).map(([rate, loss], i) => [Math.log10(rate), loss, i]);
  const chosen = Math.log10(finite(object(object(run.plan.use).train).learning_rate));
  return {
    name: run.name + ', loss',
    number: run.number,
    set: 'test',
    points,
    best: points.find(([x]) => Math.abs(x - chosen) < 1e-9)
  };
}

function plans() {
  const planned = runs.filter((run) => run.plan);
  if (!planned.length) return;
  heading('How the configuration was chosen');
  if (planned.some((run) => candidatesOf(run).length))
    note('The candidates with the shortest predicted times. An update is a batch on each replica.');
  planned.forEach(candidates);
  planned.forEach(tried);
  const ranges = planned.filter((run) => list(run.plan.tried).length > 2);
  if (ranges.length)
    add(chart(
        {
          title: 'Loss of the trials by learning rate',
          id: 'rates',
          axis: 'learning rate, power of 10',
          logarithmic: true,
          cuts: true
        },
        () => ranges.map(rateSeries)));
}

// Jobs.

function differences() {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.job)))].filter(
      (key) => new Set(runs.map((run) => run.job[key] ?? '-')).size > 1);
  heading('Differences between the jobs');
  if (!keys.length) return note('None: all runs have the same job.');
  table(
      [
        text('key', (key) => html('code', {}, ...broken(key))),
        ...runs.map(
            (run) => text(
                [swatch(run.number), ...broken(run.name)],
                (key) => html('code', {}, run.job[key] ?? '-')))
      ],
      keys);
}

function conditions() {
  heading('Conditions');
  for (const run of runs)
    add(html(
        'details', {}, html('summary', {}, run.name + ': conditions and job'),
        html(
            'div', {class: 'wide'},
            html(
                'table', {},
                html(
                    'tbody', {},
                    ...Object.entries(run.facts).map(
                        ([name, value]) =>
                            html('tr', {}, html('th', {}, name), html('td', {}, value)))))),
        html('pre', {}, run.toml)));
}

/** The part of the last epoch in which the steps waited for data. */
const waiting = (run) => run.epochs.at(-1)?.waiting ?? 0;

// The page.

const title = several ? runs.length + ' runs' : runs[0].name;
document.title = title + ' - yoke';
main.replaceChildren(html('h1', {}, ...broken(title)));
if (!several) note(about(runs[0]));
several ? results() : tiles(runs[0]);
for (const run of runs.filter((one) => one.reason === 'diverged'))
  note(`${run.name} diverged${run.message ? ': ' + run.message : ''}.`.replace(/\.\.$/, '.'));
for (const run of runs.filter((one) => one.collapse))
  note(`${run.name}: the model has collapsed: ${run.collapse}.`);
for (const run of runs.filter((one) => waiting(one) >= 0.1))
  note(`${run.name} waited for data in ${Math.round(100 * waiting(run))} % of its last epoch.`);
curves();
exchange();
evaluations();
devices();
plans();
timelines();
if (several) differences();
conditions();
add(html('footer', {}, 'Drawn by yoke ' + yoke + '.'));
redraw();
