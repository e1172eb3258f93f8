"use strict";

/* The charts: Chart.js draws them, buttons are the legend, arrow keys announce values to screen readers. */

const DAY = 86400000; // milliseconds
const THIN_ABOVE = 2000; // days
const THIN_STEP = 5; // one point per week
const AXIS_WIDTH = 58; // the same in all panels, so that their days are aligned
const PRINT_WIDTH = 690; // pixels that fit on A4
const PRINT_HEIGHT = 300;
const LOG_TICKS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000];

const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (name) => (name === "index" ? cssColour("--index") : report.colours[name]);
const isoDay = (time) => new Date(time).toISOString().slice(0, 10);

/* What each panel shows. `base` is the value of the darker line, `per` is 100 for percentages. */

const asNumber = (value, digits = 3) => formatNumber(value, digits);
const asPercent = (value, digits = 1) => formatPercent(value, digits);
const asReturn = (value, digits = 1) => formatPercent(value - 1, digits);
const PLOTS = {
  equity: { csv: "equity", show: asReturn, per: 100, base: 1 },
  drawdown: { csv: "rolling_drawdown", show: asPercent, per: 100, base: 0 },
  cash: { csv: "cash", show: asPercent, per: 100, base: 0 },
  ic: { csv: "ic", show: asNumber, per: 1, base: 0, decisions: true, points: true },
  ic_cumulated: { csv: "ic_cumulated", show: asNumber, per: 1, base: 0, decisions: true },
  annual: { read: () => readTable("annual_returns"), show: asPercent, per: 100, base: 0 },
  fifths: { read: readFifths, show: asPercent, per: 100, base: 0 },
};

function readFifths() {
  const { columns, rows } = readTable("quantile_returns");
  const whole = rows.filter((row) => row[0] === "both");
  const fifths = ["1", "2", "3", "4", "5"].map((fifth) => columns.indexOf(fifth));
  const titles = ["1 (worst)", "2", "3", "4", "5 (best)"];
  return {
    columns: ["fifth", ...whole.map((row) => row[1])],
    rows: fifths.map((column, i) => [titles[i], ...whole.map((row) => row[column])]),
  };
}

/* Long lines show weekly points only, which looks the same and draws faster. */

function thin(rows) {
  if (rows.length <= THIN_ABOVE) return rows;
  return rows.filter((row, i) => i % THIN_STEP === 0 || i === rows.length - 1);
}

function readDays(csv) {
  const { columns, rows } = readTable(csv);
  const points = thin(rows);
  const times = points.map((row) => Date.parse(row[0]));
  return {
    names: columns.slice(1),
    labels: points.map((row) => row[0]),
    series: columns.slice(1).map((name, j) =>
      points.map((row, i) => ({ x: times[i], y: toNumber(row[j + 1]) })),
    ),
  };
}

function readGroups(plot) {
  const { columns, rows } = plot.read();
  return {
    names: columns.slice(1),
    labels: rows.map((row) => row[0]),
    series: columns.slice(1).map((name, j) => rows.map((row) => toNumber(row[j + 1]))),
  };
}

/* Vertical lines: the start of the test period, and the day under the pointer. */

function drawLine(chart, x, colour, dash) {
  const { ctx, chartArea } = chart;
  if (x < chartArea.left || x > chartArea.right) return;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, chartArea.top);
  ctx.lineTo(x, chartArea.bottom);
  ctx.stroke();
  ctx.restore();
}

const dayLines = {
  id: "dayLines",
  beforeDatasetsDraw(chart) {
    const { x } = chart.scales;
    const start = Date.parse(chart.plot?.decisions ? report.testDecision : report.testStart);
    if (!(start > x.min && start <= x.max)) return;
    const place = x.getPixelForValue(start);
    drawLine(chart, place, cssColour("--muted"), [2, 3]);
    if (!chart.canvas.closest(".plot").classList.contains("tall")) return;
    chart.ctx.save();
    chart.ctx.fillStyle = cssColour("--muted");
    chart.ctx.font = `12px ${Chart.defaults.font.family}`;
    chart.ctx.fillText("test period →", place + 5, chart.chartArea.top + 10);
    chart.ctx.restore();
  },
  afterDatasetsDraw(chart) {
    const { group } = chart;
    if (group?.at === undefined || group.at === null) return;
    drawLine(chart, chart.scales.x.getPixelForValue(group.times[group.at]), cssColour("--muted"), []);
  },
};

/* Axes. */

