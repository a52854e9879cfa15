// Charts, with Chart.js. Each is kept as a function of the colours, so that all can be redrawn when the colours change.
const charts = [];  // {canvas, configure(colours), chart}

function colours() {
  const probe = document.body.appendChild(element('i', { hidden: '' }));
  const resolved = {};
  for (const name of ['paper', 'ink', 'soft', 'line', 'ours', 'chosen', 'peer', 'bad']) {
    probe.style.color = `var(--${name})`;  // a custom property itself would still be light-dark(...)
    resolved[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return resolved;
}

function draw(entry) {
  const c = colours();
  Chart.defaults.color = c.soft;
  Chart.defaults.borderColor = c.line;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  entry.chart?.destroy();
  entry.chart = new Chart(entry.canvas, entry.configure(c));
}

// Draws a chart when it is visible: at once, or when the <details> around it opens.
function drawAll() {
  for (const entry of charts) if (!entry.canvas.closest('details:not([open])')) draw(entry);
  report();
}
// For tests: the number of charts, and how many have drawn on a canvas with a size.
function report() {
  const drawn = charts.filter(({ chart }) => chart && chart.width > 0 && chart.height > 0 && chart.getSortedVisibleDatasetMetas().length > 0);
  document.documentElement.dataset.charts = `${drawn.length}/${charts.length}`;
}

// Returns a figure: the chart, and its content as text.
function figure(text, height, configure) {
  const canvas = element('canvas', { role: 'img', 'aria-label': text });
  const entry = { canvas, configure };
  charts.push(entry);
  return element('figure', {}, element('div', { class: 'canvas', style: `height:${height}px` }, canvas));
}

function whenOpened(details) {
  details.addEventListener('toggle', () => {
    if (details.open) charts.filter((e) => !e.chart && details.contains(e.canvas)).forEach(draw);
    report();
  });
  return details;
}

const below = 'The table below has all numbers.';
const plain = { animation: false, responsive: true, maintainAspectRatio: false, plugins: { legend: { display: false } } };
const tooltip = (c, label) => ({
  backgroundColor: c.ink, titleColor: c.paper, bodyColor: c.paper, displayColors: false, padding: 8, cornerRadius: 4,
  titleFont: { weight: '600' }, callbacks: { label },
});

// Draws intervals over horizontal bars, with each bar's number behind its interval. An interval beyond `most` ends in an arrow.
const intervals = (rows, text, most, c) => ({
  id: 'intervals',
  afterDatasetsDraw(chart) {
    const { ctx, scales: { x, y } } = chart;
    ctx.save();
    ctx.lineWidth = 1.25;
    ctx.textBaseline = 'middle';
    ctx.font = `12px ${Chart.defaults.font.family}`;
    rows.forEach((r, i) => {
      const middle = y.getPixelForValue(i);
      if (r.fail) {
        ctx.fillStyle = c.bad;
        ctx.fillText('FAIL, no time', x.left + 7, middle);
        return;
      }
      const low = x.getPixelForValue(r.low), inside = r.high <= most;
      const high = x.getPixelForValue(Math.min(r.high, most));
      ctx.strokeStyle = c.ink;
      ctx.beginPath();
      ctx.moveTo(low, middle), ctx.lineTo(high, middle);
      ctx.moveTo(low, middle - 3.5), ctx.lineTo(low, middle + 3.5);
      if (inside) ctx.moveTo(high, middle - 3.5), ctx.lineTo(high, middle + 3.5);
      else ctx.moveTo(high - 4, middle - 3.5), ctx.lineTo(high, middle), ctx.lineTo(high - 4, middle + 3.5);
      ctx.stroke();
      ctx.fillStyle = c.ink;
      ctx.fillText(inside ? text(r) : `${text(r)} (to ${text({ median: r.high })})`, high + 7, middle);
    });
    ctx.restore();
  },
});

// rows: {label, median, low, high, peer, chosen} or {label, fail}, drawn from top to bottom.
function barChart(title, rows) {
  const timed = rows.filter((r) => !r.fail), unit = timeUnit(timed.map((r) => r.median));
  const digits = decimals(timed.map((r) => r.median * unit.factor));
  const text = (r) => (r.fail ? 'FAIL' : (r.median * unit.factor).toFixed(digits));
  const words = `${title}. Medians in ${unit.text}: ${rows.map((r) => `${r.label} ${text(r)}`).join(', ')}. ${below}`;
  const longest = Math.max(...timed.map((r) => r.median));
  const most = Math.min(Math.max(...timed.map((r) => r.high)), longest * 1.2) * unit.factor;
  return figure(words, rows.length * 25 + 48, (c) => {
    const inUnit = rows.map((r) => ({ ...r, median: r.median * unit.factor, low: r.low * unit.factor, high: r.high * unit.factor }));
    const colour = (r) => (r.peer ? c.peer : r.chosen ? c.chosen : c.ours);
    return {
      type: 'bar',
      data: {
        labels: rows.map((r) => r.label),
        datasets: [{ data: inUnit.map((r) => (r.fail ? null : r.median)), backgroundColor: rows.map(colour), barThickness: 15, borderRadius: 2 }],
      },
      options: {
        ...plain, indexAxis: 'y', layout: { padding: { right: 4 } },
        scales: {
          x: { beginAtZero: true, suggestedMax: most * 1.15, grid: { drawBorder: false }, ticks: { maxTicksLimit: 7, maxRotation: 0 },
            title: { display: true, text: unit.text } },
          y: { grid: { display: false, drawBorder: false }, ticks: { color: c.ink, autoSkip: false } },
        },
        plugins: { ...plain.plugins, tooltip: tooltip(c, (item) => {
          const r = inUnit[item.dataIndex];
          return `${r.median.toFixed(digits)} ${unit.text}, interval ${r.low.toFixed(digits)} to ${r.high.toFixed(digits)}`;
        }) },
      },
      plugins: [intervals(inUnit, (r) => r.median.toFixed(digits), most, c)],
    };
  });
}

// Labels powers of ten only, with SI prefixes.
const powers = (value) => {
  const e = Math.log10(value);
  return Math.abs(e - Math.round(e)) > 1e-9 ? null : e >= -3 && e <= 4 ? String(Number(value.toPrecision(1))) : `1e${Math.round(e)}`;
};
const logAxis = (title, min, max, c) => ({
  type: 'logarithmic', min, max, title: { display: true, text: title },
  grid: { drawBorder: false, color: (g) => (powers(g.tick?.value ?? 1) ? c.line : 'transparent') },
  ticks: { callback: powers, autoSkip: false, maxRotation: 0 },
});

// Merges labels that would overlap into one, with commas.
function apart(labels, width, height) {
  const kept = [];
  for (const l of labels) {
    const near = kept.find((k) => k.angle === l.angle && Math.abs(k.x - l.x) < width && Math.abs(k.y - l.y) < height);
    if (near) near.text += `, ${l.text}`;
    else kept.push(l);
  }
  return kept;
}

// Draws names along the roofs: at the right end of flat ones, rotated near the left edge of rising ones.
const roofNames = (roofs, c) => ({
  id: 'roofNames',
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales: { x, y } } = chart;
    const labels = roofs.map((r) => {
      const [from, to] = r.line.map((p) => ({ x: x.getPixelForValue(p.x), y: y.getPixelForValue(p.y) }));
      if (r.line[0].y === r.line[1].y) return { text: r.name, angle: 0, x: Math.min(to.x, area.right) - 6, y: from.y - 5 };
      const slope = (to.y - from.y) / (to.x - from.x);
      let at = area.left + 8;  // where the line enters the chart, from the left or from below
      if (from.y + slope * (at - from.x) > area.bottom - 6) at = from.x + (area.bottom - 6 - from.y) / slope;
      return { text: r.name, angle: Math.round(Math.atan(slope) * 1000) / 1000, x: at, y: from.y + slope * (at - from.x) };
    });
    ctx.save();
    ctx.beginPath(), ctx.rect(area.left, area.top, area.width, area.height), ctx.clip();
    ctx.font = `11px ${Chart.defaults.font.family}`;
    ctx.fillStyle = c.soft;
    for (const l of apart(labels, 16, 12)) {
      ctx.save();
      ctx.translate(l.x, l.y);
      ctx.rotate(l.angle);
      ctx.textAlign = l.angle ? 'left' : 'right';
      ctx.fillText(l.text, 0, l.angle ? -4 : 0);
      ctx.restore();
    }
    ctx.restore();
  },
});

