"""What the server answers: pages, uploads, jobs and files."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote, unquote

from tornado.web import HTTPError, stream_request_body

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError
from geodual.funds.run import PICKS, REPORT, SHEETS

from . import guard
from .form import make_form, read_form, refill
from .guard import Guarded, Nothing
from .jobs import Job, cancel
from .runs import ORDERS, PICKED, compared_figures, differing_settings, figure_titles, list_runs
from .uploads import Given, Receiver

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".html": "text/html",
    ".csv": "text/csv",
    ".svg": "image/svg+xml",
    ".zip": "application/zip",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_FIGURE = "figure1.svg"  # accumulated returns
_CHUNK = 1 << 20  # bytes of a file that are read at a time
_EXPORTS = {"workbook": ".xlsx", "archive": ".zip"}  # function of `work`, and the kind of file that it writes


class _Action(Guarded):
    """Something that the page asks for with a small JSON object."""

    def asked(self) -> dict[str, Any]:
        """Return the object that came with the request."""
        try:
            known = parse_nested(json.loads, self.request.body.decode() or "{}")
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise HTTPError(400, reason="This is no JSON object")
        return known


class Start(Guarded):
    """Lets the browser that the app has started in, once."""

    def prepare(self) -> None:
        """Take the key in place of the token."""
        if self.request.host not in self.desk.hosts:
            raise HTTPError(403, reason="Wrong host")

    def get(self, key: str) -> None:
        if not self.desk.key or key != self.desk.key:
            raise HTTPError(403, reason="This address has been used; take the one in the terminal")
        self.desk.key = ""
        self.redirect(f"/{self.desk.token}/")


class Home(Guarded):
    """The first page: drop a table, and all runs."""

    def get(self) -> None:
        runs, unfinished = list_runs(self.desk.folder)
        studies = {name: job for (kind, name), job in self.desk.latest.items() if kind == "study"}
        others = dict.fromkeys(unfinished, "")
        others |= {name: job.state for name, job in studies.items() if job.is_over and job.state != "done"}
        active = {name: job for name, job in studies.items() if not job.is_over}
        others = {name: state for name, state in others.items() if name not in active}
        self.show("home.html", runs=runs, others=others, active=active)


@stream_request_body
class Send(Guarded):
    """Takes a file, chunk by chunk; nothing of it is kept in memory."""

    receiver: Receiver | None = None
    problem = ""

    def prepare(self) -> None:
        super().prepare()
        size, largest = self.request.headers.get("Content-Length", ""), self.desk.largest
        if not re.fullmatch(r"[0-9]{1,18}", size):
            raise HTTPError(411, reason="The size of the file is missing")
        # A file that is refused is read, too, and forgotten: browsers look at the answer only afterward.
        connection: Any = self.request.connection
        connection.set_max_body_size(int(size))
        if int(size) > largest:
            told = f"The file has {int(size) / 1e6:,.0f} MB, and {largest / 1e6:,.0f} MB is the limit"
            raise HTTPError(413, reason=told)
        self.receiver = Receiver(self.desk.uploads, unquote(self.request.headers.get("X-File-Name", "")))

    def data_received(self, chunk: bytes) -> None:
        if self.receiver is not None:
            try:
                self.receiver.take(chunk)
            except OSError as error:
                self.problem = (
                    f"The file cannot be kept ({error.strerror}). Make room on the disk, and try again."
                )
                self._drop()

    def post(self, kind: str) -> None:
        """Keep the file, and look into it if it is a table."""
        if self.receiver is None:
            raise DataError(self.problem)
        upload, self.receiver = self.receiver.finish(), None
        self.desk.files[upload.name] = upload
        if kind == "table":
            upload.look = self.desk.views.add(Job("look", {"table": upload.file}))
        self.finish({"name": upload.name, "go": f"tables/{upload.name}"})

    def on_finish(self) -> None:
        self._drop()

    def on_connection_close(self) -> None:
        self._drop()

    def _drop(self) -> None:
        """Remove a file that has not come to its end."""
        if self.receiver is not None:
            self.receiver.drop()
            self.receiver = None


class Table(Guarded):
    """A table: what was understood and found, and the settings of a study."""

    def get(self, name: str) -> None:
        upload = self.desk.upload(name)
        assert upload.look is not None
        found = upload.look.result
        form = refill(make_form(found.get("suggestions", ())), upload.form)
        self.show("table.html", upload=upload, job=upload.look, found=found, form=form)


class Give(_Action):
    """Takes the index or the facts that belong to a table, or takes them away."""

    def post(self, name: str, kind: str) -> None:
        asked, table = self.asked(), self.desk.upload(name)
        before = table.given.pop(kind, None)
        if "file" not in asked:
            self.finish({})
            return
        file = self.desk.upload(str(asked["file"])) if asked["file"] or before is None else before.upload
        column = str(asked.get("column", "")).strip()
        if kind == "index":
            work = Job("look_at_index", {"index": file.file, "column": column})
        else:
            codes = table.look.result.get("codes", []) if table.look is not None else []
            work = Job("look_at_facts", {"facts": file.file, "codes": codes})
        table.given[kind] = Given(file, column, self.desk.views.add(work))
        self.finish({"job": work.name})


class Begin(_Action):
    """Starts a study."""

    def post(self) -> None:
        asked = self.asked()
        form = asked.get("form")
        if not isinstance(form, dict) or not all(isinstance(texts, list) for texts in form.values()):
            raise HTTPError(400, reason="The settings are missing")
        form = {name: [str(text) for text in texts] for name, texts in form.items()}
        settings, jobs = read_form(form)
        table, wanted = str(asked.get("table", "")), str(asked.get("name", ""))
        self.desk.upload(table).form = form
        name = self.desk.start_study(wanted, table, {"settings": settings, "jobs": jobs})
        self.finish({"go": f"runs/{quote(name)}"})


class Run(_Action):
    """A run: its progress, or its results; and what can be done with it."""

    def get(self, name: str) -> None:
        job = self.desk.view(name)
        if job.state != "done":
            self.show("run.html", name=name, job=job)
            return
        run, picking = self.desk.run(name), self.desk.latest.get(("pick", name))
        has_page = (self.desk.run_folder(name) / PICKS).is_file()
        picks = self.desk.picks(name)
        self.show("run.html", name=name, job=job, run=run, picking=picking, picks=picks, has_page=has_page)

    def post(self, name: str, what: str) -> None:
        """Resume a study, or export its files."""
        if what == "resume":
            self.desk.resume(name)
            self.finish({"go": f"runs/{quote(name)}"})
            return
        target = self.desk.uploads / f"{token_hex(16)}{_EXPORTS[what]}"
        arguments = {"folder": str(self.desk.run_folder(name)), "target": str(target)}
        job = self.desk.views.add(Job(what, arguments))
        self.finish({"job": job.name, "file": f"jobs/{job.name}/{quote(name)}{target.suffix}"})


class Choose(Guarded):
    """The funds to hold next, with the settings of a run: what they are chosen from, and the result."""

    def get(self, name: str) -> None:
        run, choice, tables = self.desk.run(name), self.desk.choice(name), self.desk.tables()
        table = choice.table if choice.table in self.desk.files else self.get_argument("table", "")
        table = table or self.desk.table_of(run)
        self.show(
            "choose.html",
            name=name,
            run=run,
            choice=choice,
            tables=tables,
            table=table,
            dropped=self.desk.files.get(table),
            picking=self.desk.latest.get(("pick", name)),
            picks=self.desk.picks(name),
            orders_file=ORDERS,
        )


class Pick(_Action):
    """Takes what the funds are chosen from."""

    def post(self, name: str, what: str) -> None:
        """Look at what is held, or choose the funds."""
        asked, run = self.asked(), self.desk.run(name)
        choice = self.desk.choice(run.name)
        choice.table, choice.cash = str(asked.get("table", "")), str(asked.get("cash", ""))
        if "file" in asked:
            choice.holdings, choice.look = None, None
            if asked["file"]:
                choice.holdings = self.desk.upload(str(asked["file"]))
        if what == "pick":
            self.desk.start_pick(name)
        else:
            self.desk.look_at_holdings(name)
        self.finish({"go": f"runs/{quote(name)}/choose"})


class Sheets(_Action):
    """Fact sheets of the funds of a table."""

    def get(self, name: str) -> None:
        upload, made = self.desk.upload(name), self.desk.sheets.get(name, [])
        if upload not in self.desk.tables():
            raise DataError("This table could not be read, so it has no fact sheets. Drop another one.")
        self.show("sheets.html", upload=upload, funds=upload.funds(), made=made[::-1])

    def post(self, name: str) -> None:
        """Make one."""
        fund = str(self.asked().get("fund", "")).strip()
        if not fund:
            raise DataError("Write the code or the name of a fund.")
        self.desk.start_sheet(name, fund)
        self.finish({"go": f"tables/{name}/sheets"})


class Work(Guarded):
    """A job: how far it is, cancel, and the file that it made."""

    def get(self, name: str) -> None:
        job = self.desk.job(name)
        self.finish({**job.tell(), "told": job.result.get("told", "")})

    async def post(self, name: str) -> None:
        """Cancel the job."""
        await cancel(self.desk.job(name))
        self.finish({})


class File(Guarded):
    """A file of a run, or one that a job has exported."""

    async def get(self, name: str, file: str) -> None:
        """Answer with a file of a fixed name in a run folder."""
        await self.send(self.desk.run_folder(name) / file, f"{name}-{file}")

    async def send(self, path: Path, shown: str) -> None:
        """Answer with a file: pages are shown in a sandbox, others are saved."""
        if not path.is_file():
            raise DataError(f"{path.name} is not in the folder of the run. Run the study again.")
        self.set_header("Content-Type", f"{_TYPES[path.suffix]}; charset=utf-8")
        if path.suffix in (".html", ".svg"):
            self.set_header("Content-Security-Policy", guard.REPORT)
        else:
            self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(shown)}")
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                self.write(chunk)
                await self.flush()


class Export(File):
    """A file that a job has made."""

    async def get(self, name: str, file: str) -> None:
        job = self.desk.job(name)
        if job.state != "done" or "target" not in job.arguments:
            raise DataError("This file is not ready. Ask for it on the page of the run.")
        await self.send(Path(job.arguments["target"]), file)


class Compare(Guarded):
    """Runs side by side: their settings that differ, and their figures."""

    def get(self) -> None:
        runs = [self.desk.run(name) for name in dict.fromkeys(self.get_arguments("run"))]
        if len(runs) < 2:
            raise DataError("Tick two or more runs on the first page to compare them.")
        differing, figures = differing_settings(runs), compared_figures(runs)
        self.show("compare.html", runs=runs, differing=differing, titles=figure_titles(), figures=figures)


class Asset(Guarded):
    """A script or style sheet."""

    def get(self, name: str) -> None:
        parts = [files(__package__).joinpath("pages", name)]
        if name == "app.css":  # the pages look like the reports
            parts.insert(0, files("geodual.funds").joinpath("report", "style.css"))
        self.set_header("Content-Type", f"{_TYPES[Path(name).suffix]}; charset=utf-8")
        self.finish("".join(part.read_text("utf-8") for part in parts))


class Quit(_Action):
    """Ends the app; while a run is in progress, only for who is sure."""

    def post(self) -> None:
        active = sum(not job.is_over for job in self.desk.studies.jobs.values())
        is_over = not active or self.asked().get("sure") is True
        self.finish({"active": 0 if is_over else active})
        if is_over:
            self.desk.over.set()


def routes() -> list[tuple[str, type[Guarded]]]:
    """Return the handler of each address; the token, which comes first, is checked by the handler."""
    name, job, secret = r"([^/]+)", r"(\w+)", r"/[\w-]+"
    kept = (REPORT, _FIGURE, PICKS, ORDERS, f"{PICKED}.csv", f"{PICKED}.xlsx")
    shown = "|".join([*map(re.escape, kept), rf"{SHEETS}/[\w-]+\.html"])
    return [
        (r"/start/([\w-]+)", Start),
        (rf"{secret}/", Home),
        (rf"{secret}/(app\.css|app\.js)", Asset),
        (rf"{secret}/send/(table|index|facts|holdings)", Send),
        (rf"{secret}/tables/{job}", Table),
        (rf"{secret}/tables/{job}/(index|facts)", Give),
        (rf"{secret}/tables/{job}/sheets", Sheets),
        (rf"{secret}/begin", Begin),
        (rf"{secret}/runs/{name}", Run),
        (rf"{secret}/runs/{name}/(resume|{'|'.join(_EXPORTS)})", Run),
        (rf"{secret}/runs/{name}/choose", Choose),
        (rf"{secret}/runs/{name}/(pick|holdings)", Pick),
        (rf"{secret}/runs/{name}/({shown})", File),
        (rf"{secret}/jobs/{job}", Work),
        (rf"{secret}/jobs/{job}/{name}", Export),
        (rf"{secret}/compare", Compare),
        (rf"{secret}/quit", Quit),
        (r".*", Nothing),
    ]
