"""What the server remembers while it runs: uploads, jobs, and where results go."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Any

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError

from .choice import Choice
from .jobs import Job, Lane
from .runs import SHOWN_PICKS, Run, folder_name, read_run
from .uploads import Upload

_PICKED = {"as_of", "forecaster", "record", "notes", "rows", "orders"}  # what `picks.choose` leaves


@dataclass(eq=False)
class Desk:
    """What the handlers share.

    Attributes
    ----------
    folder : Path
        Where runs go.
    uploads : Path
        Private folder of uploads and downloads, removed at the end.
    largest : int
        Bytes that an upload may have.
    hosts : tuple of str
        What browsers may call this server.
    token : str
        The secret part of all addresses.
    key : str
        A secret that opens the app once: other users of the machine can see the address that a browser is
        started with.
    files : dict
        Uploads by name.
    studies, views : Lane
        Runs, one after the other; and short jobs, which do not wait for them.
    latest : dict
        The last study, view and selection of a run, by kind and name of the run.
    choices : dict
        What was given to choose funds with the settings of a run, by its name.
    sheets : dict
        The fact sheets of a table, by its name, the newest last.
    over : Event
        Set when the app shall end.
    """

    folder: Path
    uploads: Path
    largest: int
    hosts: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: token_urlsafe(24))
    key: str = field(default_factory=lambda: token_urlsafe(24))
    files: dict[str, Upload] = field(default_factory=dict)
    studies: Lane = field(default_factory=Lane)
    views: Lane = field(default_factory=Lane)
    latest: dict[tuple[str, str], Job] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    sheets: dict[str, list[Job]] = field(default_factory=dict)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def upload(self, name: str) -> Upload:
        """Return an upload; raise if there is none of that name."""
        if name not in self.files:
            raise DataError("This table is no longer here. Drop it again on the first page.")
        return self.files[name]

    def tables(self) -> list[Upload]:
        """Return the tables that could be read, the newest first."""
        known = [each for each in self.files.values() if each.look is not None and each.look.state == "done"]
        return known[::-1]

    def job(self, name: str) -> Job:
        """Return a job; raise if there is none of that name."""
        for lane in (self.studies, self.views):
            if name in lane.jobs:
                return lane.jobs[name]
        raise DataError("This job is no longer known. Reload the page.")

    def start_study(self, wanted: str, table: str, arguments: dict[str, Any]) -> str:
        """Run a study in a new folder, and return the name of the folder.

        Parameters
        ----------
        wanted : str
            What the folder is named like.
        table : str
            Name of the upload.
        arguments : dict
            Settings and number of processes.
        """
        inputs = self.upload(table).inputs()
        name = folder_name(wanted, self.folder, {run for kind, run in self.latest if kind == "study"})
        arguments = {"folder": str(self.folder / name), "inputs": inputs, **arguments}
        self.latest["study", name] = self.studies.add(Job("study", arguments, table))
        return name

    def resume(self, name: str) -> None:
        """Run a study that failed or was canceled once more, in the same folder."""
        job = self.latest.get(("study", name))
        if job is None or job.state not in ("failed", "canceled"):
            raise DataError("Only a run of this session that failed or was canceled can be resumed.")
        self.latest["study", name] = self.studies.add(Job("study", job.arguments, job.table))

    def start_pick(self, name: str) -> None:
        """Choose funds with the settings of a run; it waits for runs that began before it."""
        before, choice = self.latest.get(("pick", name)), self.choice(name)
        if before is not None and not before.is_over:
            raise DataError("Funds are already being chosen. Wait, or cancel first.")
        arguments = {
            "folder": str(self.run_folder(name)),
            "inputs": self.upload(choice.table).inputs(),
            "holdings": choice.file(),
            "cash": choice.money(),
            "jobs": -1,
        }
        self.latest["pick", name] = self.studies.add(Job("choose", arguments, choice.table))

    def table_of(self, run: Run) -> str:
        """Return the name of the table that a run was made from; "" if it is not here."""
        study = self.latest.get(("study", run.name))
        tables = {each.name: each for each in self.tables()}
        if study is not None and study.table in tables:
            return study.table
        same = (name for name, each in tables.items() if each.digest == run.digest)
        return next(same, "")

    def look_at_holdings(self, name: str) -> None:
        """See what is held, with the settings of a run and the values of the table that was chosen."""
        choice = self.choice(name)
        if choice.holdings is not None:
            arguments = {
                "folder": str(self.run_folder(name)),
                "inputs": self.upload(choice.table).inputs(),
                "holdings": choice.holdings.file,
            }
            choice.look = self.views.add(Job("look_at_holdings", arguments, choice.table))

    def choice(self, name: str) -> Choice:
        """Return what was given to choose funds with the settings of a run."""
        return self.choices.setdefault(name, Choice())

    def start_sheet(self, table: str, fund: str) -> None:
        """Make the fact sheet of a fund."""
        target = self.uploads / f"{token_hex(16)}.html"
        arguments = {"inputs": self.upload(table).inputs(), "fund": fund, "target": str(target)}
        self.sheets.setdefault(table, []).append(self.views.add(Job("sheet", arguments, table)))

    def run_folder(self, name: str) -> Path:
        """Return the folder of a run that exists; a name is compared, and never becomes part of a path."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name == name and path.is_dir():
                    return path
        raise DataError("There is no such run. The first page lists all runs.")

    def view(self, name: str) -> Job:
        """Return the job that shows a run: its study, or one that reads its folder."""
        study, known = self.latest.get(("study", name)), self.latest.get(("view", name))
        if study is not None:
            return study
        if known is None:
            known = self.views.add(Job("view", {"folder": str(self.run_folder(name))}))
            self.latest["view", name] = known
        elif known.state in ("failed", "canceled"):
            del self.latest["view", name]  # it is told once; the next visit tries again
        return known

    def run(self, name: str) -> Run:
        """Return what the list shows of a finished run."""
        return read_run(self.run_folder(name))

    def picks(self, name: str) -> dict[str, Any]:
        """Return what a selection left in a run folder; empty without one."""
        path = self.run_folder(name) / SHOWN_PICKS
        try:
            known = parse_nested(json.loads, path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) and known.keys() >= _PICKED else {}