// Draws the numbers of the table under the chart beside the points.
const pointNumbers = (points, c) => ({
  id: 'pointNumbers',
  afterDatasetsDraw(chart) {
    const { ctx, scales: { x, y } } = chart;
    ctx.save();
    ctx.font = `600 11px ${Chart.defaults.font.family}`;
    ctx.fillStyle = c.ink;
    ctx.textBaseline = 'middle';
    const label = (p) => ({ text: String(p.number), x: x.getPixelForValue(p.x) + 7, y: y.getPixelForValue(p.y) });
    for (const l of apart(points.filter((p) => p.number).map(label), 12, 11)) ctx.fillText(l.text, l.x, l.y);
    ctx.restore();
  },
});

// peaks: [{name, y}] and slopes: [{name, y per x}]; points: [{x, y, number, label, peer, chosen}]. GFLOP/s over FLOPs per byte.
function roofChart(title, peaks, slopes, all) {
  const points = [...all.filter((p) => !p.number), ...all.filter((p) => p.number)];  // numbered points are drawn on top
  const top = Math.max(0, ...peaks.map((p) => p.y)), steepest = Math.max(0, ...slopes.map((s) => s.y));
  const corners = top && steepest ? slopes.map((s) => top / s.y) : [];
  const xs = [...points.map((p) => p.x), ...corners], ys = [...points.map((p) => p.y), ...peaks.map((p) => p.y)];
  const down = (v) => 10 ** Math.floor(Math.log10(v * 0.7)), up = (v) => 10 ** Math.ceil(Math.log10(v * 1.4));
  const [left, right, bottom, above] = [down(Math.min(...xs)), up(Math.max(...xs)), down(Math.min(...ys)), up(Math.max(...ys))];
  const roofs = [
    ...peaks.map((p) => ({ name: p.name, line: [{ x: steepest ? Math.max(left, p.y / steepest) : left, y: p.y }, { x: right, y: p.y }] })),
    ...slopes.map((s) => ({ name: s.name, line: [{ x: left, y: s.y * left }, { x: top ? top / s.y : right, y: top || s.y * right }] })),
  ];
  const inWords = (p) => `${p.label}: ${p.y.toPrecision(3)} GFLOP/s at ${p.x.toPrecision(3)} FLOPs per byte`;
  const words = `${title}. ${points.filter((p) => p.number).map(inWords).join('; ')}. ${below}`;
  return figure(words, 380, (c) => ({
    type: 'scatter',
    data: { datasets: [
      {
        data: points, order: 0, pointHoverRadius: 6, pointBorderWidth: 1, pointBorderColor: c.paper,
        pointRadius: points.map((p) => (p.number ? 5 : 3)),
        pointStyle: points.map((p) => (p.peer ? 'rect' : 'circle')),
        pointBackgroundColor: points.map((p) => (p.peer ? c.peer : p.chosen ? c.chosen : c.ours)),
      },
      ...roofs.map((r) => ({ data: r.line, order: 1, showLine: true, pointRadius: 0, pointHitRadius: 0, borderColor: c.soft, borderWidth: 1.25 })),
    ] },
    options: {
      ...plain,
      scales: { x: logAxis('FLOPs per byte', left, right, c), y: logAxis('GFLOP/s', bottom, above, c) },
      plugins: { ...plain.plugins, tooltip: tooltip(c, (item) => `${points[item.dataIndex].label}: ${item.parsed.y.toPrecision(3)} GFLOP/s`) },
    },
    plugins: [roofNames(roofs, c), pointNumbers(points, c)],
  }));
}

