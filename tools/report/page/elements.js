// Elements, numbers and tables. Text from files becomes text nodes and attributes only: nothing here parses HTML.

// element('td', {class: 'number'}, 'a', child, ...); children that are null or undefined are left out.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return e;
}

const known = (v) => v !== null && v !== undefined;
const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// Returns the decimals for numbers that are read together: three digits of the smallest, but at most three decimals.
function decimals(values) {
  const least = Math.min(...values.filter((v) => v > 0));
  return Number.isFinite(least) ? Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(least)))) : 0;
}

// Returns {text: one unit for all values, factor: to multiply them with}.
function scale(values, units) {
  const most = Math.max(...values.filter(Number.isFinite), 0);
  return units.find((u) => most * u.factor >= 1) ?? units[units.length - 1];
}
const timeUnits = [{ text: 's', factor: 1 }, { text: 'ms', factor: 1e3 }, { text: 'µs', factor: 1e6 }, { text: 'ns', factor: 1e9 }];
const timeUnit = (seconds) => scale(seconds, timeUnits);

function timeText(seconds) {
  if (!known(seconds)) return '';
  const unit = timeUnit([seconds]);
  return `${(seconds * unit.factor).toPrecision(3)} ${unit.text}`;
}

// Returns "2026-11-21T23:53:09+00:00" in readable form; other text is unchanged.
const isoDate = /(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(Z|\+00:00)?/g;
const dateText = (text) => text
  .replace(isoDate, (all, day, time, seconds, utc) => `${day} ${time}${utc ? ' UTC' : ''}`)
  .replace(/^(.*) to \1$/, '$1');

// Returns a table. columns: {head, note?, get(row), show?(value, row), unit?, number?}; a column without values is left out.
// get() returns the value to sort by; numbers of a column get the same decimals.
function table(name, columns, rows, mark = () => '') {
  const body = element('tbody');
  const heads = [];
  const shown = columns.filter((c) => rows.some((r) => known(c.get(r))));
  for (const c of shown) {
    const values = rows.map((r) => c.get(r)).filter(known);
    c.number = values.every((v) => typeof v === 'number');
    c.digits = c.digits ?? (values.every(Number.isInteger) ? 0 : decimals(values));
  }
  const cell = (c, row) => {
    const value = c.get(row);
    const text = !known(value) ? '' : c.show ? c.show(value, row) : c.number ? value.toFixed(c.digits) : value;
    return element('td', { class: c.number ? 'number' : c.long ? 'long' : '' }, text);
  };
  const fill = (list) => body.replaceChildren(...list.map((r) => element('tr', { class: mark(r) }, shown.map((c) => cell(c, r)))));
  const sortBy = (c, head) => {
    const down = head.getAttribute('aria-sort') === 'ascending';
    heads.forEach((h) => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const sign = down ? -1 : 1;
    const order = (a, b) => (c.number ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true }));
    fill([...rows].sort((a, b) => {  // rows without a value stay last in both orders
      const [x, y] = [c.get(a), c.get(b)];
      return known(x) && known(y) ? sign * order(x, y) : known(y) - known(x);
    }));
  };
  for (const c of shown) {
    const button = element('button', { type: 'button', ...(c.note ? { title: c.note } : {}) }, c.head);
    const head = element('th', { scope: 'col', class: c.number ? 'number' : '' }, button);
    button.addEventListener('click', () => sortBy(c, head));
    heads.push(head);
  }
  fill(rows);
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name },
    element('table', {}, element('thead', {}, element('tr', {}, heads)), body));
}

const conditionOf = (run, name) => run.conditions.find(([key]) => key === name)?.[1];

// Returns the CPU's name, the date and the conditions, which are shown with every figure.
function runLine(run, what = '') {
  const { CPU, date, ...others } = Object.fromEntries(run.conditions);
  const parts = [
    CPU ? element('b', {}, CPU) : 'CPU not recorded',
    date ? dateText(date) : 'date not recorded',
    ...Object.entries(others).map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`),
    element('code', {}, run.file),
  ];
  return element('p', { class: 'run' }, what ? `${what}: ` : '', parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
}

const repeatLine = (command) => (command ? element('p', { class: 'repeat' }, 'repeat: ', element('code', {}, command)) : null);

// <span class="bad">, "good" or "chosen".
const marked = (kind, text) => element('span', { class: kind }, text);
const fail = (text) => element('span', {}, marked('bad', 'FAIL'), ` ${text}`);
const percent = (v) => `${(100 * v).toFixed(0)} %`;
// Returns a ratio with its interval, which a few rounds don't give.
const ratioText = (r, low, high) => r.toFixed(3) + (known(low) && known(high) ? ` (${low.toFixed(3)} to ${high.toFixed(3)})` : '');
const titled = (...parts) => parts.filter(Boolean).join('  ');

// Some peers only move the bytes: they have a time, but no result and so no error.
const computes = (line) => !line.peer || known(line.error);
const fastest = (lines) => lines.reduce((a, b) => (!a || b.median < a.median ? b : a), null);

// Returns a Map of lists, in the order of their first items.
function byKey(list, key) {
  const groups = new Map();
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}
