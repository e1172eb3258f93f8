"use strict";

/* The charts: Chart.js draws them, buttons are the legend, arrow keys announce values to screen readers. */

const PRINT_WIDTH = 690; // pixels that fit on A4
const PRINT_HEIGHT = 300;
const ROW_HEIGHT = 26; // of a horizontal bar

const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The color of a curve by name; names with two hyphens are colors of the style sheet, which depend on the theme.
function colorOf(name) {
  if (name === "index") return cssColor("--index");
  return name.startsWith("--") ? cssColor(name) : (report.colors[name] ?? name);
}

/* Vertical lines: the start of the test period, the day under the pointer, and values marked in a histogram. */

function drawLine(chart, x, color, dash, width = 1) {
  const { ctx, chartArea } = chart;
  if (x < chartArea.left || x > chartArea.right) return;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
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
    drawLine(chart, place, cssColor("--muted"), [2, 3]);
    if (!chart.canvas.closest(".plot").classList.contains("tall")) return;
    chart.ctx.save();
    chart.ctx.fillStyle = cssColor("--muted");
    chart.ctx.font = `12px ${Chart.defaults.font.family}`;
    chart.ctx.fillText(say("test period →"), place + 5, chart.chartArea.top + 10);
    chart.ctx.restore();
  },
  afterDatasetsDraw(chart) {
    const { group } = chart;
    if (group?.at === undefined || group.at === null) return;
    drawLine(chart, chart.scales.x.getPixelForValue(group.times[group.at]), cssColor("--muted"), []);
  },
};

const markLines = {
  id: "markLines",
  afterDatasetsDraw(chart) {
    for (const { name, value, dashed } of chart.marks ?? []) {
      if (chart.hidden.has(name)) continue;
      drawLine(chart, chart.scales.x.getPixelForValue(value), colorOf(name), dashed ? [5, 4] : [], 2.4);
    }
  },
};

/* Building. */

function makeDataset(plot, data, i) {
  const name = data.names[i];
  const lines = plot.kind === "days" || plot.kind === "steps";
  const middle = (at) => (data.edges[at] + data.edges[at + 1]) / 2;
  return {
    name,
    color: data.edges ? "--bar" : (data.colors?.[i] ?? name),
    label: data.colors ? name : (report.names[name] ?? name),
    data: data.edges ? data.series[i].map((y, at) => ({ x: middle(at), y })) : data.series[i],
    borderWidth: lines ? (name === report.featured ? 2.4 : 1.5) : 0,
    borderDash: lines && name === "index" ? [5, 4] : [],
    pointRadius: plot.points ? 2 : 0,
    pointHoverRadius: 3,
    spanGaps: true,
    clip: 6,
    categoryPercentage: data.edges ? 1 : 0.84,
    barPercentage: data.edges ? 0.92 : 1,
  };
}

function titleAt(plot, data, at) {
  if (!data.edges) return data.labels[at];
  return say("{low} to {high}", { low: plot.value(data.edges[at]), high: plot.value(data.edges[at + 1]) });
}

function tooltipOf(plot, data) {
  const sorted = plot.kind === "days" || plot.kind === "steps";
  const valueOf = (item) => (plot.kind === "rows" ? item.parsed.x : item.parsed.y);
  return {
    filter: plot.kind === "stack" ? (item) => item.parsed.y > 0 : undefined,
    itemSort: sorted ? (a, b) => b.parsed.y - a.parsed.y : undefined,
    usePointStyle: true,
    boxWidth: 8,
    boxHeight: 8,
    callbacks: {
      title: (items) => items.slice(0, 1).map((item) => titleAt(plot, data, item.dataIndex)),
      label: (item) => ` ${item.dataset.label}  ${plot.show(valueOf(item))}`.replace("   ", " "),
    },
  };
}

function makeChart(canvas, group) {
  const plot = PLOTS[canvas.dataset.plot];
  const data = plot.read(group.forecaster);
  const days = plot.kind === "days";
  const bottom = canvas === group.canvases.at(-1) || group.beside;
  if (plot.kind === "rows") canvas.parentElement.style.height = `${50 + ROW_HEIGHT * data.labels.length}px`;
  const chart = new Chart(canvas, {
    type: days || plot.kind === "steps" ? "line" : "bar",
    data: { labels: data.labels, datasets: data.names.map((_, i) => makeDataset(plot, data, i)) },
    options: {
      animation: false,
      maintainAspectRatio: false,
      normalized: true,
      indexAxis: plot.kind === "rows" ? "y" : "x",
      layout: { autoPadding: false, padding: { top: 6, right: 12 } },
      interaction: { mode: "index", axis: plot.kind === "rows" ? "y" : "x", intersect: false },
      onHover: (event, elements) => days && group.point(elements[0]?.index ?? null),
      scales: axesOf(plot, data, canvas, bottom),
      plugins: { legend: { display: false }, tooltip: tooltipOf(plot, data) },
    },
    plugins: [...(days ? [dayLines] : []), ...(data.marks ? [markLines] : [])],
  });
  if (days) {
    group.times = data.labels.map((label) => Date.parse(label));
    chart.group = group;
  }
  return Object.assign(chart, { plot, marks: data.marks, hidden: new Set(), titles: (at) => titleAt(plot, data, at) });
}

