// Who computes, waits and sends on a simulated cluster: a bar says whether a rank computes or
// waits, a strip under it whether its messages leave the card. Dark, hatched and thin, they differ
// without colours, too.

function lanes(run) {
  const {lanes, from, to, ranks, sends} = run.timeline, span = to - from, few = lanes.length <= 12,
                                 edge = 66, top = 10;
  const bar = few ? 15 : 10, strip = few ? 5 : 4, pitch = few ? 29 : 19, tops = [];
  const [unit, seconds] = span >= 2 ? ['seconds', 1] :
      span >= 2e-3                  ? ['milliseconds', 1e-3] :
                                      ['microseconds', 1e-6];
  const end = lanes.reduce((y, lane, i) => {
    tops.push(y + (i > 0 && lane.group !== lanes[i - 1].group ? 7 : 0));
    return tops[i] + pitch;
  }, top);
  const names = ['computing', 'waiting', 'sending'].filter((name) => sends || name !== 'sending');
  let at = null;
  const drawn = lanes.length < ranks ? `${lanes.length} of ${count(ranks)} ranks` :
      lanes.length === 1 ? '1 rank' :
                           `all ${lanes.length} ranks`;
  const it = figureOf(run.name + ': ' + drawn, (picture, width) => {
    at = (value) => edge + (value / span) * (width - edge - right);
    picture.setAttribute('viewBox', `0 0 ${width} ${end + 40}`);
    for (const tick of roundTicks(0, span / seconds, width / 100)
             .filter((one) => one * seconds <= span))
      picture.append(
          svg('path', {class: 'grid', d: `M${at(tick * seconds)} ${top - 6}V${end}`}),
          svg('text', {x: at(tick * seconds), y: end + 17, 'text-anchor': 'middle'},
              digits(tick, 6)));
    picture.append(
        svg('text', {x: width - right, y: end + 36, 'text-anchor': 'end'},
            `${unit} after ${digits(from, 4)} s of the run`));
    lanes.forEach((lane, i) => drawLane(picture, lane, tops[i]));
  });
  function drawLane(picture, lane, y) {
    picture.append(
        svg('text', {x: edge - 8, y: y + bar / 2 + 4.5, 'text-anchor': 'end'},
            'rank ' + count(lane.rank)));
    for (const name of ['waiting', 'computing', 'sending']) {
      const sending = name === 'sending';
      let path = '';
      for (let i = 0; i + 1 < lane[name].length; i += 2) {
        const begin = at(Math.max(0, lane[name][i])), stop = at(Math.min(span, lane[name][i + 1]));
        if (stop > begin)
          path += `M${begin.toFixed(1)} ${sending ? y + bar + 1 : y}H${stop.toFixed(1)}v${
              sending ? strip : bar}H${begin.toFixed(1)}z`;
      }
      if (path) picture.append(svg('path', {class: name, d: path}));
    }
    const steps = lane.steps.filter((step) => step >= 0 && step <= span)
                      .map((step) => `M${at(step).toFixed(1)} ${y - 2.5}v${bar + 4}`);
    picture.append(svg('path', {class: 'step', d: steps.join('')}));
  }
  it.picture.onpointermove = (event) => {
    const [x, y] = placeOf(event, it.picture), width = it.picture.clientWidth;
    const lane = lanes[tops.findLastIndex((one) => one <= y)] ?? lanes[0],
          now = ((x - edge) / (width - edge - right)) * span;
    const does = names.filter(
        (name) =>
            lane[name].some((begin, i) => i % 2 === 0 && begin <= now && now < lane[name][i + 1]));
    showValues(
        it.values,
        `rank ${count(lane.rank)} after ${digits(from + now, 6)} s: ${does.join(', ') || 'idle'}`,
        names.map((name) => [null, name + ', of the whole run', percent(lane.fractions[name])]), x,
        it.picture.getBoundingClientRect().top - it.figure.getBoundingClientRect().top + y);
  };
  it.picture.onpointerleave = () => {
    it.values.hidden = true;
  };
  return it.figure;
}

function key(name, d) {
  return html(
      'span', {}, svg('svg', {width: 26, height: 10}, svg('path', {class: name, d})),
      ' ' + (name === 'step' ? 'end of a step' : name));
}

function timelines() {
  const simulated = runs.filter((run) => run.timeline);
  if (!simulated.length) return;
  const sends = simulated.some((run) => run.timeline.sends),
        drawn =
            simulated.filter(({timeline}) => timeline.to > timeline.from && timeline.lanes.length);
  heading('Who computes, waits and sends');
  note(
      'A few steps of the simulated cluster, a lane for each rank. The table has fractions of the whole run\'s time, over all ranks.');
  add(
      svg('svg', {width: 0, height: 0, style: 'position: absolute'},
          svg('pattern', {
            id: 'hatching',
            width: 5,
            height: 5,
            patternUnits: 'userSpaceOnUse',
            patternTransform: 'rotate(45)'
          },
              svg('path', {d: 'M0 0H5V5H0z'}), svg('path', {class: 'stripe', d: 'M1 0V5'}))));
  if (drawn.length)
    add(html(
            'p', {class: 'key'}, key('computing', 'M2 0H24V10H2z'), key('waiting', 'M2 0H24V10H2z'),
            sends ? key('sending', 'M2 5H24V10H2z') : null, key('step', 'M13 0V10')),
        ...drawn.map(lanes));
  const rows = simulated.flatMap(
      (run) => ['computing', 'waiting', 'sending']
                   .filter((name) => run.timeline.sends || name !== 'sending')
                   .map((name) => ({run, name, of: run.timeline.fractions[name]})));
  const spread = (of, which) => `${percent(of[which])} (rank ${count(of[which + '_rank'])})`;
  table(
      [
        runColumn, text('', (row) => row.name),
        number('minimum', (row) => spread(row.of, 'minimum')),
        number('median', (row) => percent(row.of.median)),
        number('maximum', (row) => spread(row.of, 'maximum'))
      ].map((column, i) => (i ? column : text('run', (row) => runColumn.cell(row.run)))),
      rows);
}