// times: [{at, median, label}] in the order they were measured, `best` one of them; the line is the least up to each.
function historyChart(title, times, best) {
  const unit = timeUnit([Math.min(...times.map((t) => t.median)) * 3]);
  const of = (s) => s * unit.factor;
  let least = Infinity;
  const steps = times.map((t) => ({ x: t.at, y: of((least = Math.min(least, t.median))) }));
  const wide = Math.max(...times.map((t) => t.median)) > 20 * least;
  const words = `${title}: ${plural(times.length, 'candidate')} timed; the best, ${best.label}, takes ${timeText(best.median)}. ${below}`;
  return figure(words, 260, (c) => ({
    type: 'scatter',
    data: { datasets: [
      {
        data: times.map((t) => ({ x: t.at, y: of(t.median) })), order: 0, pointHoverRadius: 5, pointBorderWidth: 0,
        pointRadius: times.map((t) => (t === best ? 5 : 3.5)),
        pointBackgroundColor: times.map((t) => (t === best ? c.chosen : c.ours)),
      },
      { data: steps, showLine: true, stepped: 'before', pointRadius: 0, pointHitRadius: 0, borderColor: c.chosen, borderWidth: 1.5, order: 1 },
    ] },
    options: {
      ...plain,
      scales: {
        x: { title: { display: true, text: 'measurement' }, grid: { display: false }, ticks: { precision: 0, maxRotation: 0 } },
        y: wide ? logAxis(unit.text, undefined, undefined, c)
          : { beginAtZero: true, title: { display: true, text: unit.text }, grid: { drawBorder: false }, ticks: { maxTicksLimit: 6 } },
      },
      plugins: { ...plain.plugins, tooltip: tooltip(c, (item) => {
        const t = times[item.dataIndex];
        return item.datasetIndex === 0 ? `${t.label}: ${timeText(t.median)}` : `least so far: ${timeText(item.parsed.y / unit.factor)}`;
      }) },
    },
  }));
}
