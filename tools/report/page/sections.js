// A section per kind of run. Each takes all runs of its kind and returns its elements.

const keys = (...list) => element('ul', { class: 'keys' },
  list.map(([name, text]) => element('li', {}, element('span', { class: 'key', style: `background:var(--${name})` }), text)));
const byKey = (list, key) => {
  const groups = new Map();
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
};
const fail = (text) => element('span', {}, element('span', { class: 'bad' }, 'FAIL'), ` ${text}`);
const percent = (v) => `${(100 * v).toFixed(0)} %`;
const openCharts = 12;  // what lies further down is drawn when it is opened

const benchColumns = (lines) => {
  const unit = timeUnit(lines.filter((l) => !l.fail).map((l) => l.median));
  const digits = decimals(lines.filter((l) => !l.fail).map((l) => l.median * unit.factor));
  const time = (key) => (l) => (known(l[key]) && !l.fail ? l[key] * unit.factor : null);
  return [
    { head: 'kernel', get: (l) => l.label, show: (v, l) => (l.chosen ? element('span', { class: 'chosen', title: 'what a call gets' }, v) : v) },
    { head: `median ${unit.text}`, digits, get: time('median') },
    { head: 'from', digits, note: 'lower end of the interval', get: time('low') },
    { head: 'to', digits, note: 'upper end of the interval', get: time('high') },
    { head: 'least', digits, note: 'fastest round', get: time('min') },
    { head: 'rounds', get: (l) => l.samples },
    { head: 'GFLOP/s', digits: 1, get: (l) => (l.flops > 0 && l.median ? l.flops / l.median / 1e9 : null) },
    { head: 'GB/s', digits: 1, get: (l) => (l.bytes > 0 && l.median ? l.bytes / l.median / 1e9 : null) },
    { head: 'of roof', note: 'share of the measured roof', get: (l) => l.roof, show: percent },
    { head: 'error', note: 'largest error over the largest expected value', get: (l) => l.error, show: (v) => (v === 0 ? '0' : v.toExponential(1)) },
    { head: 'beside the chosen', note: 'its time over that of the chosen kernel, with 99 % confidence', get: (l) => l.ratio,
      show: (v, l) => `${{ 1: 'faster', '-1': 'slower' }[l.verdict] ?? 'cannot tell'}, ${v.toFixed(2)} (${l.ratio_low?.toFixed(2)} to ${l.ratio_high?.toFixed(2)})` },
    { head: 'result', get: (l) => (l.fail ? 'FAIL' : null), show: (v) => element('span', { class: 'bad' }, v) },
  ];
};

function problem(run, title, lines, open) {
  const groups = [...byKey(lines, (l) => l.threads)].sort(([a], [b]) => a - b);
  const parts = groups.map(([threads, some]) => {
    const name = `${title}, ${plural(threads, 'thread')}`, sorted = [...some].sort((a, b) => (a.fail ? 1 : 0) - (b.fail ? 1 : 0) || a.median - b.median);
    return [groups.length > 1 ? element('h4', {}, plural(threads, 'thread')) : null, sorted.some((l) => !l.fail) ? barChart(name, sorted) : null,
      sorted.filter((l) => l.fail).map((l) => element('p', {}, element('code', {}, l.label), ' ', fail(l.fail))),
      table(`Times of ${name}`, benchColumns(sorted), sorted), again(some.find((l) => l.repro)?.repro)];
  });
  return whenOpened(element('details', open ? { open: '' } : {}, element('summary', {}, title), runLine(run), parts));
}

