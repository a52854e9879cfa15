// Training: curves over steps, epochs, evaluations, and the parts of the steps' time.
const finite = (v) => known(v) && Number.isFinite(v);

// Returns at most `most` points, as means of neighbours, so that a chart draws fast.
function thinned(points, most = 1500) {
  const n = Math.ceil(points.length / most);
  if (n <= 1) return points;
  const groups = Array.from({ length: Math.ceil(points.length / n) }, (_, i) => points.slice(i * n, i * n + n));
  return groups.map((g) => ({ x: g[g.length - 1].x, y: g.reduce((sum, p) => sum + p.y, 0) / g.length }));
}

// Returns the exponential mean over about `span` points, corrected for its start at 0.
function smoothed(points, span) {
  const keep = 1 - 1 / span;
  let sum = 0, weight = 0;
  return points.map((p) => {
    sum = keep * sum + p.y, weight = keep * weight + 1;
    return { x: p.x, y: sum / weight };
  });
}

const numberText = (v) => (v === 0 ? '0' : Math.abs(v) >= 0.001 && Math.abs(v) < 1e5 ? String(Number(v.toPrecision(4))) : v.toExponential(2));

// series: [{name, points: [{x, y}], look}]; look: the options of its line.
function curveChart(title, unit, series, options = {}) {
  const all = series.flatMap((s) => s.points.map((p) => p.y));
  const least = Math.min(...all), most = Math.max(...all);
  const wide = options.log && least > 0 && most > 30 * least;
  const end = (s) => s.points[s.points.length - 1], last = Math.max(...series.map((s) => end(s).x));
  const words = series.map((s) => `${s.name} ends at ${numberText(end(s).y)}`).join('; ');
  return figure(`${title}. ${words}.`, options.height ?? 260, (c) => {
    const looks = {
      thin: { showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 1, borderColor: c.ours },
      line: { showLine: true, pointRadius: 0, pointHitRadius: 4, borderWidth: 2, borderColor: c.chosen },
      stepped: { showLine: true, stepped: 'before', pointRadius: 0, pointHitRadius: 4, borderWidth: 1.5, borderColor: c.chosen },
      limit: { showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 1, borderDash: [4, 4], borderColor: c.soft },
      marks: { showLine: true, pointRadius: 3, pointBorderWidth: 0, borderWidth: 1, borderColor: c.bad, pointBackgroundColor: c.bad },
      points: { showLine: true, pointRadius: 3, pointBorderWidth: 0, borderWidth: 1, borderColor: c.ink, pointBackgroundColor: c.ink },
    };
    return {
      type: 'scatter',
      data: { datasets: series.map((s, i) => ({ data: s.points, order: series.length - i, ...looks[s.look] })) },
      options: {
        ...plain,
        scales: {
          x: { max: last, title: { display: true, text: 'step' }, grid: { display: false }, ticks: { precision: 0, maxRotation: 0, maxTicksLimit: 9 } },
          y: wide ? logAxis(unit, undefined, undefined, c)
            : { beginAtZero: options.zero ?? false, title: { display: Boolean(unit), text: unit }, grid: { drawBorder: false }, ticks: { maxTicksLimit: 6 } },
        },
        plugins: { ...plain.plugins, tooltip: tooltip(c, (item) => `${series[item.datasetIndex].name}, step ${item.parsed.x}: ${numberText(item.parsed.y)}`) },
      },
    };
  });
}

// The legend of the lines' colours.
function lineKeys(...keys) {
  const key = (colour) => element('span', { class: 'key', style: `background:var(--${colour})` });
  return element('ul', { class: 'keys' }, keys.map(([colour, text]) => element('li', {}, key(colour), text)));
}

// Returns the quantile `share` of a histogram [[from, count], ...] in rising order.
function percentile(bins, share) {
  const total = bins.reduce((n, [, count]) => n + count, 0);
  let below = 0;
  for (const [from, count] of bins) if ((below += count) >= share * total) return from;
  return bins[bins.length - 1][0];
}

