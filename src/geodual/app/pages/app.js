"use strict";
// What the pages do besides showing: send files, follow jobs, and post forms. Texts are set, never parsed as HTML.

const base = document.body.dataset.base;
const alertBox = document.getElementById("alert");
const PAUSE = 700; // milliseconds between two looks at a job

async function ask(path, options = {}) {
  let answer, told;
  try {
    answer = await fetch(`${base}/${path}`, options);
    told = await answer.json();
  } catch {
    throw new Error("The app does not answer. Start it again with geodual app.");
  }
  if (!answer.ok) throw new Error(told.error);
  return told;
}

function post(path, body = {}) {
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

// Do something, and show in a box what goes wrong; nothing is pressed twice meanwhile.
async function attempt(box, button, action) {
  box.textContent = "";
  if (button) button.disabled = true;
  try {
    await action();
  } catch (error) {
    box.textContent = error.message;
  } finally {
    if (button) button.disabled = false;
  }
}

function go(path) {
  const address = `${base}/${path}`;
  if (address === location.pathname) location.reload();
  else location.href = address;
}

async function send(kind, file, largest) {
  if (file.size > largest)
    throw new Error(`The file has ${Math.ceil(file.size / 1e6)} MB, and ${largest / 1e6} MB is the limit.`);
  return ask(`send/${kind}`, { method: "POST", headers: { "X-File-Name": encodeURIComponent(file.name.toWellFormed?.() ?? file.name) }, body: file });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

// Follow a job until it is over, and return what is known of it then.
async function follow(name, show = () => {}) {
  for (;;) {
    const job = await ask(`jobs/${name}`);
    if (["done", "failed", "canceled"].includes(job.state)) return job;
    show(job);
    await pause();
  }
}

function minutes(seconds) {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

// A file that misses its place must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());

// Take a file that is dropped on an area, and show it on a box.
function catchDrops(area, box, take) {
  for (const name of ["dragover", "dragleave", "drop"])
    area.addEventListener(name, (event) => {
      box.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
    });
}

// A table: dropped on the page, or chosen.
for (const input of document.querySelectorAll("[data-send]")) {
  const box = input.closest(".drop");
  const status = box.querySelector(".status");
  const take = (file) =>
    attempt(alertBox, input, async () => {
      status.textContent = `Sending ${file.name}…`;
      try {
        const sent = await send(input.dataset.send, file, Number(input.dataset.largest));
        go(input.dataset.then ? `${input.dataset.then}?table=${sent.name}` : sent.go);
      } catch (error) {
        status.textContent = "";
        input.value = "";
        throw error;
      }
    });
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  catchDrops(document, box, take);
}

// A job: its progress, and the page again when it is over.
for (const box of document.querySelectorAll("[data-job]")) {
  const [status, bar, spoken] = [".status", "progress", ".spoken"].map((part) => box.querySelector(part));
  attempt(alertBox, null, async () => {
    await follow(box.dataset.job, (job) => {
      if (job.state === "waiting") return;
      const left = job.left === null ? "" : `, about ${minutes(job.left)} left`;
      status.textContent = job.total ? `${job.done} of ${job.total} (${job.last})${left}` : job.last || "Starting";
      if (job.total) [bar.max, bar.value] = [job.total, job.done];
      else bar.removeAttribute("value");
      const tenths = job.total ? `${Math.floor((10 * job.done) / job.total)}0 % done` : job.last;
      if (spoken.textContent !== tenths) spoken.textContent = tenths;
    });
    location.reload();
  });
}

// The index and the facts that belong to a table.
for (const box of document.querySelectorAll("[data-given]")) {
  const kind = box.dataset.given;
  const table = document.getElementById("settings").dataset.table;
  const [input, status, remove] = ["input[type=file]", ".status", ".remove"].map((part) => box.querySelector(part));
  const column = box.querySelector("#column");
  let name = "";
  const look = async (job) => {
    status.textContent = "Reading…";
    const over = await follow(job);
    status.textContent = over.message || over.told;
    status.classList.toggle("failure", Boolean(over.message));
  };
  const give = (file) =>
    attempt(status, input, async () => {
      status.classList.remove("failure");
      if (file) {
        status.textContent = "Sending…";
        name = (await send(kind, file, Number(input.dataset.largest))).name;
      }
      remove.hidden = false;
      await look((await post(`tables/${table}/${kind}`, { file: name, column: column?.value ?? "" })).job);
    });
  catchDrops(box, box, give);
  input.addEventListener("change", () => give(input.files[0]));
  column?.addEventListener("change", () => !remove.hidden && give());
  remove.addEventListener("click", () =>
    attempt(status, remove, async () => {
      await post(`tables/${table}/${kind}`, {});
      [input.value, name, remove.hidden] = ["", "", true];
      status.classList.remove("failure");
    }),
  );
  if (status.dataset.running) attempt(status, null, () => look(status.dataset.running));
}

document.getElementById("settings")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const fields = new FormData(form);
  const values = Object.fromEntries([...new Set(fields.keys())].map((name) => [name, fields.getAll(name)]));
  attempt(form.querySelector(".alert"), event.submitter, async () => {
    const name = document.getElementById("run-name").value;
    go((await post("begin", { table: form.dataset.table, name, form: values })).go);
  });
});

// Funds to choose: the table, what is held, and cash.
for (const form of document.querySelectorAll("[data-choose]")) {
  const [table, cash, held] = ["#pick-table", "#cash", "[data-holdings]"].map((part) => form.querySelector(part));
  if (!table) continue;
  const [input, status, remove] = ["input", ".status", ".remove"].map((part) => held.querySelector(part));
  const tell = async (what, more) => {
    go((await post(`${form.dataset.choose}/${what}`, { table: table.value, cash: cash.value, ...more })).go);
  };
  const look = (control, find) => attempt(form.querySelector(".alert"), control, async () => tell("holdings", await find()));
  const take = async (file) => {
    status.textContent = "Sending…";
    await look(input, async () => ({ file: (await send("holdings", file, Number(input.dataset.largest))).name }));
    status.textContent = "";
  };
  catchDrops(form, held, take);
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  table.addEventListener("change", () => remove && look(table, async () => ({})));
  remove?.addEventListener("click", () => look(remove, async () => ({ file: "" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form.querySelector(".alert"), event.submitter, () => tell("pick"));
  });
}

for (const form of document.querySelectorAll("[data-sheet]"))
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form.querySelector(".alert"), event.submitter, async () => {
      go((await post(form.dataset.sheet, { fund: form.querySelector("input").value })).go);
    });
  });

for (const button of document.querySelectorAll("[data-post]"))
  button.addEventListener("click", () =>
    attempt(alertBox, button, async () => {
      const { go: next } = await post(button.dataset.post);
      if (next) go(next);
    }),
  );

for (const button of document.querySelectorAll("[data-export]"))
  button.addEventListener("click", () => {
    const status = button.parentElement.querySelector(".status");
    attempt(status, button, async () => {
      const { job, file } = await post(button.dataset.export);
      const over = await follow(job, (now) => (status.textContent = now.last));
      if (over.message) throw new Error(over.message);
      status.textContent = "";
      location.href = `${base}/${file}`;
    });
  });

document.getElementById("quit").addEventListener("click", (event) =>
  attempt(alertBox, event.target, async () => {
    const { active } = await post("quit");
    if (active) {
      if (!confirm("A run is in progress. End it and quit?")) return;
      await post("quit", { sure: true });
    }
    const [farewell] = [document.createElement("p")];
    farewell.textContent = "The app has ended. You can close this page.";
    document.getElementById("main").replaceChildren(farewell);
  }),
);
