"use strict";

/* What each panel of a chart shows. Reading gives names, labels and series; histograms have edges and marks, too. */

const THIN_ABOVE = 2000; // days
const THIN_STEP = 5; // one point per week
const MOST_TYPES = 7; // shown by name; the others are summed up
const OTHERS = say("other types");

const asNumber = (value, digits = 3) => formatNumber(value, digits);
const asPercent = (value, digits = 1) => formatPercent(value, digits);
const asReturn = (value, digits = 1) => formatPercent(value - 1, digits);
const asCount = (value) => formatNumber(value, 0);

/* `base` is the value of the darker line; `per` is 100 for percentages; `decisions` are rebalance days; `least` is
   the smallest distance of two ticks; `along` names the horizontal axis. */

const PLOTS = {
  equity: { kind: "days", read: () => addBaselines(readDays("equity")), show: asReturn, per: 100, base: 1 },
  drawdown: { kind: "days", read: () => readDays("rolling_drawdown"), show: asPercent, per: 100, base: 0 },
  underwater: { kind: "days", read: () => sink(readDays("equity")), show: asPercent, per: 100, base: 0 },
  cash: { kind: "days", read: () => readDays("cash"), show: asPercent, per: 100, base: 0 },
  rolling_sharpe: { kind: "days", read: () => readDays("rolling_sharpe"), show: asTwo, per: 1, base: 0 },
  rolling_beta: { kind: "days", read: () => readDays("rolling_beta"), show: asTwo, per: 1, base: 1 },
  ic: { kind: "days", read: () => readDays("ic"), show: asNumber, per: 1, base: 0, decisions: true, points: true },
  ic_cumulated: { kind: "days", read: () => readDays("ic_cumulated"), show: asNumber, per: 1, base: 0, decisions: true },
  rank_autocorrelation: {
    kind: "days", read: () => readDays("rank_autocorrelation"), show: asTwo, per: 1, base: 0, decisions: true, points: true,
  },
  spreads: { kind: "days", read: () => cumulate(readDays("spreads")), show: asPercent, per: 100, base: 0, decisions: true },
  annual: { kind: "bars", read: () => readGroups(readTable("annual_returns")), show: asPercent, per: 100, base: 0 },
  fifths: { kind: "bars", read: () => readGroups(readFifths()), show: asPercent, per: 100, base: 0 },
  ic_decay: {
    kind: "steps", read: () => readGroups(readTable("ic_decay")), show: asNumber, per: 1, base: 0, points: true,
    along: say("months after the decision"),
  },
  ic_by_type: { kind: "rows", read: readTypes, show: asNumber, per: 1, base: 0 },
  exposure: { kind: "stack", read: readExposure, show: asPercent, per: 100, base: 0, most: 1 },
  ic_histogram: { kind: "histogram", read: readIcs, show: asCount, per: 1, base: 0, least: 1, along: say("IC"), value: asTwo },
  random: {
    kind: "histogram", read: readRandom, show: asCount, per: 1, base: 0, least: 1, along: say("annual return"), value: asPercent,
  },
};

function asTwo(value, digits = 2) {
  return formatNumber(value, digits);
}

/* Long lines show weekly points only, which looks the same and draws faster. */

function thin(rows) {
  if (rows.length <= THIN_ABOVE) return rows;
  return rows.filter((row, i) => i % THIN_STEP === 0 || i === rows.length - 1);
}

// Days × curves, from the first day on which a curve has a value.
function readDays(csv) {
  const { columns, rows } = readTable(csv);
  const first = rows.findIndex((row) => row.slice(1).some((text) => text !== ""));
  const points = thin(rows.slice(Math.max(first, 0)));
  const times = points.map((row) => Date.parse(row[0]));
  return {
    names: columns.slice(1),
    labels: points.map((row) => row[0]),
    series: columns.slice(1).map((name, j) =>
      points.map((row, i) => ({ x: times[i], y: toNumber(row[j + 1]) })),
    ),
  };
}

// The universe and momentum beside the portfolios, which begin and end on the same days.
function addBaselines(data) {
  if (!report.beside.length) return data;
  const { names, series } = readDays("baseline_equity");
  const more = report.beside.map((name) => series[names.indexOf(name)]);
  return { ...data, names: [...data.names, ...report.beside], series: [...data.series, ...more] };
}

// How far each curve is below its highest value so far, of the points shown.
function sink(data) {
  const series = data.series.map((points) => {
    let most = 0;
    return points.map(({ x, y }) => ({ x, y: y === null ? null : y / (most = Math.max(most, y)) - 1 }));
  });
  return { ...data, series };
}

