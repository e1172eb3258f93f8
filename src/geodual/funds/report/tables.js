"use strict";

/* Tables: reading the embedded CSVs, sorting, and filling long tables when they are opened. */

/* CSV, with the quoting of Python, and an apostrophe before texts that look like formulas. */

const unmark = (text) => (/^'+[=+\-@\t\r\n＝＋－＠]/.test(text) ? text.slice(1) : text);

function parseCsv(text) {
  const rows = [];
  let row = [];
  // A quoted or plain cell, and what ends it. The flag y makes each match start where the last one ended.
  const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/gy;
  while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text);
    row.push(unmark(quoted === undefined ? plain : quoted.replaceAll('""', '"')));
    if (end !== ",") {
      rows.push(row);
      row = [];
    }
  }
  return { columns: rows[0] ?? [], rows: rows.slice(1) };
}

const parsed = new Map();
function readTable(name) {
  if (!parsed.has(name)) parsed.set(name, parseCsv(report.csv[name]));
  return parsed.get(name);
}

// Rows as objects, by column.
function readRecords(name) {
  const { columns, rows } = readTable(name);
  return rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));
}

const toNumber = (text) => (text === "" ? null : Number(text));
const TITLES = {
  date: say("Date"),
  forecaster: say("Forecaster"),
  fund: say("Fund"),
  kind: say("Kind"),
  matters: say("Matters"),
  count: say("Count"),
  message: say("Message"),
  unknown: say("Unknown"),
};
const toTitle = (column) => report.names[column] ?? TITLES[column] ?? column[0].toUpperCase() + column.slice(1);
const nameOf = (fund) => report.facts[fund]?.[0] ?? "";

/* Sorting: numbers by their exact value, missing values last in both directions. */

const sortKey = (cell) => {
  if (cell.dataset.value === undefined) return cell.textContent;
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
};

function compareKeys(a, b) {
  if (a === null || b === null) return null;
  return typeof a === "number" ? a - b : a.localeCompare(b);
}

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
  rows.sort(([a], [b]) => {
    const order = compareKeys(a, b);
    return order === null ? (a === null) - (b === null) : direction * order;
  });
  body.append(...rows.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((cell, i) =>
    i === column
      ? cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending")
      : cell.removeAttribute("aria-sort"),
  );
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const numeric = cell.classList.contains("number");
    const button = make("button", { type: "button" }, cell.textContent);
    button.addEventListener("click", () => {
      const sorted = cell.getAttribute("aria-sort");
      // The first click shows the largest number, or the first text, on top.
      const first = numeric ? -1 : 1;
      const direction = sorted === null ? first : sorted === "ascending" ? -1 : 1;
      sortTable(table, column, direction);
    });
    cell.replaceChildren(button);
  });
}

all("table.sortable").forEach(makeSortable);

/* Long tables are built only when they are opened. */

const MOST_ROWS = 6000; // more would slow the page down
const STYLES = {
  number: (value) => formatNumber(value),
  percent: (value) => formatPercent(value),
  growth: (value) => formatPercent(value - 1),
};
const TEXTS = ["date", "forecaster", "fund", "kind"];

function fillTable(box) {
  const { columns, rows } = readTable(box.dataset.fill);
  const format = STYLES[box.dataset.style];
  const kindOf = (i) => {
    if (columns[i] === "message") return "prose";
    return !format || TEXTS.includes(columns[i]) ? "text" : "number";
  };
  const head = make("tr");
  columns.forEach((column, i) =>
    head.append(make("th", { scope: "col", className: kindOf(i) }, toTitle(column))),
  );
  const body = make("tbody");
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    row.forEach((text, i) => {
      const cell = line.appendChild(i === 0 ? make("th", { scope: "row" }) : make("td"));
      cell.className = kindOf(i);
      cell.textContent = cell.className === "number" ? format(toNumber(text)) : text;
      if (cell.className === "number") cell.dataset.value = text;
      if (columns[i] === "forecaster") cell.textContent = report.names[text] ?? text;
      if (columns[i] === "fund" && nameOf(text)) cell.append(make("small", {}, nameOf(text)));
    });
  }
  const cut =
    rows.length > MOST_ROWS
      ? say(": first {n} of {n_all} rows; the CSV has all rows", { n: MOST_ROWS, n_all: rows.length })
      : "";
  const caption = make("caption", {}, make("span", {}, box.getAttribute("aria-label") + cut));
  const table = make("table", {}, caption, make("thead", {}, head), body);
  makeSortable(table);
  box.replaceChildren(table);
}

for (const box of all("[data-fill]")) {
  const details = box.closest("details");
  details.addEventListener("toggle", () => fillTable(box), { once: true });
}
