"use strict";

/* The page: data, theme, contents, tabs, tables. Texts from the data are set as textContent, never as HTML. */

const report = JSON.parse(document.getElementById("report-data").textContent);

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/* Number formats, the same as those of the tables that Python writes. */

const formatters = new Map();

function formatNumber(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  if (!formatters.has(digits)) formatters.set(digits, new Intl.NumberFormat("en-GB", fixed));
  const text = formatters.get(digits).format(value);
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
}

const formatPercent = (value, digits = 1) =>
  value === null || !Number.isFinite(value) ? "–" : `${formatNumber(100 * value, digits)}\u202f%`;

const STYLES = {
  number: (value) => formatNumber(value),
  percent: (value) => formatPercent(value),
  growth: (value) => formatPercent(value - 1),
};

/* CSV, with the quoting of Python. */

function parseCsv(text) {
  const rows = [];
  let row = [];
  // A quoted or plain cell, and what ends it. The flag y makes each match start where the last one ended.
  const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/gy;
  while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text);
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
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

const toNumber = (text) => (text === "" ? null : Number(text));
const toTitle = (column) => report.names[column] ?? column[0].toUpperCase() + column.slice(1);

/* Theme: that of the system until the reader chooses one. */

const themeButton = document.getElementById("theme");
const systemTheme = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemTheme.matches;
}

function announceTheme() {
  themeButton.setAttribute("aria-pressed", String(isDark()));
  document.dispatchEvent(new Event("themechange"));
}

themeButton.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  announceTheme();
});
systemTheme.addEventListener("change", announceTheme);
themeButton.setAttribute("aria-pressed", String(isDark()));

/* Contents: one link per section; "Figure 1: accumulated …" is shortened to "Figure 1". */

for (const section of all("main > section")) {
  const title = section.querySelector("h2").textContent.replace(/^((Table|Figure) \d):.*/, "$1");
  document.getElementById("contents").append(make("li", {}, make("a", { href: `#${section.id}` }, title)));
}

/* Tabs. Arrow keys move between them, as the ARIA practices recommend. */

for (const tabs of all(".tabs")) {
  const panels = all(":scope > .panel", tabs);
  if (panels.length < 2) continue;
  const buttons = panels.map((panel) => make("button", { type: "button", id: `${panel.id}-tab` }, panel.dataset.title));
  const choose = (chosen) =>
    panels.forEach((panel, i) => {
      panel.hidden = panel !== chosen;
      buttons[i].setAttribute("aria-selected", String(panel === chosen));
      buttons[i].tabIndex = panel === chosen ? 0 : -1;
    });
  panels.forEach((panel, i) => {
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", buttons[i].id);
    buttons[i].setAttribute("role", "tab");
    buttons[i].setAttribute("aria-controls", panel.id);
    buttons[i].addEventListener("click", () => choose(panel));
    buttons[i].addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (i + step + panels.length) % panels.length;
      choose(panels[next]);
      buttons[next].focus();
    });
  });
  const list = make("div", { className: "tab-list" }, ...buttons);
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Period");
  tabs.prepend(list);
  choose(panels.find((panel) => panel.dataset.title === tabs.dataset.chosen) ?? panels[0]);
}

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

function fillTable(box) {
  const { columns, rows } = readTable(box.dataset.fill);
  const format = STYLES[box.dataset.style];
  const kindOf = (i) => (columns[i] === "message" ? "prose" : !format || i === 0 ? "text" : "number");
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
    });
  }
  const cut = rows.length > MOST_ROWS ? `: first ${MOST_ROWS} of ${rows.length} rows; the CSV has all rows` : "";
  const caption = make("caption", {}, box.getAttribute("aria-label") + cut);
  const table = make("table", {}, caption, make("thead", {}, head), body);
  makeSortable(table);
  box.replaceChildren(table);
}

for (const box of all("[data-fill]")) {
  const details = box.closest("details");
  details.addEventListener("toggle", () => fillTable(box), { once: true });
}

/* Downloads. */

for (const button of all("button.download")) {
  button.addEventListener("click", () => {
    const blob = new Blob([report.csv[button.dataset.csv]], { type: "text/csv;charset=utf-8" });
    const link = make("a", { href: URL.createObjectURL(blob), download: `${button.dataset.csv}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
