// Puts the page together from the runs that stand in it.
const runs = JSON.parse(document.getElementById('runs').textContent);

const kinds = {
  bench: ['Times', (r) => `${plural(new Set(r.lines.map((l) => [l.op, l.problem, l.dtype].join())).size, 'problem')}, ${plural(r.lines.length, 'line')}`, (r) => r.lines.filter((l) => l.fail).length],
  roofs: ['Roofs', (r) => `${plural(r.peaks.length, 'peak')}, ${plural(r.bandwidths.length, 'bandwidth')}`, () => 0],
  tune: ['Tuning', (r) => plural(r.records.length, 'record'), (r) => r.records.filter((l) => l.fail).length],
  check: ['Checks', (r) => plural(r.ops.length, 'op'), (r) => r.ops.reduce((n, o) => n + o.failed, 0)],
  mutants: ['Planted faults', (r) => plural(r.mutants.length, 'fault'), (r) => r.mutants.filter((m) => m.fate === 'survived').length],
  dispatch: ['Dispatch', (r) => plural(r.calls.length, 'call'), () => 0],
};
const badWord = { mutants: 'not caught' };

function overview() {
  const condition = (run, key) => run.conditions.find(([k]) => k === key)?.[1] ?? 'not recorded';
  const number = (text) => (known(text) ? Number(text) : null);
  return table('Files of this page', [
    { head: 'file', get: (r) => r.file, show: (v) => element('code', {}, v) },
    { head: 'shows', get: (r) => kinds[r.kind][0] },
    { head: 'failures', get: (r) => kinds[r.kind][2](r), show: (n, r) => (n ? element('span', { class: 'bad' }, `${n} ${badWord[r.kind] ?? 'FAIL'}`) : 'none') },
    { head: 'holds', get: (r) => kinds[r.kind][1](r) },
    { head: 'CPU', get: (r) => condition(r, 'CPU') },
    { head: 'date', get: (r) => condition(r, 'date'), show: dateText },
    { head: 'load', get: (r) => number(r.conditions.find(([k]) => k === 'load')?.[1]), show: String },
  ], runs.files);
}

function build() {
  const page = document.getElementById('page');
  document.title = runs.title;
  const of = (kind) => runs.files.filter((r) => r.kind === kind);
  const sections = [
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
