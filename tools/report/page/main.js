// Builds the page from the runs that it contains.
const runs = JSON.parse(document.getElementById('runs').textContent);

// For each kind of file: its section, its content, and the number and name of failures.
const kinds = {
  bench: {
    section: 'Times',
    holds: (r) => `${plural(byKey(r.lines, (l) => titled(l.op, l.problem, l.dtype)).size, 'problem')}, ${plural(r.lines.length, 'line')}`,
    failures: (r) => r.lines.filter((l) => l.fail).length,
  },
  roofs: {
    section: 'Roofline',
    holds: (r) => `${plural(r.peaks.length, 'peak')}, ${plural(r.bandwidths.length, 'bandwidth')}`,
    failures: () => 0,
  },
  tune: { section: 'Tuning', holds: (r) => plural(r.records.length, 'record'), failures: (r) => r.records.filter((l) => l.fail).length },
  check: { section: 'Checks', holds: (r) => plural(r.ops.length, 'op'), failures: (r) => r.ops.reduce((n, o) => n + o.failed, 0) },
  mutants: {
    section: 'Planted faults',
    holds: (r) => plural(r.mutants.length, 'fault'),
    failures: (r) => r.mutants.filter((m) => m.fate === 'survived').length,
    called: 'not caught',
  },
  train: {
    section: 'Training',
    holds: (r) => `${r.ended.length} of ${plural(r.epochs, 'epoch')}`,
    failures: (r) => r.steps.loss.filter((v) => !finite(v)).length,
    called: 'not finite',
  },
  dispatch: { section: 'Dispatch', holds: (r) => plural(r.calls.length, 'call'), failures: () => 0 },
};

function overview() {
  const number = (text) => (known(text) ? Number(text) : null);
  return table('Files of this page', [
    { head: 'file', get: (r) => r.file, show: (v) => element('code', {}, v) },
    { head: 'shows', get: (r) => kinds[r.kind].section },
    {
      head: 'failures',
      get: (r) => kinds[r.kind].failures(r),
      show: (n, r) => (n ? marked('bad', `${n} ${kinds[r.kind].called ?? 'FAIL'}`) : 'none'),
    },
    { head: 'holds', get: (r) => kinds[r.kind].holds(r) },
    { head: 'CPU', get: (r) => conditionOf(r, 'CPU') ?? 'not recorded' },
    { head: 'date', get: (r) => conditionOf(r, 'date') ?? 'not recorded', show: dateText },
    { head: 'load', get: (r) => number(conditionOf(r, 'load')), show: String },
  ], runs.files);
}

function build() {
  const page = document.getElementById('page');
  document.title = runs.title;
  const of = (kind) => runs.files.filter((r) => r.kind === kind);
  const sections = [
    ['training', 'Training', of('train').length && trainSection(of('train'))],
    ['times', 'Times', of('bench').length && benchSection(of('bench'))],
    ['roofline', 'Roofline', of('bench').length && rooflineSection(of('bench'), of('roofs'))],
    ['tuning', 'Tuning', of('tune').length && tuneSection(of('tune'))],
    ['checks', 'Checks', of('check').length && checkSection(of('check'))],
    ['faults', 'Planted faults', of('mutants').length && mutantsSection(of('mutants'))],
    ['dispatch', 'Dispatch', of('dispatch').length && dispatchSection(of('dispatch'))],
  ].filter(([, , content]) => content && content.length);
  page.replaceChildren(
    element('h1', {}, runs.title),
    element('nav', { 'aria-label': 'Sections' }, sections.map(([id, name]) => element('a', { href: `#${id}` }, name))),
    overview(),
    ...sections.map(([id, name, content]) => element('section', { id }, element('h2', {}, name), content)));
}

build();
drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
addEventListener('beforeprint', () => { document.documentElement.style.colorScheme = 'light', drawAll(); });
addEventListener('afterprint', () => { document.documentElement.style.colorScheme = '', drawAll(); });
