"use strict";

/* The picks of a rebalance day, and why a fund was picked. */

const { reasons } = report;
const daySelect = document.getElementById("pick-day");
const forecasterSelect = document.getElementById("pick-forecaster");
const pickRows = document.getElementById("pick-rows");
const pickReason = document.getElementById("pick-reason");

const holdings = readRecords("holdings").map((row, i) => ({
  date: row.date,
  forecaster: row.forecaster,
  fund: row.fund,
  weight: toNumber(row.weight),
  forecast: toNumber(row.forecast),
  realized: toNumber(row.realized),
  known: toNumber(row.known ?? ""),
  rank: reasons.ranks[i],
  neighbors: inGroups(reasons.neighbors[i], 3),
  near: inGroups(reasons.near[i], 2),
  apart: inGroups(reasons.apart[i], 2),
  adds: inGroups(reasons.adds[i], 2),
}));

// Lists are stored flat (see payload.py): cut them into groups.
function inGroups(flat, size) {
  return Array.from({ length: flat.length / size }, (_, i) => flat.slice(i * size, (i + 1) * size));
}

// A fund is shown by its code, and below it by its name if that is known.
const small = (text) => (text ? [make("small", {}, text)] : []);

// What else to know about a pick: its type, and the share of its factors that are known if some are not.
function remark(pick) {
  const type = report.facts[pick.fund]?.[1] ?? "";
  const known = pick.known !== null && pick.known < 1 ? say("{share} of its factors known", { share: formatPercent(pick.known, 0) }) : "";
  return [type, known].filter(Boolean).join(" · ");
}

// A forecast is a return, an excess return over the mean fund, or a rank between −½ and ½.
function formatForecast(pick) {
  return report.units[pick.forecaster] === "rank" ? formatNumber(pick.forecast, 2) : formatPercent(pick.forecast);
}

const MEANINGS = {
  return: say("the mean return of its neighbors"),
  excess: say("what its neighbors earned more than the mean fund of their time"),
  rank: say("the mean rank of its neighbors in their time, from −0.5 for the worst fund to 0.5 for the best"),
};
const UNITS = {
  return: say("a return"),
  excess: say("a return above that of the mean fund"),
  rank: say("a rank, from −0.5 for the worst fund to 0.5 for the best"),
};

function tellForecast(pick) {
  const unit = report.units[pick.forecaster] ?? "return";
  const meaning = (pick.neighbors.length ? MEANINGS : UNITS)[unit];
  return say("Forecast {forecast}: {meaning}.", { forecast: formatForecast(pick), meaning });
}

const numberCell = (text) => make("td", { className: "number" }, text);

function showPicks() {
  const picks = holdings.filter((pick) => pick.date === daySelect.value && pick.forecaster === forecasterSelect.value);
  document.getElementById("pick-caption").textContent =
    say("Held from {day} on by {forecaster}", {
      day: daySelect.value,
      forecaster: report.names[forecasterSelect.value],
    });
  pickRows.replaceChildren(...picks.map(makeRow));
  if (picks.length) explain(picks[0], pickRows.rows[0]);
  else pickReason.replaceChildren(make("p", {}, say("Nothing was held.")));
}

function makeRow(pick, i) {
  const button = make("button", { type: "button", className: "fund" }, pick.fund);
  const row = make(
    "tr",
    {},
    make("th", { scope: "row" }, button, ...small(nameOf(pick.fund)), ...small(remark(pick))),
    numberCell(String(i + 1)),
    numberCell(formatPercent(pick.weight)),
    numberCell(formatForecast(pick)),
    numberCell(formatPercent(pick.realized)),
    numberCell(pick.rank ? say("{n} of {n_all}", { n: pick.rank[0], n_all: pick.rank[1] }) : "–"),
  );
  button.addEventListener("click", () => explain(pick, row));
  return row;
}

function explain(pick, chosen) {
  for (const row of pickRows.rows) {
    row.classList.toggle("chosen", row === chosen);
    row.querySelector("button").setAttribute("aria-pressed", String(row === chosen));
  }
  pickReason.replaceChildren(
    make("h4", {}, pick.fund, ...small(nameOf(pick.fund))),
    make("p", {}, tellForecast(pick)),
    ...reasonsOf(pick),
  );
}

// Neighbors and what made them near; or what adds most to a forecast that is a sum.
function reasonsOf(pick) {
  if (pick.neighbors.length)
    return [
      neighborTable(pick),
      factorBars(say("What made its neighbors near"), pick.near),
      factorBars(say("What sets it apart from the universe"), pick.apart),
    ];
  if (pick.adds.length) return [factorBars(say("What adds most to its forecast"), pick.adds)];
  return [make("p", {}, say("This forecaster gives no reasons for single funds."))];
}

function neighborTable(pick) {
  const bar = barMaker(pick.neighbors.map(([, , earned]) => earned));
  const rows = pick.neighbors.map(([name, distance, earned]) => {
    const fund = reasons.funds[name];
    const shown = fund === pick.fund ? say("{fund} (itself, earlier)", { fund }) : fund;
    const earnedCell = make("td", { className: "number" }, formatPercent(earned));
    return make("tr", {}, make("th", { scope: "row" }, shown, ...small(nameOf(fund))), numberCell(formatNumber(distance, 2)), earnedCell,
      make("td", { className: "bar-cell" }, bar(earned)));
  });
  const head = make("tr", {}, make("th", { scope: "col" }, say("Neighbor")),
    make("th", { scope: "col", className: "number" }, say("Distance")),
    make("th", { scope: "col", className: "number" }, say("Earned")),
    make("td", { className: "bar-cell" }));
  const table = make("table", {}, make("caption", {}, make("span", {}, say("Nearest neighbors"))), make("thead", {}, head),
    make("tbody", {}, ...rows));
  const box = make("div", { className: "scroll", tabIndex: 0 }, table);
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", say("Nearest neighbors"));
  return box;
}

/* Bars start at the left, or in the middle if some values are negative; the numbers stand beside them. */

function barMaker(values) {
  const longest = Math.max(...values.map(Math.abs), 1e-12);
  const signed = values.some((value) => value < 0);
  return (value) => {
    const fill = make("span", { className: value < 0 ? "fill less" : "fill" });
    fill.style.width = `${((signed ? 50 : 100) * Math.abs(value)) / longest}%`;
    const bar = make("span", { className: signed ? "bar signed" : "bar" }, fill);
    bar.setAttribute("aria-hidden", "true");
    return bar;
  };
}

function factorBars(title, factors) {
  const heading = make("h5", {}, title);
  if (!factors.length) return make("div", {}, heading, make("p", {}, say("Distances of this metric cannot be split into factors.")));
  const bar = barMaker(factors.map(([, share]) => share));
  const items = factors.map(([name, share]) =>
    make("li", {}, make("span", { className: "factor" }, reasons.factors[name]), bar(share),
      make("span", { className: "share" }, formatPercent(share))),
  );
  return make("div", {}, heading, make("ul", { className: "factors" }, ...items));
}

for (const day of [...new Set(holdings.map((pick) => pick.date))].reverse()) daySelect.append(new Option(day, day));
for (const forecaster of report.forecasters) forecasterSelect.append(new Option(report.names[forecaster], forecaster));
forecasterSelect.value = report.best;
daySelect.addEventListener("change", showPicks);
forecasterSelect.addEventListener("change", showPicks);
showPicks();
