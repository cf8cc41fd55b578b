// Numbers for people, round ticks, and elements of the page.

const finite = (value) => (Number.isFinite(value) ? value : null);
/** Numbers beyond it would overflow in the axes. */
const isDrawable = (value) => Math.abs(value) < 1e300 && finite(value) !== null;
const digits = (value, most) =>
    (finite(value) === null ? '-' : String(Number(value.toPrecision(most))));
const count = (value) => (finite(value) === null ? '-' : Math.round(value).toLocaleString('en-US'));
const percent = (value) => (finite(value) === null ? '-' : (100 * value).toFixed(1) + ' %');

/** Three digits of a number divided by 1000 as often as there are units. */
function scaled(value, units, between) {
  if (finite(value) === null) return '-';
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) value /= 1000, ++unit;
  const size = Math.abs(value), whole = unit === 0 && value === Math.floor(value);
  return value.toFixed(whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + between + units[unit];
}
const short = (value) => scaled(value, ['', 'k', 'M', 'G', 'T', 'P'], '');
const bytes = (value) => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'], ' ');

function metric(value) {
  if (finite(value) === null) return '-';
  const size = Math.abs(value);
  return size === 0 || (size >= 0.001 && size < 1e5) ? value.toFixed(4) : value.toExponential(2);
}

function duration(seconds) {
  if (!(seconds >= 0) || seconds === Infinity) return '?';
  if (seconds < 9.995) return seconds.toFixed(2) + ' s';
  const whole = Math.round(seconds), two = (n) => String(n % 60).padStart(2, '0');
  if (whole < 60) return whole + ' s';
  if (whole < 3600) return Math.floor(whole / 60) + ':' + two(whole);
  return Math.floor(whole / 3600) + ':' + two(Math.floor(whole / 60)) + ':' + two(whole);
}

/** The least and the largest; of any number of values, unlike Math.min(...values). */
const extent = (values) => values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** Whether the two differ by more than rounding. */
const isRange = (low, high) => high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high));

/** Round numbers (1, 2, 5 times a power of ten) from `low` to `high`, at most `most` + 2. */
function roundTicks(low, high, most, whole) {
  if (!isRange(low, high)) return [low];
  const rough = Math.max((high - low) / most, 1e-300), power = 10 ** Math.floor(Math.log10(rough));
  let step = power * ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10);
  if (whole) step = Math.max(1, step);
  const ticks = [], last = Math.ceil(high / step - 1e-9);
  for (let i = Math.floor(low / step + 1e-9); i <= last; ++i)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** The same for a logarithmic axis: powers of ten, with 2 and 5 between where there are few. */
function logarithmicTicks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)),
        every = Math.max(1, Math.round((last - first) / 6));
  const ticks = [];
  for (let power = first; power <= last; ++power)
    for (const factor of high / low < 300 ? [1, 2, 5] : [1])
      if (factor > 1 || (power - first) % every === 0)
        ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  const from = ticks.findLastIndex((tick) => tick <= low),
        to = ticks.findIndex((tick) => tick >= high);
  return ticks.slice(Math.max(from, 0), to < 0 ? undefined : to + 1);
}

// Elements.

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const html = (tag, attributes = {}, ...children) =>
    make(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
    make(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
const main = document.querySelector('main');
const add = (...elements) => main.append(...elements);
/** A name that may be broken between its words. */
const broken = (name) =>
    name.split(/(?<=[/_.-])(?=[^/_.-])/).flatMap((word, i) => (i ? [html('wbr'), word] : [word]));
const heading = (text) => add(html('h2', {}, text));
const note = (text) => add(html('p', {class: 'note'}, text));
/** A mark in the colour and shape of a run's lines. */
const swatch = (number) =>
    svg('svg', {class: 'swatch c' + (number % 8), viewBox: '-6 -6 12 12'},
        svg('path', {class: 'dot', d: markPath(number, 0, 0, 5)}));
/** Run `number`'s mark: eight colours of a circle, then of a square, a triangle, a diamond. */
function markPath(number, x, y, r) {
  const at = (dx, dy) => (x + dx * r).toFixed(1) + ' ' + (y + dy * r).toFixed(1);
  return [
    `M${at(-1, 0)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${- 2 * r} 0Z`,
    `M${at(-0.9, -0.9)}h${1.8 * r}v${1.8 * r}h${- 1.8 * r}Z`,
    `M${at(0, -1.1)}L${at(1.1, 0.9)}L${at(-1.1, 0.9)}Z`,
    `M${at(0, -1.3)}L${at(1.3, 0)}L${at(0, 1.3)}L${at(-1.3, 0)}Z`
  ][Math.floor(number / 8) % 4];
}

/** A column is {title, cell(row): text or element, number}; the first is the row's heading. */
function table(columns, rows) {
  const cell = (tag, column, content) =>
      html(tag, column.number ? {class: 'number'} : {}, ...[content].flat());
  add(html(
      'div', {class: 'wide'},
      html(
          'table', {},
          html(
              'thead', {},
              html('tr', {}, ...columns.map((column) => cell('th', column, column.title)))),
          html(
              'tbody', {},
              ...rows.map(
                  (row) => html(
                      'tr', {},
                      ...columns.map(
                          (column, i) => cell(i ? 'td' : 'th', column, column.cell(row)))))))));
}
const text = (title, cell) => ({title, cell});
const number = (title, cell) => ({title, cell, number: true});
