// Tuning: the candidates, in the order in which they were measured.
function tuneSection(runs) {
  const title = (r) => titled(r.op, r.problem, r.target, known(r.threads) && plural(r.threads, 'thread'));
  return runs.flatMap((run) => [...byKey(run.records, title)].map(([name, records], i) => tuned(run, name, records, i < openCharts)));
}

function tuned(run, name, records, open) {
  const numbered = records.map((r, i) => ({ ...r, at: i + 1, label: titled(r.variant, r.schedule !== 'own' && r.schedule, r.picks) }));
  const timed = numbered.filter((r) => !r.fail && known(r.median));
  const proved = timed.filter((r) => r.verdict === 'proved' || (known(r.code) && r.code === r.against));  // only these and the default may win
  const best = fastest(proved.length ? proved : timed);
  const unit = timeUnit(timed.map((r) => r.median));
  const refused = numbered.length - timed.length;
  const words = [
    best ? `${plural(timed.length, 'candidate')} timed, the line is the least time so far. ` : '',
    best ? `The best${proved.length ? ' that is proved' : ''}: ${best.label}, ${timeText(best.median)}. ` : '',
    refused ? `${plural(refused, 'candidate')} refused, without a time.` : '',
  ];
  return whenOpened(element('details', open ? { open: '' } : {},
    element('summary', {}, name),
    runLine(run),
    best ? historyChart(`Tuning of ${name}`, timed, best) : null,
    element('p', { class: 'soft' }, words),
    table(`Records of ${name}`, [
      { head: '#', get: (r) => r.at },
      { head: 'variant', get: (r) => r.variant, show: (v, r) => (r === best ? marked('chosen', v) : v) },
      { head: 'schedule', get: (r) => r.schedule },
      { head: 'picks', get: (r) => r.picks },
      { head: `median ${unit.text}`, get: (r) => (known(r.median) && !r.fail ? r.median * unit.factor : null) },
      {
        head: 'beside the default',
        note: 'its time over that of the kernel that a call gets, with 99 % confidence',
        get: (r) => (r.fail ? null : r.ratio),
        show: (v, r) => ratioText(v, r.low, r.high),
      },
      { head: 'samples', get: (r) => r.samples },
      { head: 'verdict', get: (r) => r.fail ?? r.verdict, show: (v, r) => (r.fail ? fail(v) : v), long: true },
    ], numbered)));
}