// Returns bars of equal width on a logarithmic axis, at most forty.
function timesChart(title, bins) {
  const unit = timeUnit([percentile(bins, 0.5)]);
  const low = Math.log(bins[0][0]), high = Math.log(bins[bins.length - 1][0]) + 1e-9, n = Math.min(40, bins.length);
  const counts = Array(n).fill(0), place = (from) => Math.min(n - 1, Math.floor(n * (Math.log(from) - low) / (high - low)));
  for (const [from, count] of bins) counts[place(from)] += count;
  const edge = (i) => numberText(Number((Math.exp(low + (high - low) * i / n) * unit.factor).toPrecision(3)));
  return figure(`${title}. How many steps took how long; the median is ${timeText(percentile(bins, 0.5))}.`, 220, (c) => ({
    type: 'bar',
    data: { labels: counts.map((_, i) => edge(i)), datasets: [{ data: counts, backgroundColor: c.ours, categoryPercentage: 1, barPercentage: 0.92 }] },
    options: {
      ...plain,
      scales: {
        x: { title: { display: true, text: unit.text }, grid: { display: false }, ticks: { maxRotation: 0, maxTicksLimit: 8 } },
        y: { beginAtZero: true, title: { display: true, text: 'steps' }, grid: { drawBorder: false }, ticks: { precision: 0, maxTicksLimit: 5 } },
      },
      plugins: { ...plain.plugins, tooltip: tooltip(c, (item) => `${item.parsed.y} steps, ${edge(item.dataIndex)} to ${edge(item.dataIndex + 1)} ${unit.text}`) },
    },
  }));
}