// One row for each problem and number of threads: what a call gets (or else the fastest of ours), and what is faster.
function problemsTable(run, problems) {
  const fastest = (lines) => lines.reduce((a, b) => (!a || b.median < a.median ? b : a), null);
  const rows = problems.flatMap(([title, lines]) => [...byKey(lines, (l) => l.threads)].map(([threads, some]) => {
    const timed = some.filter((l) => !l.fail), ours = timed.filter((l) => !l.peer);
    const peers = timed.filter((l) => l.peer && known(l.error));  // some only move the bytes
    return { title, threads, line: ours.find((l) => l.chosen) ?? fastest(ours), peer: fastest(peers), failed: some.filter((l) => l.fail).length,
      faster: fastest(ours.filter((l) => l.verdict === 1)) };
  }));
  return [element('h3', {}, 'All problems'), runLine(run), table('All problems', [
    { head: 'problem', get: (r) => r.title }, { head: 'threads', get: (r) => r.threads }, { head: 'kernel', get: (r) => r.line?.label },
    { head: 'median', get: (r) => r.line?.median, show: timeText },
    { head: 'of roof', note: 'share of the measured roof', get: (r) => r.line?.roof, show: percent },
    { head: 'fastest library', get: (r) => r.peer?.label },
    { head: 'its time over ours', note: 'above 1 ours is faster', digits: 2, get: (r) => (r.peer && r.line ? r.peer.median / r.line.median : null) },
    { head: 'faster beyond doubt', note: 'another kernel of ours', get: (r) => r.faster?.label, show: (v, r) => `${v}, ${r.faster.ratio.toFixed(2)} of its time` },
    { head: 'result', get: (r) => (r.failed ? `${r.failed} FAIL` : null), show: (v) => element('span', { class: 'bad' }, v) },
  ], rows)];
}

function benchSection(runs) {
  let open = openCharts;
  const parts = runs.flatMap((run) => {
    const problems = [...byKey(run.lines, (l) => [l.op, l.problem, l.dtype].filter(Boolean).join('  ') || run.file)];
    return [problems.length > 1 ? problemsTable(run, problems) : null,
      ...problems.map(([title, lines]) => problem(run, title, lines, (open -= byKey(lines, (l) => l.threads).size) >= 0))];
  });
  const lines = runs.flatMap((r) => r.lines);
  return [
    element('p', { class: 'soft' }, 'Medians of all rounds, fastest first. Lines over the bars are intervals: the median lies inside with 95 % ',
      'confidence, or, of fewer than six rounds, all rounds do. A kernel that broke its contract has no time.'),
    keys(...(lines.some((l) => l.chosen) ? [['chosen', 'what a call gets'], ['ours', 'other kernels']] : [['ours', 'kernels']]),
      ...(lines.some((l) => l.peer) ? [['peer', 'other libraries']] : [])),
    parts,
  ];
}

const cpuOf = (run) => run.conditions.find(([key]) => key === 'CPU')?.[1] ?? '';
// Of that many threads, or else of the next number that was measured, or else of the most.
function ofThreads(list, threads) {
  const measured = [...new Set(list.map((r) => r.threads))].sort((a, b) => a - b);
  const nearest = measured.find((n) => n >= threads) ?? measured[measured.length - 1];
  return list.filter((r) => r.threads === nearest);
}

// A point is a kernel with its operations, bytes and time; what a call gets has a number, or else the fastest of ours.
function pointsOf(lines) {
  const points = lines.map((l) => ({ ...l, x: l.flops / l.bytes, y: l.flops / l.median / 1e9, kernel: l.label, label: [l.op, l.problem, l.label].filter(Boolean).join(' ') }))
    .sort((a, b) => a.x - b.x);
  let number = 0;
  for (const same of byKey(points, (p) => [p.op, p.problem, p.file].join()).values()) {
    const ours = same.filter((p) => !p.peer);
    const best = ours.find((p) => p.chosen) ?? ours.reduce((a, b) => (!a || b.median < a.median ? b : a), null);
    if (best) best.number = ++number;
  }
  return points;
}

