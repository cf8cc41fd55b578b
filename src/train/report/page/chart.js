// Charts: the values under the pointer or the arrow keys, zoom by a drag of the mouse.

// What is shown: the switches of the bar, and what is drawn anew when one changes.

const shown = {
  by: 'epoch',
  without: new Set()
};
const drawings = [];
const redraw = () => drawings.forEach((draw) => draw());

const longest =
    Math.max(0, ...runs.flatMap((run) => run.points.map((point) => point.seconds ?? 0)));
const time = longest > 3 * 3600 ? ['hours', 3600] :
    longest > 600               ? ['minutes', 60] :
                                  ['seconds', 1];
/** How the horizontal axis is called. */
const axisName = (by) =>
    (by !== 'time' ? by : (runs.every((run) => run.simulated) ? 'virtual ' : '') + time[0]);

function choice(by) {
  const title = 'by ' + axisName(by) + (by === 'time' ? '' : 's');
  const button = html('button', {class: 'choice'}, title);
  drawings.push(() => button.setAttribute('aria-pressed', shown.by === by));
  button.onclick = () => {
    shown.by = by;
    redraw();
  };
  return button;
}

/** Switches series of a run, or of a set of data, on and off. */
function toggle(title, key, number, set) {
  const line = set === 'run' ?
      swatch(number) :
      svg('svg', {viewBox: '0 0 26 10', class: 'c' + (number % 8) + ' of-' + set},
          svg('path', {class: 'line', d: 'M2 5H24'}));
  const button = html('button', {'aria-pressed': true}, line, html('span', {}, ...broken(title)));
  button.onclick = () => {
    if (!shown.without.delete(key)) shown.without.add(key);
    button.setAttribute('aria-pressed', !shown.without.has(key));
    redraw();
  };
  return button;
}

function bar() {
  const sets =
      [['test', 'test data'], ['train', 'training data'], ['validation', 'validation data']];
  const has = (set) => runs.some(
      (run) => run.points.some(
          (point) => Object.keys(point.values).some((name) => name.startsWith(set + ' '))));
  add(html(
      'div', {class: 'bar'},
      ...(several ? runs.map((run) => toggle(run.name, run.number, run.number, 'run')) : []),
      ...sets.filter(([set]) => has(set))
          .map(([set, title]) => toggle(title, set, several ? 7 : 0, set)),
      html('span', {class: 'gap'}), choice('epoch'),
      ...(runs.some((run) => run.points.some((point) => point.step > 0)) ? [choice('step')] : []),
      choice('time')));
}

const mostValues = 12;

/** Shows `rows` of [line's classes or null, name, value] beside a place of the figure. */
function showValues(box, title, rows, x, y) {
  const row = ([number, name, value]) => html(
      'div', {}, number === null ? null : swatch(number), html('span', {}, ...broken(name)),
      html('b', {}, value));
  const more =
      rows.length > mostValues ? html('div', {}, `and ${rows.length - mostValues} more`) : null;
  box.replaceChildren(
      html('div', {}, title), ...rows.slice(0, mostValues).map(row), ...(more ? [more] : []));
  box.hidden = false;
  const width = box.parentElement.clientWidth,
        left = x > width / 2 ? x - box.offsetWidth - 14 : x + 14;
  box.style.left = Math.max(4, Math.min(left, width - box.offsetWidth - 4)) + 'px';
  box.style.top = Math.max(4, y - box.offsetHeight - 10) + 'px';
}

/** A figure that `draw(svg element, width)` fills, again when its width or a switch changes. */
function figureOf(caption, draw) {
  const picture = svg('svg', {role: 'img', 'aria-label': caption, tabindex: 0});
  const values = html('div', {class: 'values', role: 'status'});
  const head = html('figcaption', {}, caption), figure = html('figure', {}, head, picture, values);
  values.hidden = true;
  const again = () => {
    const width = picture.clientWidth || 400;
    picture.replaceChildren();
    values.hidden = true;
    draw(picture, width);
  };
  new ResizeObserver(again).observe(figure);
  drawings.push(again);
  return {figure, head, picture, values, again};
}

/** Where the picture of a figure is pointed at: x and y in the picture. */
function placeOf(event, picture) {
  const box = picture.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** The index of the value nearest to `x` in rising `xs`. */
function nearestIndex(xs, x) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  return x - xs[low] <= xs[high] - x ? low : high;
}

const height = 230, left = 58, right = 12, top_ = 8, bottom = 40;  // pixels of a chart