function cumulate(data) {
  const series = data.series.map((points) => {
    let sum = 0;
    return points.map(({ x, y }) => ({ x, y: y === null ? null : (sum += y) }));
  });
  return { ...data, series };
}

function readGroups({ columns, rows }) {
  return {
    names: columns.slice(1),
    labels: rows.map((row) => row[0]),
    series: columns.slice(1).map((name, j) => rows.map((row) => toNumber(row[j + 1]))),
  };
}

function readFifths() {
  const { columns, rows } = readTable("quantile_returns");
  const whole = rows.filter((row) => row[0] === "both");
  const fifths = ["1", "2", "3", "4", "5"].map((fifth) => columns.indexOf(fifth));
  const titles = [say("{n} (worst)", { n: 1 }), "2", "3", "4", say("{n} (best)", { n: 5 })];
  return {
    columns: ["fifth", ...whole.map((row) => row[1])],
    rows: fifths.map((column, i) => [titles[i], ...whole.map((row) => row[column])]),
  };
}

/* Types are shown without the words that all of them begin or end with. */

function countShared(lists) {
  const most = Math.min(...lists.map((list) => list.length - 1));
  let n = 0;
  while (n < most && lists.every((list) => list[n] === lists[0][n])) n += 1;
  return n;
}

function shorten(types) {
  if (types.length < 2) return types;
  const words = types.map((type) => type.split(" "));
  const rest = words.map((list) => list.slice(countShared(words)));
  const end = countShared(rest.map((list) => list.toReversed()));
  return rest.map((list) => list.slice(0, list.length - end).join(" "));
}

// The types of one forecaster, those with most funds first.
function readTypes(forecaster) {
  const rows = readRecords("ic_by_type").filter((row) => row.forecaster === forecaster);
  rows.sort((a, b) => Number(b.funds) - Number(a.funds));
  return { names: [forecaster], labels: shorten(rows.map((row) => row.type)), series: [rows.map((row) => toNumber(row.ic_mean))] };
}

// Shares by rebalance day; the largest types have a color of their own.
function readExposure(forecaster) {
  const { columns, rows } = readTable("exposure");
  const own = rows.filter((row) => row[1] === forecaster);
  const known = columns.slice(2).filter((type) => type !== "unknown");
  const short = new Map(shorten(known).map((text, i) => [known[i], text]));
  const types = columns.slice(2).map((type, j) => ({ type, values: own.map((row) => Number(row[j + 2])) }));
  const size = ({ values }) => values.reduce((a, b) => a + b, 0);
  types.sort((a, b) => size(b) - size(a));
  const [shown, rest] = [types.slice(0, MOST_TYPES), types.slice(MOST_TYPES).filter(size)];
  if (rest.length) shown.push({ type: OTHERS, values: own.map((_, i) => rest.reduce((sum, { values }) => sum + values[i], 0)) });
  return {
    names: shown.map(({ type }) => short.get(type) ?? (type === "unknown" ? say("unknown") : type)),
    labels: own.map((row) => row[0]),
    series: shown.map(({ values }) => values),
    // Grays for what has no type of its own.
    colors: shown.map(({ type }, i) => ({ unknown: "--index", [OTHERS]: "--bar" })[type] ?? report.palette[i]),
  };
}

/* Histograms: edges are multiples of a round step, with about `most` bins. */

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((multiple) => multiple * power >= rough);
}

function countBins(values, marks, most) {
  const everything = [...values, ...marks.map(({ value }) => value)];
  const [low, high] = [Math.min(...everything), Math.max(...everything)];
  const step = roundStep((high - low) / most || 0.01);
  const first = Math.floor(low / step);
  const bins = new Array(Math.floor(high / step) - first + 1).fill(0);
  for (const value of values) bins[Math.floor(value / step) - first] += 1;
  return { edges: Array.from({ length: bins.length + 1 }, (_, i) => (first + i) * step), bins };
}

function readHistogram(values, marks, most) {
  const { edges, bins } = countBins(values, marks, most);
  return { names: [""], labels: bins.map((_, i) => i), series: [bins], edges, marks };
}

function readIcs(forecaster) {
  const values = readRecords("ic").map((row) => toNumber(row[forecaster])).filter((value) => value !== null);
  if (!values.length) return readHistogram([0], [], 12);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return readHistogram(values, [{ name: forecaster, value: mean, dashed: true }], 12);
}

function readRandom() {
  const values = readRecords("random_portfolios").map((row) => Number(row.annual_return));
  const whole = readRecords("table1").filter((row) => row.period === "both" && row.annual_return !== "");
  const marks = whole.map((row) => ({ name: row.forecaster, value: Number(row.annual_return), dashed: row.forecaster === "index" }));
  return readHistogram(values, marks, 40);
}
