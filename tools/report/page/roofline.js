// Roofline: measured kernels under the roofs of their machine.

const giga = (v) => v / 1e9;

// Returns the roofs for that many threads, else for the next larger measured number, else for the largest.
function ofThreads(list, threads) {
  const measured = [...new Set(list.map((r) => r.threads))].sort((a, b) => a - b);
  const nearest = measured.find((n) => n >= threads) ?? measured[measured.length - 1];
  return list.filter((r) => r.threads === nearest);
}

// A point is a kernel with its operations, bytes and time. The dispatched kernel has a number, or else the fastest of ours.
function pointsOf(lines) {
  const point = (l) => ({ ...l, x: l.flops / l.bytes, y: giga(l.flops / l.median), kernel: l.label, label: titled(l.op, l.problem, l.label) });
  const points = lines.map(point).sort((a, b) => a.x - b.x);
  let number = 0;
  for (const same of byKey(points, (p) => [p.op, p.problem, p.run.file].join()).values()) {
    const ours = same.filter((p) => !p.peer);
    const shown = ours.find((p) => p.chosen) ?? fastest(ours);
    if (shown) shown.number = ++number;
  }
  return points;
}

// Returns a chart of the times of one CPU, dtype and number of threads.
function roofline(lines, roofs) {
  const { run, dtype, threads } = lines[0], cpu = conditionOf(run, 'CPU');
  const name = `${dtype || 'all dtypes'}, ${plural(threads, 'thread')}`;
  const roof = cpu ? roofs.find((r) => conditionOf(r, 'CPU').startsWith(cpu)) : null;
  const arithmetic = dtype.startsWith('f64') ? 'f64' : 'f32';  // narrower ones compute in f32
  const peaks = ofThreads(roof?.peaks ?? [], threads).filter((p) => p.dtype === arithmetic);
  const levels = ofThreads(roof?.bandwidths ?? [], threads);
  const points = pointsOf(lines);
  return [
    element('h3', {}, name),
    [...new Set(lines.map((l) => l.run))].map((r) => runLine(r, 'times')),
    roof ? runLine(roof, 'roofs') : element('p', { class: 'soft' }, 'No roofs of this CPU among the files.'),
    roofChart(`Roofline, ${name}`,
      peaks.map((p) => ({ name: `${p.isa} ${giga(p.flops).toFixed(0)} GFLOP/s`, y: giga(p.flops) })),
      levels.map((l) => ({ name: `${l.level} ${giga(l.bytes).toFixed(0)} GB/s`, y: giga(l.bytes) })),
      points),
    table(`Points of the roofline, ${name}`, [
      { head: 'point', get: (p) => p.number },
      { head: 'op', get: (p) => p.op },
      { head: 'problem', get: (p) => p.problem },
      { head: 'kernel', get: (p) => p.kernel },
      { head: 'FLOPs per byte', get: (p) => p.x, digits: 2 },
      { head: 'GFLOP/s', get: (p) => p.y, digits: 1 },
      { head: 'GB/s', get: (p) => p.y / p.x, digits: 1 },
      { head: 'of roof', get: (p) => p.roof_share, show: percent },
    ], points.filter((p) => p.number)),
  ];
}

// Times of several files share a chart. The roofs are those of the same CPU.
function rooflineSection(benches, roofs) {
  const usable = (l) => !l.fail && computes(l) && l.flops > 0 && l.bytes > 0 && l.median > 0;
  const lines = benches.flatMap((run) => run.lines.filter(usable).map((l) => ({ ...l, run })));
  const charts = byKey(lines, (l) => [conditionOf(l.run, 'CPU'), l.dtype, l.threads].join('/'));
  return [...charts.values()].flatMap((some) => roofline(some, roofs));
}