/** The least and the largest that are drawn; cuts off values far from most others. */
function drawnExtent(values, logarithmic) {
  if (!values.length) return extent(values);
  const sorted = [...values].sort((a, b) => a - b), [low, high] = [sorted[0], sorted.at(-1)];
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  const most = logarithmic ? middle * Math.max(1000, (middle / low) ** 4) :
                             middle + 20 * Math.abs(middle),
        least = middle - 5 * Math.abs(middle);
  if (middle === 0) return [low, high];
  return [
    logarithmic || low >= least ? low : least,
    high <= most ? high : Math.max(middle, sorted.findLast((value) => value <= most))
  ];
}

/** Ticks and places: of values in the picture, and back. */
function axesOf(lines, range, spec, width) {
  const [low, high] = range ?? extent(lines.flatMap((line) => line.points.map(([x]) => x)));
  const shown = lines.flatMap((line) => within(line.points, low, high).map(([, y]) => y));
  let [from, to] = spec.cuts ?
      drawnExtent(shown, spec.logarithmic && shown.every((y) => y > 1e-300)) :
      extent(shown);
  const cut = shown.some((y) => y < from || y > to);
  const logarithmic = spec.logarithmic && from > 1e-300 && to > 30 * from;
  if (spec.fromZero && !logarithmic && from > 0) from = 0;
  if (!isRange(from, to)) to = from + (Math.abs(from) * 0.1 || 1);
  const ticks = logarithmic ? logarithmicTicks(from, to) : roundTicks(from, to, 5);
  from = Math.min(from, ticks[0]), to = Math.max(to, ticks.at(-1));
  const of = logarithmic ? Math.log : (value) => value, span = high - low || 1;
  const wide = width - left - right, tall = height - top_ - bottom;
  return {
    low,
    high,
    cut,
    ticks,
    x: (value) => left + (high > low ? (value - low) / span : 0.5) * wide,
    y: (value) => top_ + (1 - (of(value) - of(from)) / (of(to) - of(from))) * tall,
    at: (pixel) => low + ((pixel - left) / wide) * span
  };
}

/** The points from `low` to `high`, and one more on either side. */
function within(points, low, high) {
  return points.filter(
      ([x], i) => (points[i + 1]?.[0] ?? x) >= low && (points[i - 1]?.[0] ?? x) <= high);
}

function drawAxes(picture, axes, label, width) {
  for (const tick of axes.ticks)
    picture.append(
        svg('path', {class: 'grid', d: `M${left} ${axes.y(tick)}H${width - right}`}),
        svg('text', {x: left - 7, y: axes.y(tick) + 4, 'text-anchor': 'end'},
            Math.abs(tick) >= 1e4 ? short(tick).replace(/\.0+(?=\D)/, '') : digits(tick, 6)));
  const margin = 1e-9 * (axes.high - axes.low),
        inside = (tick) => tick >= axes.low - margin && tick <= axes.high + margin;
  for (const tick of roundTicks(
           axes.low, axes.high, width / 90, label === 'epoch' || label === 'step')
           .filter(inside))
    picture.append(
        svg('text', {x: axes.x(tick), y: height - bottom + 18, 'text-anchor': 'middle'},
            digits(tick, 6)));
  picture.append(
      svg('path', {class: 'axis', d: `M${left} ${height - bottom}H${width - right}`}),
      svg('text', {x: width - right, y: height - 4, 'text-anchor': 'end'}, label));
}

/** Of more points than pixels, the least and the largest of each pixel. */
function pathOf(points, axes) {
  const thin = points.length > 2000, pixels = new Map();
  let path = '', after = null;
  const go = ([x, y, index]) => {
    path += (thin || index === after ? (path ? 'L' : 'M') : 'M') + axes.x(x).toFixed(1) + ' ' +
        axes.y(y).toFixed(1);
    after = index + 1;
  };
  if (!thin) {
    points.forEach(go);
    return path;
  }
  for (const point of points) {
    const pixel = Math.round(axes.x(point[0])), [low, high] = pixels.get(pixel) ?? [point, point];
    pixels.set(pixel, [point[1] < low[1] ? point : low, point[1] > high[1] ? point : high]);
  }
  for (const [low, high] of pixels.values()) go(low), go(high);
  return path;
}

function drawLine(picture, line, axes, clip) {
  const points = within(line.points, axes.low, axes.high), every = Math.ceil(points.length / 40);
  const mark = ([x, y], kind, r) =>
      svg('path', {class: kind, d: markPath(line.number, axes.x(x), axes.y(y), r)});
  const dots = points.length <= 40 || line.number >= 8 ?
      points.filter((_, i) => i % every === 0).map((point) => mark(point, 'dot', 2.6)) :
      [];
  if (line.best) dots.push(mark(line.best, 'ring', 6));
  picture.append(
      svg('g', {class: `series c${line.number % 8} of-${line.set}`, 'clip-path': `url(#${clip})`},
          svg('path', {class: 'line', d: pathOf(points, axes)}), ...dots));
}