function yearTicks(scale) {
  const [first, last] = [new Date(scale.min), new Date(scale.max)];
  const months = (scale.max - scale.min) / DAY < 800 ? 3 : 12;
  const ticks = [];
  const day = new Date(Date.UTC(first.getUTCFullYear(), 0, 1));
  while (day <= last) {
    if (day >= first) ticks.push({ value: day.getTime() });
    day.setUTCMonth(day.getUTCMonth() + months);
  }
  scale.ticks = ticks.length > 1 ? ticks : [{ value: scale.min }, { value: scale.max }];
}

function showTime(value) {
  const day = isoDay(value);
  return day.endsWith("-01-01") ? day.slice(0, 4) : day.slice(0, 7);
}

function timeAxis(labels, bottom) {
  return {
    type: "linear",
    min: Date.parse(labels[0]),
    max: Date.parse(labels.at(-1)),
    afterBuildTicks: yearTicks,
    ticks: { callback: showTime, maxRotation: 0, display: bottom },
  };
}

// Leave some room on the sides of the base on which there are values.
function pad(scale, base) {
  const room = 0.04 * (scale.max - scale.min) || 0.01;
  if (scale.min < base) scale.min -= room;
  if (scale.max > base) scale.max += room;
}

// About six ticks, 1, 2 or 5 times a power of ten apart, with as many decimals as that takes.
function roundTicks(scale, per) {
  const rough = (scale.max - scale.min) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((multiple) => multiple * power >= rough);
  const first = Math.ceil(scale.min / step);
  const count = Math.floor(scale.max / step) - first + 1;
  scale.ticks = Array.from({ length: count }, (_, i) => ({ value: (first + i) * step }));
  scale.digits = Math.max(0, -Math.floor(Math.log10(step * per) + 1e-9));
}

function logTicks(scale, per) {
  const values = LOG_TICKS.filter((value) => value >= scale.min && value <= scale.max);
  if (values.length < 4) return roundTicks(scale, per);
  scale.ticks = values.map((value) => ({ value }));
  scale.digits = 0;
}

function valueAxis(plot, logarithmic) {
  return {
    type: logarithmic ? "logarithmic" : "linear",
    bounds: "data",
    afterDataLimits: (scale) => (logarithmic ? undefined : pad(scale, plot.base)),
    afterBuildTicks: (scale) => (logarithmic ? logTicks : roundTicks)(scale, plot.per),
    afterFit: (scale) => {
      scale.width = AXIS_WIDTH;
    },
    ticks: {
      callback(value) {
        return plot.show(value, this.digits);
      },
    },
  };
}

/* Building. */

function makeDataset(name, values, plot, kind) {
  const lines = kind === "days";
  return {
    name,
    label: report.names[name],
    data: values,
    borderWidth: lines ? (name === report.featured ? 2.4 : 1.5) : 0,
    borderDash: lines && name === "index" ? [5, 4] : [],
    pointRadius: plot.points ? 2 : 0,
    pointHoverRadius: 3,
    spanGaps: true,
    clip: 6,
    categoryPercentage: 0.84,
    barPercentage: 1,
  };
}

function makeChart(canvas, kind, group) {
  const plot = PLOTS[canvas.dataset.plot];
  const lines = kind === "days";
  const data = lines ? readDays(plot.csv) : readGroups(plot);
  const bottom = canvas === group.canvases.at(-1);
  group.times ??= lines ? data.labels.map((label) => Date.parse(label)) : data.labels;
  const chart = new Chart(canvas, {
    type: lines ? "line" : "bar",
    data: {
      labels: data.labels,
      datasets: data.names.map((name, i) => makeDataset(name, data.series[i], plot, kind)),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      normalized: true,
      layout: { autoPadding: false, padding: { top: 6, right: 10 } },
      interaction: { mode: "index", intersect: false },
      onHover: (event, elements) => group.point(elements[0]?.index ?? null),
      scales: { x: lines ? timeAxis(data.labels, bottom) : { ticks: { maxRotation: 0 } }, y: valueAxis(plot, false) },
      plugins: {
        legend: { display: false },
        tooltip: {
          itemSort: lines ? (a, b) => b.parsed.y - a.parsed.y : undefined,
          usePointStyle: true,
          boxWidth: 8,
          boxHeight: 8,
          callbacks: {
            title: (items) => items.slice(0, 1).map((item) => data.labels[item.dataIndex]),
            label: (item) => ` ${item.dataset.label}  ${plot.show(item.parsed.y)}`,
          },
        },
      },
    },
    plugins: lines ? [dayLines] : [],
  });
  chart.group = lines ? group : undefined;
  chart.plot = plot;
  return chart;
}