// Times of several files share a chart when CPU, dtype and threads are the same. The roofs are those of that CPU.
function rooflineSection(benches, roofs) {
  const lines = benches.flatMap((run) => run.lines.filter((l) => l.flops > 0 && l.bytes > 0 && l.median > 0 && !l.fail).map((l) => ({ ...l, run, file: run.file })));
  return [...byKey(lines, (l) => [cpuOf(l.run), l.dtype, l.threads].join('/')).values()].flatMap((some) => {
    const { run, dtype, threads } = some[0], name = `${dtype || 'all dtypes'}, ${plural(threads, 'thread')}`;
    const roof = cpuOf(run) ? roofs.find((r) => cpuOf(r).startsWith(cpuOf(run))) : null;
    const giga = (v) => v / 1e9, first = dtype.split(',')[0];
    const peaks = ofThreads(roof?.peaks ?? [], threads).filter((p) => p.dtype === (first === 'f64' ? 'f64' : 'f32'))
      .map((p) => ({ name: `${p.isa} ${giga(p.flops).toFixed(0)} GFLOP/s`, y: giga(p.flops) }));
    const slopes = ofThreads(roof?.bandwidths ?? [], threads).map((b) => ({ name: `${b.level} ${giga(b.bytes).toFixed(0)} GB/s`, y: giga(b.bytes) }));
    const points = pointsOf(some), numbered = points.filter((p) => p.number);
    return [
      element('h3', {}, name), [...new Set(some.map((l) => l.run))].map((r) => runLine(r, 'times')),
      roof ? runLine(roof, 'roofs') : element('p', { class: 'soft' }, 'No roofs of this CPU among the files.'),
      roofChart(`Roofline, ${name}`, peaks, slopes, points),
      table(`Points of the roofline, ${name}`, [
        { head: 'point', get: (p) => p.number }, { head: 'op', get: (p) => p.op }, { head: 'problem', get: (p) => p.problem }, { head: 'kernel', get: (p) => p.kernel },
        { head: 'FLOPs per byte', get: (p) => p.x, digits: 2 }, { head: 'GFLOP/s', get: (p) => p.y, digits: 1 },
        { head: 'GB/s', get: (p) => p.y / p.x, digits: 1 }, { head: 'of roof', get: (p) => p.roof, show: percent },
      ], numbered),
    ];
  });
}

function tuneSection(runs) {
  return runs.flatMap((run) => [...byKey(run.records, (r) => [r.op, r.problem, r.target, known(r.threads) ? plural(r.threads, 'thread') : null].filter(Boolean).join('  '))].map(
    ([title, records], i) => {
      const numbered = records.map((r, at) => ({ ...r, at: at + 1, label: [r.variant, r.schedule === 'own' ? null : r.schedule, r.picks].filter(Boolean).join(' ') }));
      const timed = numbered.filter((r) => !r.fail && known(r.median));
      const proved = timed.filter((r) => r.verdict === 'proved');  // only these may win
      const best = (proved.length ? proved : timed).reduce((a, b) => (!a || b.median < a.median ? b : a), null);
      const unit = timeUnit(timed.map((r) => r.median));
      const refused = numbered.length - timed.length;
      return whenOpened(element('details', i < openCharts ? { open: '' } : {}, element('summary', {}, title), runLine(run),
        best ? historyChart(`Tuning of ${title}`, timed, best) : null,
        element('p', { class: 'soft' }, best ? `${plural(timed.length, 'candidate')} timed, the line is the least time so far. The best${proved.length ? ' that is proved' : ''}: ${best.label}, ${timeText(best.median)}.` : '',
          refused ? ` ${plural(refused, 'candidate')} refused, without a time.` : ''),
        table(`Records of ${title}`, [
          { head: '#', get: (r) => r.at }, { head: 'variant', get: (r) => r.variant, show: (v, r) => (r === best ? element('span', { class: 'chosen' }, v) : v) },
          { head: 'schedule', get: (r) => r.schedule }, { head: 'picks', get: (r) => r.picks },
          { head: `median ${unit.text}`, get: (r) => (known(r.median) && !r.fail ? r.median * unit.factor : null) },
          { head: 'beside the default', note: 'its time over that of the kernel that a call gets, with 99 % confidence', get: (r) => (r.fail ? null : r.ratio),
            show: (v, r) => `${v.toFixed(3)} (${r.low?.toFixed(3)} to ${r.high?.toFixed(3)})` },
          { head: 'samples', get: (r) => r.samples },
          { head: 'verdict', get: (r) => r.fail ?? r.verdict, show: (v, r) => (r.fail ? fail(v) : v), long: true },
        ], numbered)));
    }));
}