function trained(run) {
  const { step, ...columns } = run.steps, unit = run.unit || 'samples';
  const points = (values) => step.flatMap((x, i) => (finite(values[i]) ? [{ x, y: values[i] }] : []));
  const all = points(columns.loss), lost = step.length - all.length;
  const span = Math.max(2, Math.min(200, Math.round(all.length / 60)));
  const epochs = run.ended.filter((e) => finite(e.loss)).map((e) => ({ x: e.step, y: e.loss }));
  const chart = (name, unit, series, options) => (series.every((s) => s.points.length) ? curveChart(`${run.title}: ${name}`, unit, series, options) : null);
  const merged = run.stride > 1 ? `Each point is the mean of ${run.stride} steps. ` : '';
  const losses = [{ name: 'loss', points: thinned(all), look: 'thin' }, { name: 'smoothed', points: thinned(smoothed(all, span)), look: 'line' }];
  // fit() has the loss as eval_loss, and a metric loss is the same number: one is enough.
  const twice = run.evaluations.every((e) => e.results.eval_loss === e.results.loss);
  const names = [...new Set(run.evaluations.flatMap((e) => Object.keys(e.results)))].filter((name) => name !== 'loss' || !twice);
  const metric = (name) => run.evaluations.filter((e) => finite(e.results[name])).map((e) => ({ x: e.step, y: e.results[name] }));
  const tested = metric('eval_loss').length ? metric('eval_loss') : metric('loss');
  const means = [[epochs, 'ink', 'means of epochs', 'points'], [tested, 'bad', 'evaluations', 'marks']].filter(([list]) => list.length);
  const rates = points(columns.samples.map((n, i) => (columns.seconds[i] > 0 ? n / columns.seconds[i] : null)));
  const queue = points(columns.queue), waits = columns.wait.reduce((a, b) => a + b, 0), spent = columns.seconds.reduce((a, b) => a + b, 0);
  const times = run.step_times, steps = times.reduce((n, [, count]) => n + count, 0);
  const starved = queue.filter((p) => p.y < 0.5).length;
  return [
    element('h3', {}, run.title),
    runLine(run),
    element('p', {}, `${plural(steps, 'step')}, ${run.ended.length} of ${plural(run.epochs, 'epoch')}. ${merged}`,
      lost ? marked('bad', `${plural(lost, 'loss', 'losses')} not finite.`) : ''),
    all.length ? [
      element('h4', {}, 'Loss'),
      lineKeys(['ours', 'steps'], ['chosen', `smoothed over about ${plural(span * run.stride, 'step')}`], ...means.map(([, colour, name]) => [colour, name])),
      chart('loss', '', [...losses, ...means.map(([list, , name, look]) => ({ name, points: thinned(list, 200), look }))], { log: true, height: 320 }),
    ] : null,
    element('h4', {}, 'Learning rate'),
    chart('learning rate', '', [{ name: 'learning rate', points: thinned(points(columns.learning_rate)), look: 'stepped' }], { zero: true, height: 180 }),
    names.filter((name) => !['loss', 'eval_loss'].includes(name) && metric(name).length > 1).map((name) => [
      element('h4', {}, `Evaluation: ${name}`),
      chart(name, '', [{ name, points: metric(name), look: 'points' }], { height: 200 }),
    ]),
    times.length ? [
      element('h4', {}, 'Time of a step'),
      timesChart(`${run.title}: times of steps`, times),
      table(`Times of steps of ${run.title}`, [
        { head: 'steps', get: () => steps },
        ...[['median', 0.5], ['90 %', 0.9], ['99 %', 0.99], ['longest', 1]].map(([head, share]) => ({ head, get: () => percentile(times, share), show: timeText })),
        { head: 'waiting for data', note: 'of the time of all steps', get: () => (spent > 0 ? waits / spent : null), show: (v) => `${(100 * v).toFixed(1)} %` },
        { head: 'queue empty', note: 'share of steps that found no batch ready', get: () => (queue.length && run.stride === 1 ? starved / queue.length : null), show: percent },
      ], [{}]),
    ] : null,
    run.queue_capacity ? [
      element('h4', {}, 'Data queue'),
      element('p', { class: 'soft' }, `Batches that were ready when a step asked for one; there may be ${run.queue_capacity}.`),
      chart('data queue', 'batches', [
        { name: 'ready', points: thinned(queue), look: 'line' },
        { name: 'capacity', points: [queue[0], queue[queue.length - 1]].filter(Boolean).map((p) => ({ x: p.x, y: run.queue_capacity })), look: 'limit' },
      ], { zero: true, height: 180 }),
    ] : null,
    element('h4', {}, `${unit[0].toUpperCase()}${unit.slice(1)} per second`),
    chart(`${unit} per second`, '', [
      { name: `${unit} per second`, points: thinned(rates), look: 'thin' },
      { name: 'smoothed', points: thinned(smoothed(rates, span)), look: 'line' },
    ], { zero: true, height: 200 }),
    run.ended.length ? element('details', run.ended.length > 60 ? {} : { open: '' }, element('summary', {}, 'Epochs'),
      table(`Epochs of ${run.title}`, [
        { head: 'epoch', get: (e) => e.epoch },
        { head: 'step', get: (e) => e.step },
        { head: 'mean loss', get: (e) => e.loss, show: numberText },
        { head: 'learning rate', note: 'of its last step', get: (e) => e.learning_rate, show: numberText },
        { head: 'time', note: 'of its steps', get: (e) => e.seconds, show: timeText },
        { head: `${unit}/s`, digits: 0, get: (e) => (e.seconds > 0 ? e.samples / e.seconds : null) },
        { head: 'waiting for data', get: (e) => (e.seconds > 0 ? e.wait / e.seconds : null), show: (v) => `${(100 * v).toFixed(1)} %` },
      ], run.ended)) : null,
    run.evaluations.length ? [
      element('h4', {}, 'Evaluations'),
      table(`Evaluations of ${run.title}`, [
        { head: 'epoch', get: (e) => e.epoch },
        { head: 'step', get: (e) => e.step },
        ...names.map((name) => ({ head: name, get: (e) => e.results[name], show: numberText })),
      ], run.evaluations),
    ] : null,
  ];
}

const trainSection = (runs) => runs.map(trained);
