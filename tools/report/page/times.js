// Times: a chart and a table for each problem and number of threads, and all problems at a glance.
const openCharts = 12;  // charts further down are drawn when they are opened

const verdicts = { '1': 'faster,', '0': 'cannot tell,', '-1': 'slower,' };
const rate = (amount, l) => (amount > 0 && l.median ? amount / l.median / 1e9 : null);

function benchColumns(lines) {
  const medians = lines.filter((l) => !l.fail).map((l) => l.median);
  const unit = timeUnit(medians), digits = decimals(medians.map((s) => s * unit.factor));
  const time = (key) => (l) => (known(l[key]) && !l.fail ? l[key] * unit.factor : null);
  return [
    { head: 'kernel', get: (l) => l.label, show: (v, l) => (l.chosen ? marked('chosen', v) : v) },
    { head: `median ${unit.text}`, digits, get: time('median') },
    { head: 'from', digits, note: 'lower end of the interval', get: time('low') },
    { head: 'to', digits, note: 'upper end of the interval', get: time('high') },
    { head: 'least', digits, note: 'fastest round', get: time('min') },
    { head: 'rounds', get: (l) => l.samples },
    { head: 'GFLOP/s', digits: 1, get: (l) => (computes(l) ? rate(l.flops, l) : null) },
    { head: 'GB/s', digits: 1, get: (l) => rate(l.bytes, l) },
    { head: 'of roof', note: 'share of the measured roof, of the fastest round', get: (l) => l.roof_share, show: percent },
    {
      head: 'error',
      note: 'largest error over the largest expected value',
      get: (l) => l.error,
      show: (v) => (v === 0 ? '0' : v.toExponential(1)),
    },
    {
      head: 'beside the chosen',
      note: 'its time over that of the chosen kernel, with 99 % confidence',
      get: (l) => l.ratio,
      show: (v, l) => `${verdicts[l.verdict] ?? ''} ${ratioText(v, l.ratio_low, l.ratio_high)}`,
    },
    { head: 'result', get: (l) => (l.fail ? 'FAIL' : null), show: (v) => marked('bad', v) },
  ];
}

function problem(run, title, lines, open) {
  const groups = [...byKey(lines, (l) => l.threads)].sort(([a], [b]) => a - b);
  const parts = groups.map(([threads, some]) => {
    const name = `${title}, ${plural(threads, 'thread')}`;
    const failed = some.filter((l) => l.fail), timed = some.filter((l) => !l.fail).sort((a, b) => a.median - b.median);
    const sorted = [...timed, ...failed];
    return [
      groups.length > 1 ? element('h4', {}, plural(threads, 'thread')) : null,
      timed.length ? barChart(name, sorted) : null,
      failed.map((l) => element('p', {}, element('code', {}, l.label), ' ', fail(l.fail))),
      table(`Times of ${name}`, benchColumns(sorted), sorted),
      repeatLine(some.find((l) => l.repro)?.repro),
    ];
  });
  return whenOpened(element('details', open ? { open: '' } : {}, element('summary', {}, title), runLine(run), parts));
}

// One row for each problem and number of threads: the dispatched kernel (or else the fastest of ours), and faster ones.
function problemsTable(run, problems) {
  const row = (title, threads, lines) => {
    const timed = lines.filter((l) => !l.fail), ours = timed.filter((l) => !l.peer);
    return {
      title, threads,
      line: ours.find((l) => l.chosen) ?? fastest(ours),
      peer: fastest(timed.filter((l) => l.peer && computes(l))),
      faster: fastest(ours.filter((l) => l.verdict === 1)),
      failed: lines.length - timed.length,
    };
  };
  const rows = problems.flatMap(([title, lines]) => [...byKey(lines, (l) => l.threads)].map(([threads, some]) => row(title, threads, some)));
  return [element('h3', {}, 'All problems'), runLine(run), table('All problems', [
    { head: 'problem', get: (r) => r.title },
    { head: 'threads', get: (r) => r.threads },
    { head: 'kernel', get: (r) => r.line?.label },
    { head: 'median', get: (r) => r.line?.median, show: timeText },
    { head: 'of roof', note: 'share of the measured roof, of the fastest round', get: (r) => r.line?.roof_share, show: percent },
    { head: 'fastest library', get: (r) => r.peer?.label },
    {
      head: 'its time over ours',
      note: 'above 1 ours is faster',
      digits: 2,
      get: (r) => (r.peer && r.line ? r.peer.median / r.line.median : null),
    },
    {
      head: 'faster beyond doubt',
      note: 'another kernel of ours',
      get: (r) => r.faster?.label,
      show: (v, r) => `${v}, ${r.faster.ratio.toFixed(2)} of its time`,
    },
    { head: 'result', get: (r) => (r.failed ? `${r.failed} FAIL` : null), show: (v) => marked('bad', v) },
  ], rows)];
}

// The legend of the bars' colours.
function keysOf(lines) {
  const keys = lines.some((l) => l.chosen) ? [['chosen', 'what a call gets'], ['ours', 'other kernels']] : [['ours', 'kernels']];
  if (lines.some((l) => l.peer)) keys.push(['peer', 'other libraries']);
  const key = (colour) => element('span', { class: 'key', style: `background:var(--${colour})` });
  return element('ul', { class: 'keys' }, keys.map(([colour, text]) => element('li', {}, key(colour), text)));
}

function benchSection(runs) {
  let open = openCharts;
  return [
    element('p', { class: 'soft' },
      'Medians of all rounds, fastest first. Lines over the bars are intervals: the median lies inside with 95 % confidence, or, of fewer ',
      'than six rounds, all rounds do. A kernel that broke its contract has no time.'),
    keysOf(runs.flatMap((r) => r.lines)),
    runs.map((run) => {
      const problems = [...byKey(run.lines, (l) => titled(l.op, l.problem, l.dtype) || run.file)];
      const parts = problems.map(([title, lines]) => problem(run, title, lines, (open -= byKey(lines, (l) => l.threads).size) >= 0));
      return [problems.length > 1 ? problemsTable(run, problems) : null, parts];
    }),
  ];
}
