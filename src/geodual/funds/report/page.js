"use strict";

/* The page: data, formats, theme, contents, tabs, downloads. Texts from the data are set as textContent, never as HTML. */

const report = JSON.parse(document.getElementById("report-data").textContent);

// A text in the language of the page, filled in.
const say = (template, values = {}) =>
  (report.texts?.[template] ?? template).replace(/\{(\w+)\}/g, (_, name) => values[name]);

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
  value === null || !Number.isFinite(value) ? "–" : say("{n}\u202f%", { n: formatNumber(100 * value, digits) });

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

/* Contents: the links to the section in view and to its group are marked, and kept in sight. */

const rail = document.querySelector(".rail");
const linkTo = (id) => rail.querySelector(`a[href="#${id}"]`);

function markCurrent(section) {
  const chosen = [linkTo(section.id), linkTo(section.closest(".group").id)];
  for (const link of all("a[aria-current]", rail)) if (!chosen.includes(link)) link.removeAttribute("aria-current");
  for (const link of chosen) link.setAttribute("aria-current", "true");
  const shown = chosen.find((link) => link.offsetParent) ?? rail;
  const [box, place] = [rail.getBoundingClientRect(), shown.getBoundingClientRect()];
  if (place.top < box.top || place.bottom > box.bottom) rail.scrollTop += place.top - box.top - box.height / 2;
  if (place.left < box.left || place.right > box.right) rail.scrollLeft += place.left - box.left - box.width / 3;
}

// A section is in view if it reaches into a strip below the top of the window.
const watcher = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => markCurrent(entry.target)),
  { rootMargin: "-20% 0px -75% 0px" },
);
all(".group > section").forEach((section) => watcher.observe(section));

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
  list.setAttribute("aria-label", tabs.dataset.label);
  tabs.prepend(list);
  choose(panels.find((panel) => panel.dataset.title === tabs.dataset.chosen) ?? panels[0]);
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