// Colours come from the style sheet, so a change of theme paints all charts again.
function paint(chart) {
  const [text, grid] = [cssColour("--muted"), cssColour("--rule")];
  for (const dataset of chart.data.datasets) {
    const colour = colourOf(dataset.name);
    Object.assign(dataset, { borderColor: colour, backgroundColor: colour, pointBackgroundColor: colour });
  }
  for (const [key, axis] of Object.entries(chart.options.scales)) {
    axis.ticks = { ...axis.ticks, color: text };
    axis.border = { display: false };
    axis.grid =
      key === "y" ? { color: (line) => (line.tick.value === chart.plot.base ? text : grid) } : { display: false };
  }
  Object.assign(chart.options.plugins.tooltip, {
    backgroundColor: cssColour("--raised"),
    titleColor: cssColour("--text"),
    bodyColor: cssColour("--text"),
    borderColor: grid,
    borderWidth: 1,
    padding: 10,
  });
  chart.update();
}

/* A chart: one or two panels with their legend, switch and keys. */

function makeGroup(box) {
  const group = { canvases: all("canvas", box), at: null };
  group.point = (index) => {
    if (index === group.at) return;
    group.at = index;
    group.charts.forEach((chart) => chart.draw());
  };
  group.charts = group.canvases.map((canvas) => makeChart(canvas, box.dataset.kind, group));
  group.charts.forEach(paint);
  group.canvases.forEach((canvas, i) => {
    canvas.addEventListener("mouseout", () => group.point(null));
    canvas.addEventListener("keydown", (event) => step(group, group.charts[i], event, box));
  });
  addLegend(box, group);
  box.querySelector(".log-switch")?.addEventListener("change", (event) => {
    const chart = group.charts[0];
    chart.options.scales.y = valueAxis(chart.plot, event.target.checked);
    paint(chart);
  });
  return group;
}

function addLegend(box, group) {
  const legend = box.querySelector(".legend");
  const hasPlot = new Set(group.charts.flatMap((chart) => chart.data.datasets.map((dataset) => dataset.name)));
  for (const name of hasPlot) {
    const swatch = make("span", { className: "swatch" });
    swatch.dataset.name = name;
    const button = make("button", { type: "button" }, swatch, report.names[name]);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const chart of group.charts) {
        const i = chart.data.datasets.findIndex((dataset) => dataset.name === name);
        chart.setDatasetVisibility(i, shown);
        chart.update();
      }
    });
    legend.append(button);
  }
  paintLegend();
}

function paintLegend() {
  for (const swatch of all(".swatch")) swatch.style.background = colourOf(swatch.dataset.name);
}

// An arrow key moves to the next day, shows its values, and announces them.
function step(group, chart, event, box) {
  const n = chart.data.labels.length;
  const at = group.at ?? n - 1;
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: n - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  group.at = Math.min(Math.max(next, 0), n - 1);
  const elements = chart.getSortedVisibleDatasetMetas().map((meta) => ({ datasetIndex: meta.index, index: group.at }));
  const place = chart.getDatasetMeta(elements[0]?.datasetIndex ?? 0).data[group.at];
  chart.tooltip.setActiveElements(elements, { x: place.x, y: place.y });
  group.charts.forEach((each) => each.update());
  const values = elements.map(({ datasetIndex }) => {
    const { label, data } = chart.data.datasets[datasetIndex];
    return `${label} ${chart.plot.show(data[group.at]?.y ?? data[group.at])}`;
  });
  box.querySelector(".spoken").textContent = `${chart.data.labels[group.at]}: ${values.join(", ")}`;
}

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
Chart.defaults.font.size = 12;
const groups = all(".chart").map(makeGroup);

function repaint() {
  groups.forEach((group) => group.charts.forEach(paint));
  paintLegend();
}

document.addEventListener("themechange", repaint);

/* Print on the width of paper and in light colours. */

addEventListener("beforeprint", () => {
  document.documentElement.dataset.printing = "";
  repaint();
  for (const chart of groups.flatMap((group) => group.charts)) {
    chart.resize(PRINT_WIDTH, chart.canvas.closest(".tall") ? PRINT_HEIGHT : PRINT_HEIGHT / 2);
  }
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.printing;
  repaint();
  groups.forEach((group) => group.charts.forEach((chart) => chart.resize()));
});
