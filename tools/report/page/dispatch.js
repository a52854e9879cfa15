// Dispatch: the kernels that a call could get, and what each costs.
function dispatchSection(runs) {
  return runs.flatMap((run) => run.calls.map((call) => {
    const times = (v) => `${(v / call.best).toFixed(2)} x`;
    return [
      element('h3', {}, titled(call.op, call.problem)),
      runLine(run),
      known(call.seconds) ? element('p', {}, `The call takes ${timeText(call.seconds)}, ${times(call.seconds)} its best kernel.`) : null,
      call.around.map((step) => element('p', { class: 'soft' }, step.text, known(step.seconds) ? `: ${timeText(step.seconds)}` : '')),
      table(`Kernels for ${call.op}`, [
        { head: 'kernel', get: (k) => k.kernel, show: (v, k) => (k.verdict === 'chosen' ? marked('chosen', v) : v) },
        { head: 'verdict', get: (k) => k.verdict },
        { head: 'time', get: (k) => k.seconds, show: timeText },
        { head: 'price', note: 'its time over that of the best kernel', get: (k) => (call.best ? k.seconds : null), show: times },
        { head: 'why', get: (k) => k.why, long: true },
      ], call.candidates),
    ];
  }));
}