// Colors come from the style sheet, so a change of theme paints all charts again.
function paint(chart) {
  const [text, grid] = [cssColor("--muted"), cssColor("--rule")];
  const values = chart.plot.kind === "rows" ? "x" : "y";
  for (const dataset of chart.data.datasets) {
    const color = colorOf(dataset.color);
    Object.assign(dataset, { borderColor: color, backgroundColor: color, pointBackgroundColor: color });
  }
  for (const [key, axis] of Object.entries(chart.options.scales)) {
    axis.ticks = { ...axis.ticks, color: text };
    axis.title = { ...axis.title, color: text };
    axis.border = { display: false };
    axis.grid =
      key === values ? { color: (line) => (line.tick.value === chart.plot.base ? text : grid) } : { display: false };
  }
  Object.assign(chart.options.plugins.tooltip, {
    backgroundColor: cssColor("--raised"),
    titleColor: cssColor("--text"),
    bodyColor: cssColor("--text"),
    borderColor: grid,
    borderWidth: 1,
    padding: 10,
  });
  chart.update();
}

/* A chart: one or more panels with their legend, switch, chooser and keys. */

function makeGroup(box) {
  const group = { box, canvases: all("canvas", box), beside: Boolean(box.querySelector(".beside")), at: null };
  group.forecaster = report.best;
  group.point = (index) => {
    if (index === group.at) return;
    group.at = index;
    group.charts.forEach((chart) => chart.draw());
  };
  build(group);
  group.canvases.forEach((canvas, i) => {
    canvas.addEventListener("mouseout", () => group.point(null));
    canvas.addEventListener("keydown", (event) => step(group, group.charts[i], event));
  });
  addChooser(group);
  box.querySelector(".log-switch")?.addEventListener("change", (event) => {
    const chart = group.charts[0];
    chart.options.scales.y = valueAxis(chart.plot, event.target.checked);
    paint(chart);
  });
  return group;
}

function build(group) {
  group.charts?.forEach((chart) => chart.destroy());
  group.charts = group.canvases.map((canvas) => makeChart(canvas, group));
  group.charts.forEach(paint);
  addLegend(group);
}

function addChooser(group) {
  const select = group.box.querySelector(".chooser");
  if (!select) return;
  for (const forecaster of report.forecasters) select.append(new Option(report.names[forecaster], forecaster));
  select.value = group.forecaster;
  select.addEventListener("change", () => {
    group.forecaster = select.value;
    build(group);
  });
}

// What the legend lists: marked values in a histogram, curves or bars elsewhere; nothing if there is only one.
function legendItems(group) {
  const items = new Map();
  for (const chart of group.charts) {
    const entries = chart.marks
      ? chart.marks.map(({ name }) => ({ name, label: report.names[name], color: name }))
      : chart.data.datasets;
    for (const { name, label, color } of entries) items.set(name, { label, color });
  }
  return items.size > 1 || group.box.querySelector(".log-switch") ? [...items] : [];
}

function addLegend(group) {
  const buttons = legendItems(group).map(([name, { label, color }]) => {
    const swatch = make("span", { className: "swatch" });
    swatch.dataset.color = color;
    const button = make("button", { type: "button" }, swatch, label);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      group.charts.forEach((chart) => setShown(chart, name, shown));
    });
    return button;
  });
  const legend = group.box.querySelector(".legend");
  legend.hidden = !buttons.length;
  legend.replaceChildren(...buttons);
  paintLegend();
}

function setShown(chart, name, shown) {
  const i = chart.data.datasets.findIndex((dataset) => dataset.name === name);
  if (i >= 0) chart.setDatasetVisibility(i, shown);
  chart.hidden[shown ? "delete" : "add"](name);
  chart.update();
}

function paintLegend() {
  for (const swatch of all(".swatch")) swatch.style.background = colorOf(swatch.dataset.color);
}

// An arrow key moves to the next day, bar or bin, shows its values, and announces them.
function step(group, chart, event) {
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
    return `${label} ${chart.plot.show(data[group.at]?.y ?? data[group.at])}`.trim();
  });
  group.box.querySelector(".spoken").textContent = `${chart.titles(group.at)}: ${values.join(", ")}`;
}

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
Chart.defaults.font.size = 12;
const groups = all(".chart").map(makeGroup);

function repaint() {
  groups.forEach((group) => group.charts.forEach(paint));
  paintLegend();
}

document.addEventListener("themechange", repaint);

/* Print on the width of paper and in light colors. */

addEventListener("beforeprint", () => {
  document.documentElement.dataset.printing = "";
  repaint();
  for (const chart of groups.flatMap((group) => group.charts)) {
    const box = chart.canvas.parentElement;
    const height = box.classList.contains("tall") ? PRINT_HEIGHT : PRINT_HEIGHT / 2;
    chart.resize(PRINT_WIDTH, chart.plot.kind === "rows" ? box.clientHeight : height);
  }
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.printing;
  repaint();
  groups.forEach((group) => group.charts.forEach((chart) => chart.resize()));
});
