// Checks, and the share of planted faults that they find.

// Returns the columns of the checks that ran for any of the ops.
function kindColumns(ops) {
  const part = (op, kind) => op.checks.find((c) => c.check === kind);
  return [...new Set(ops.flatMap((o) => o.checks.map((c) => c.check)))].map((kind) => ({
    head: kind,
    get: (o) => part(o, kind)?.passed,
    show: (v, o) => [String(v), part(o, kind).failed ? [' ', marked('bad', `${part(o, kind).failed} FAIL`)] : null],
  }));
}

function checkSection(runs) {
  return runs.flatMap((run) => {
    const sum = (key) => run.ops.reduce((n, o) => n + o[key], 0);
    const failures = (o) => [
      element('h3', {}, marked('bad', 'FAIL'), ` ${o.op}`),
      element('ul', {}, o.failures.map((f) => element('li', { class: 'failure' }, element('code', {}, f)))),
    ];
    return [
      runLine(run),
      element('p', {},
        `${plural(run.ops.length, 'op')}: ${plural(sum('passed'), 'check')} passed, `,
        marked(sum('failed') ? 'bad' : 'good', `${sum('failed')} failed`),
        `, ${sum('skipped')} skipped.`),
      run.ops.filter((o) => o.failed > 0).map(failures),
      table('Checks by op', [
        { head: 'op', get: (o) => o.op },
        { head: 'result', get: (o) => (o.failed ? 'FAIL' : 'ok'), show: (v) => marked(v === 'ok' ? 'good' : 'bad', v) },
        { head: 'passed', get: (o) => o.passed },
        { head: 'failed', get: (o) => o.failed || null },
        { head: 'skipped', get: (o) => o.skipped || null },
        ...kindColumns(run.ops),
        { head: 'seconds', get: (o) => o.seconds, digits: 1 },
        { head: 'why skipped', get: (o) => (o.notes.length ? o.notes.join('; ') : null), long: true },
      ], run.ops),
    ];
  });
}

const bar = (share) => element('span', { class: 'share', 'aria-hidden': 'true' }, element('i', { style: `width:${100 * share}%` }));

function mutantsSection(runs) {
  return runs.flatMap((run) => {
    const of = (list, fate) => list.filter((m) => m.fate === fate);
    const survivors = of(run.mutants, 'survived'), caught = of(run.mutants, 'caught');
    const real = survivors.length + caught.length;  // the others are no faults: the same code, rejected by the compiler, or equivalent
    const checks = [...new Set(caught.flatMap((m) => m.caught_by))];
    const kinds = [...byKey([...caught, ...survivors], (m) => m.kind)].map(([kind, list]) => ({ kind, list, caught: of(list, 'caught').length }));
    return [
      runLine(run),
      element('p', {},
        `${caught.length} of ${plural(real, 'planted fault')} caught, ${(100 * caught.length / Math.max(1, real)).toFixed(1)} %.`,
        real < run.mutants.length ? ` ${run.mutants.length - real} more are no faults: the same code, refused by the compiler, or known to be equivalent.` : ''),
      table('Planted faults by kind', [
        { head: 'fault', get: (k) => k.kind },
        { head: 'planted', get: (k) => k.list.length },
        { head: 'caught', get: (k) => k.caught },
        { head: 'share', get: (k) => k.caught / k.list.length, show: (v) => [`${(100 * v).toFixed(1)} %`, bar(v)] },
        ...checks.map((c) => ({ head: c, note: 'caught by these checks', get: (k) => k.list.filter((m) => m.caught_by.includes(c)).length })),
      ], kinds),
      survivors.length ? element('h3', {}, 'Not caught') : null,
      survivors.length ? table('Faults that were not caught', [
        { head: 'op', get: (m) => m.op },
        { head: 'variant', get: (m) => m.variant || null },
        { head: 'fault', get: (m) => m.kind },
        { head: 'where', get: (m) => m.where, long: true },
        { head: 'why', get: (m) => m.said || null, long: true },
      ], survivors) : null,
    ];
  });
}