/**
 * `series()` gives what is shown: {name, number, set, best, points of [x, y, number], by rising
 * x}.
 */
function chart(spec, series) {
  let zoom = null, axes = null, drag = null, lines = [], xs = [], at = -1;
  const it = figureOf(spec.title, draw), reset = html('button', {}, 'whole range');
  const label = () => (spec.axis ?? (spec.byEpoch ? 'epoch' : axisName(shown.by)));
  const zoomed = () => (zoom && zoom.label === label() ? zoom.range : null);

  function draw(picture, width) {
    lines = series().filter((line) => line.points.length);
    for (const line of lines) line.xs = line.points.map(([x]) => x);
    xs = [...new Set(lines.flatMap((line) => line.xs))].sort((a, b) => a - b);
    it.figure.hidden = !lines.length && !zoomed();
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    reset.remove();
    if (zoomed()) it.head.append(reset);
    if (!lines.length) return;
    axes = axesOf(lines, zoomed(), spec, width);
    picture.append(svg('clipPath', {id: spec.id}, svg('rect', {
                         x: left - 8,
                         y: 0,
                         width: Math.max(0, width - left - right + 16),
                         height: height - bottom + 4
                       })));
    drawAxes(picture, axes, label(), width);
    if (axes.cut)
      picture.append(svg('text', {x: left, y: height - 4, class: 'cut'}, 'far values are cut off'));
    [...lines]
        .sort((a, b) => (a.set === 'test') - (b.set === 'test'))
        .forEach((line) => drawLine(picture, line, axes, spec.id));  // important ones on top
    picture.append(
        svg('path', {class: 'cross'}),
        svg('rect', {class: 'zoom', y: top_, height: height - top_ - bottom, width: 0}));
  }

  /** The values at xs[at], those nearest to `y` first if they are many. */
  function show(y) {
    const x = xs[at], reach = 1e-9 + (axes.high - axes.low) / 50;
    it.picture.querySelector('.cross').setAttribute(
        'd', `M${axes.x(x)} ${top_}V${height - bottom}`);
    let found = lines.map((line) => [line, line.points[nearestIndex(line.xs, x)]])
                    .filter(([, point]) => Math.abs(point[0] - x) <= reach);
    if (found.length > mostValues)
      found = found.sort(([, a], [, b]) => Math.abs(axes.y(a[1]) - y) - Math.abs(axes.y(b[1]) - y));
    const rows = found.map(([line, point]) => [line.number, line.name, digits(point[1], 5)]);
    showValues(
        it.values, label() + ' ' + digits(x, 6), rows, it.picture.offsetLeft + axes.x(x),
        it.picture.getBoundingClientRect().top - it.figure.getBoundingClientRect().top + y);
  }
  function drawZoom(from, to) {
    const zone = it.picture.querySelector('.zoom');
    zone.setAttribute('x', Math.min(from, to));
    zone.setAttribute('width', Math.abs(to - from));
  }
  it.picture.onpointermove = (event) => {
    if (!lines.length) return;
    const [x, y] = placeOf(event, it.picture);
    at = nearestIndex(xs, axes.at(x));
    show(y);
    if (drag !== null) drawZoom(drag, x);
  };
  it.picture.onpointerdown = (event) => {
    if (event.pointerType === 'mouse' && event.button === 0 && lines.length) {
      drag = placeOf(event, it.picture)[0];
      if (event.isTrusted) it.picture.setPointerCapture(event.pointerId);
    }
    it.picture.onpointermove(event);
  };
  it.picture.onpointerup = (event) => {
    const [x] = placeOf(event, it.picture), from = drag;
    drag = null;
    if (from === null || Math.abs(x - from) <= 8) return;
    zoom = {range: [axes.at(Math.min(from, x)), axes.at(Math.max(from, x))], label: label()};
    it.again();
  };
  const leave = () => {
    drag = null;
    it.values.hidden = true;
    it.picture.querySelector('.cross')?.removeAttribute('d');
  };
  it.picture.onpointerleave = leave;
  it.picture.onblur = leave;
  it.picture.onkeydown = (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!by || !lines.length) return;
    event.preventDefault();
    at = Math.max(0, Math.min(xs.length - 1, at + by));
    show(height / 2);
  };
  reset.onclick = () => {
    zoom = null;
    it.again();
  };
  return it.figure;
}