function checkSection(runs) {
  return runs.flatMap((run) => {
    const part = (o, kind) => (o.checks ?? []).find((c) => c.check === kind);
    const kinds = [...new Set(run.ops.flatMap((o) => (o.checks ?? []).map((c) => c.check)))];
    const failed = run.ops.filter((o) => o.failed > 0);
    const sum = (key) => run.ops.reduce((n, o) => n + (o[key] ?? 0), 0);
    return [
      runLine(run),
      element('p', {}, `${plural(run.ops.length, 'op')}: ${plural(sum('passed'), 'check')} passed, `,
        element('span', { class: sum('failed') ? 'bad' : 'good' }, `${sum('failed')} failed`), `, ${sum('skipped')} skipped.`),
      failed.map((o) => [element('h3', {}, element('span', { class: 'bad' }, 'FAIL'), ` ${o.op}`),
        element('ul', {}, o.failures.map((f) => element('li', { class: 'failure' }, element('code', {}, f))))]),
      table('Checks by op', [
        { head: 'op', get: (o) => o.op }, { head: 'result', get: (o) => (o.failed ? 'FAIL' : 'ok'), show: (v) => element('span', { class: v === 'ok' ? 'good' : 'bad' }, v) },
        { head: 'passed', get: (o) => o.passed }, { head: 'failed', get: (o) => o.failed || null }, { head: 'skipped', get: (o) => o.skipped || null },
        ...kinds.map((kind) => ({ head: kind, get: (o) => part(o, kind)?.passed, show: (v, o) => [String(v), part(o, kind).failed ? [' ', element('span', { class: 'bad' }, `${part(o, kind).failed} FAIL`)] : null] })),
        { head: 'seconds', get: (o) => o.seconds, digits: 1 },
        { head: 'why skipped', get: (o) => (o.notes?.length ? o.notes.join('; ') : null), long: true },
      ], run.ops),
    ];
  });
}

function mutantsSection(runs) {
  const share = (v) => [`${(100 * v).toFixed(1)} %`, element('span', { class: 'share', 'aria-hidden': 'true' }, element('i', { style: `width:${100 * v}%` }))];
  return runs.flatMap((run) => {
    const of = (list, fate) => list.filter((m) => m.fate === fate), survivors = of(run.mutants, 'survived');
    const real = run.mutants.filter((m) => m.fate === 'caught' || m.fate === 'survived'), others = run.mutants.length - real.length;
    const checks = [...new Set(real.flatMap((m) => m.caught_by ?? []))];
    const faults = [...byKey(real, (m) => m.kind)].map(([kind, list]) => ({ kind, planted: list.length, caught: of(list, 'caught').length,
      by: Object.fromEntries(checks.map((c) => [c, list.filter((m) => m.caught_by?.includes(c)).length])) }));
    return [
      runLine(run),
      element('p', {}, `${real.length - survivors.length} of ${plural(real.length, 'planted fault')} caught, ${(100 * (1 - survivors.length / Math.max(1, real.length))).toFixed(1)} %.`,
        others ? ` ${others} more gave the same code or none.` : ''),
      table('Planted faults by kind', [
        { head: 'fault', get: (f) => f.kind }, { head: 'planted', get: (f) => f.planted }, { head: 'caught', get: (f) => f.caught },
        { head: 'share', get: (f) => f.caught / f.planted, show: share },
        ...checks.map((c) => ({ head: c, note: 'caught by these checks', get: (f) => f.by[c] })),
      ], faults),
      survivors.length ? [element('h3', {}, 'Not caught'), table('Faults that were not caught', [
        { head: 'op', get: (m) => m.op }, { head: 'variant', get: (m) => m.variant || null }, { head: 'fault', get: (m) => m.kind },
        { head: 'where', get: (m) => m.where, long: true }, { head: 'why', get: (m) => m.said || null, long: true },
      ], survivors)] : null,
    ];
  });
}

function dispatchSection(runs) {
  return runs.flatMap((run) => run.calls.map((call) => {
    const times = (v) => `${(v / call.best).toFixed(2)} x`;
    return [
      element('h3', {}, [call.op, call.problem].filter(Boolean).join('  ')), runLine(run),
      known(call.seconds) ? element('p', {}, `The call takes ${timeText(call.seconds)}, ${times(call.seconds)} its best kernel.`) : null,
      call.around.map((step) => element('p', { class: 'soft' }, step.text, known(step.seconds) ? `: ${timeText(step.seconds)}` : '')),
      table(`Kernels for ${call.op}`, [
        { head: 'kernel', get: (k) => k.kernel, show: (v, k) => (k.verdict === 'chosen' ? element('span', { class: 'chosen' }, v) : v) },
        { head: 'verdict', get: (k) => k.verdict }, { head: 'time', get: (k) => k.seconds, show: timeText },
        { head: 'price', note: 'its time over that of the best kernel', get: (k) => (known(k.seconds) && call.best ? k.seconds : null), show: times },
        { head: 'why', get: (k) => k.why, long: true },
      ], call.candidates),
    ];
  }));
}
