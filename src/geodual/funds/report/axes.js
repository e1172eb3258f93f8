"use strict";

/* The axes of the charts: where their ticks are, and how values, days and labels are written. */

const DAY = 86400000; // milliseconds
const AXIS_WIDTH = 58; // the same in all panels, so that their days are aligned
const LOG_TICKS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000];

const isoDay = (time) => new Date(time).toISOString().slice(0, 10);

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
    ticks: { callback: showTime, maxRotation: 0, autoSkipPadding: 12, display: bottom },
  };
}

// Leave some room on the sides of the base on which there are values.
function pad(scale, plot) {
  const room = 0.04 * (scale.max - scale.min) || 0.01;
  if (scale.min < plot.base) scale.min -= room;
  if (scale.max > plot.base) scale.max = Math.min(scale.max + room, plot.most ?? Infinity);
}

// About six ticks, 1, 2 or 5 times a power of ten apart, with as many decimals as that takes.
function roundTicks(scale, plot) {
  const step = Math.max(roundStep((scale.max - scale.min) / 6), plot.least ?? 0);
  const first = Math.ceil(scale.min / step);
  const count = Math.floor(scale.max / step + 1e-9) - first + 1;
  scale.ticks = Array.from({ length: count }, (_, i) => ({ value: (first + i) * step }));
  scale.digits = Math.max(0, -Math.floor(Math.log10(step * plot.per) + 1e-9));
}

function logTicks(scale, plot) {
  const values = LOG_TICKS.filter((value) => value >= scale.min && value <= scale.max);
  if (values.length < 4) return roundTicks(scale, plot);
  scale.ticks = values.map((value) => ({ value }));
  scale.digits = 0;
}

function valueAxis(plot, logarithmic = false) {
  return {
    type: logarithmic ? "logarithmic" : "linear",
    bounds: "data",
    stacked: plot.kind === "stack",
    afterDataLimits: (scale) => (logarithmic ? undefined : pad(scale, plot)),
    afterBuildTicks: (scale) => (logarithmic ? logTicks : roundTicks)(scale, plot),
    afterFit: (scale) => {
      if (plot.kind !== "rows") scale.width = AXIS_WIDTH;
    },
    ticks: {
      maxRotation: 0,
      callback(value) {
        return plot.show(value, this.digits);
      },
    },
  };
}

function labelAxis(plot, labels) {
  const callback = plot.kind === "stack" ? (i) => labels[i].slice(0, 7) : (i) => labels[i];
  return { stacked: plot.kind === "stack", ticks: { maxRotation: 0, autoSkipPadding: 12, callback }, title: axisTitle(plot) };
}

// On narrow screens the names of rows are cut, so that the bars keep half of the width.
function rowAxis(labels, width) {
  const most = Math.max(10, Math.floor(width / 18));
  const cut = (text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return { ticks: { autoSkip: false, callback: (i) => cut(labels[i]) } };
}

// The edges of a histogram are multiples of a round step, and so are its ticks.
function edgeAxis(plot, edges) {
  return {
    type: "linear",
    offset: false,
    min: edges[0],
    max: edges.at(-1),
    ticks: { maxRotation: 0, callback: (value) => plot.value(value, plot.value === asPercent ? 0 : 1) },
    title: axisTitle(plot),
  };
}

const axisTitle = (plot) => ({ display: Boolean(plot.along), text: plot.along });

function axesOf(plot, data, canvas, bottom) {
  if (plot.kind === "rows") return { x: valueAxis(plot), y: rowAxis(data.labels, canvas.parentElement.clientWidth) };
  if (plot.kind === "days") return { x: timeAxis(data.labels, bottom), y: valueAxis(plot) };
  if (plot.kind === "histogram") return { x: edgeAxis(plot, data.edges), y: valueAxis(plot) };
  return { x: labelAxis(plot, data.labels), y: valueAxis(plot) };
}
