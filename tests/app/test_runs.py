"""From a table to runs, picks and files: the pages, without a browser."""

import asyncio
import io
import re
import zipfile

import pandas as pd
import pytest

from geodual.app.looks import look
from geodual.app.runs import list_runs
from geodual.funds import backtest, read_nav, read_study, synthetic_universe
from tests.app.client import HOSTILE, app

SHORT = {"metrics": ["euclidean"], "baselines": ["universe"], "top": ["3"], "jobs": ["1"]}


@pytest.fixture(scope="module")
def nav():
    universe = synthetic_universe(15, "2014-01-02", "2015-09-30")
    return universe.panel.nav


@pytest.fixture
def table(nav):
    return nav.to_csv().encode()


async def begin(client, table, name="mine", **changed):
    form = {**SHORT, **changed}
    go = (await client.post("begin", {"table": table, "name": name, "form": form}))["go"]
    return go.removeprefix("runs/")


async def study(client, table, name="mine", **changed):
    """Run a study to its end."""
    name = await begin(client, table, name, **changed)
    job = await client.over(client.desk.latest["study", name])
    assert job.state == "done", job.message
    return name


def test_a_study_is_that_of_backtest_and_two_are_compared(tmp_path, nav, table):
    async def check():
        async with app(tmp_path / "runs") as client:
            dropped = await client.drop("my funds.csv", table)
            first = await study(client, dropped)
            second = await study(client, dropped, execution_lag=["1"], top=["4"])
            assert (first, second) == ("mine", "mine-2")
            page = await client.get(f"runs/{first}")
            ours = read_study(tmp_path / "runs" / first)
            assert ours.source == "my funds.csv"
            assert ours.headline in page.replace("&#39;", "'").replace("&quot;", '"')
            expected = backtest(nav, metrics="euclidean", baselines=("universe",), top=3)
            pd.testing.assert_frame_equal(ours.ic, expected.ic)
            compared = await client.get(f"compare?run={first}&run={second}")
            rows = re.findall(r"<tr>(.*?)</tr>", compared, flags=re.S)
            cells = [re.findall(r"<t[hd][^>]*>(?:<a[^>]*>)?([^<]*)", row) for row in rows]
            assert ["Funds to hold", "3", "4"] in cells
            assert ["Days until orders are filled", "0", "1"] in cells
            assert not any(row[0] in ("Table", "Neighbors", "Metrics to compare") for row in cells)
            period = expected.table().loc["both"]
            shown = next(row for row in cells if row[:2] == [first, "Euclidean"])
            assert shown[2] == f"{period.loc['euclidean', 'ic_mean']:.2f}".replace("-", "−")
            home = await client.get()
            assert home.count('name="run"') == 2
            await files_of(client, tmp_path / "runs" / first, first)

    asyncio.run(check())


async def files_of(client, folder, name):
    """Check the report, the figure and the exports of a run."""
    report = await client.ask(f"{client.base}/runs/{name}/report.html")
    assert report.body == (folder / "report.html").read_bytes()
    policy = report.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy, "so default-src 'none' forbids to connect"
    figure = await client.ask(f"{client.base}/runs/{name}/figure1.svg")
    assert figure.headers["Content-Type"].startswith("image/svg+xml")
    for kind in ("archive", "workbook"):
        made = await client.post(f"runs/{name}/{kind}")
        job = await client.over(client.desk.job(made["job"]))
        assert job.state == "done", job.message
        answer = await client.ask(f"{client.base}/{made['file']}")
        assert answer.headers["Content-Disposition"].startswith("attachment")
        packed = zipfile.ZipFile(io.BytesIO(answer.body))
        if kind == "archive":
            assert packed.read("ic.csv") == (folder / "ic.csv").read_bytes()
        else:
            assert "xl/workbook.xml" in packed.namelist()
    for path in ("config.toml", "summary.json", "..%2f..%2fsecret", ".lock"):
        assert (await client.ask(f"{client.base}/runs/{name}/{path}")).code == 404
    assert (await client.ask(f"{client.base}/runs/..%2f{name}/report.html")).code == 400


def test_a_canceled_run_leaves_nothing_half_written_and_resumes(tmp_path, table):
    folder = tmp_path / "mine"

    async def check():
        async with app(tmp_path) as client:
            dropped = await client.drop("nav.csv", table)
            name = await begin(client, dropped, metrics=["euclidean", "rpdml"], start=["2015-01-01"])
            first = client.desk.latest["study", name]
            second = await begin(client, dropped)
            async with asyncio.timeout(60):
                while not first.done:
                    await asyncio.sleep(0.002)
            assert client.desk.latest["study", second].state == "waiting"
            await client.post(f"jobs/{first.name}")
            assert first.state == "canceled"
            assert [path.name for path in folder.iterdir()] == [".finished"]
            assert not list(folder.rglob(".writing-*"))
            assert "Resume" in await client.get(f"runs/{name}")
            assert list_runs(tmp_path)[0] == []
            await client.post(f"runs/{name}/resume")
            again = await client.over(client.desk.latest["study", name])
            assert again.state == "done", again.message
            assert client.desk.latest["study", second].state == "done"
            assert read_study(folder).config.compared == ("euclidean", "rpdml")
            told = await client.post(f"runs/{name}/resume", code=400)
            assert "canceled can be resumed" in told["error"]

    asyncio.run(check())


def test_an_error_of_a_run_is_one_line_and_the_app_goes_on(tmp_path, table):
    async def check():
        async with app(tmp_path) as client:
            dropped = await client.drop("nav.csv", table)
            for changed, told in (
                ({"metrics": [], "forecasters": ["no such"]}, "no such"),
                ({"types": ["<b>"]}, "with them on the page of the table."),
                ({"end": ["2014-02-01"]}, ""),
            ):
                name = await begin(client, dropped, **changed)
                job = await client.over(client.desk.latest["study", name])
                assert job.state == "failed"
                assert "\n" not in job.message
                assert told in job.message
                page = await client.get(f"runs/{name}")
                assert "could not be finished" in page
                assert "<b>" not in page
                assert f">{name}</a>: failed" in await client.get()
            assert 'value="2014-02-01"' in await client.get(f"tables/{dropped}"), "for another try"
            bad = await client.drop("bad.csv", b"date,A\n2014-01-02,1\n2014-01-03,<b>x</b>\n")
            page = await client.get(f"tables/{bad}")
            assert "bad.csv, line 3" in page
            assert "&lt;b&gt;" in page
            assert str(client.desk.uploads) not in page
            assert list_runs(tmp_path) == ([], [])

    asyncio.run(check())


def test_the_index_and_the_facts_of_a_table_are_checked_and_used(tmp_path, nav, table):
    two = pd.DataFrame({"A <i>": range(1, len(nav) + 1), "B": 2.0}, index=nav.index).to_csv().encode()
    facts = pd.DataFrame({"code": nav.columns, "type": "<u>equity", "name": HOSTILE[0]}).to_csv().encode()

    async def check():
        async with app(tmp_path) as client:
            dropped = await client.drop("nav.csv", table)

            async def give(kind, content, **more):
                file = (await client.send(kind, HOSTILE[0], content))["name"] if content else ""
                job = (await client.post(f"tables/{dropped}/{kind}", {"file": file, **more}))["job"]
                return await client.over(client.desk.job(job))

            assert "Choose one of: A <i>, B" in (await give("index", two)).message
            refused = await client.post("begin", {"table": dropped, "form": SHORT}, code=400)
            assert "Or remove the file" in refused["error"]
            assert "A <i>: " in (await give("index", b"", column="A <i>")).result["told"]
            assert "none is in the table" in (await give("facts", b"code,type\nX,y\n")).message
            assert "Facts about 15 of 15 funds" in (await give("facts", facts)).result["told"]
            page = await client.get(f"tables/{dropped}")
            assert not re.search("<(script>|i>|u>)", page)
            name = await study(client, dropped, types=["<u>equity"])
            assert not re.search("<(script>|i>|u>)", await client.get(f"runs/{name}"))
            saved = read_study(tmp_path / name)
            assert saved.index_name == "A <i>"
            assert set(saved.facts["name"].dropna()) == {HOSTILE[0]}
            assert await client.post(f"tables/{dropped}/index") == {}
            assert set(client.desk.upload(dropped).given) == {"facts"}

    asyncio.run(check())


def test_hostile_names_of_tables_funds_and_runs_stay_texts(tmp_path, nav):
    names = [*dict.fromkeys(name.strip() or "none" for name in HOSTILE)]
    funds = nav.set_axis([*names, *nav.columns[len(names) :]], axis=1)

    async def check():
        async with app(tmp_path / "runs") as client:
            content = io.BytesIO()
            funds.to_parquet(content)
            for name in HOSTILE[:2]:
                dropped = await client.drop(name, content.getvalue())
                page = await client.get(f"tables/{dropped}")
                assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
                run = await study(client, dropped, name=name)
                for path in ("", f"runs/{run}"):
                    page = await client.get(path)
                    assert "<script>" not in page
                    assert "<img src=x" not in page
            assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
                "script-alert-1-script-csv",
                "x-csv",
            ]
            assert [path.name for path in tmp_path.iterdir()] == ["runs"]

    asyncio.run(check())


DAMAGED = ["{", "[]", '{"table1": {}}', '{"table1": {"both": {"a": 1}}}', "[" * 4000]


def test_damaged_runs_are_listed_as_such_and_told_once(tmp_path):
    for i, damage in enumerate(DAMAGED):
        (tmp_path / f"run-{i}").mkdir()
        (tmp_path / f"run-{i}" / "summary.json").write_text(damage)

    async def check():
        async with app(tmp_path) as client:
            page = await client.get()
            assert all(f">run-{i}</a>" in page.split("Not finished")[1] for i in range(len(DAMAGED)))
            await client.get("runs/run-0")
            job = await client.over(client.desk.latest["view", "run-0"])
            assert job.state == "failed"
            assert "cannot be shown" in await client.get("runs/run-0")
            assert ("view", "run-0") not in client.desk.latest, "the next visit reads the folder again"

    asyncio.run(check())


def test_what_is_understood_of_a_table(tmp_path, nav):
    def understood(frame, **options):
        frame.to_csv(tmp_path / "nav.csv", **options)
        return look(lambda *step: None, (str(tmp_path / "nav.csv"), "nav.csv"))

    wide = understood(nav)
    long = understood(nav.stack().rename("nav").reset_index(), index=False)
    turned = understood(nav.T)
    assert [each["layout"].split(":")[0] for each in (wide, long, turned)] == ["wide", "long", "wide, turned"]
    assert wide["days"] == [len(nav), *(f"{day:%Y-%m-%d}" for day in nav.index[[0, -1]])]
    assert wide["codes"] == list(nav.columns)
    assert wide["digest"] == read_nav(nav).digest
    assert [understood(nav.resample(rule).last())["spacing"] for rule in ("D", "W", "ME", "QE")] == [
        "daily",
        "weekly",
        "monthly",
        "less than monthly",
    ]
    suggested = {name: value for name, value, _ in wide["suggestions"]}
    assert suggested["top"] == "3"
    assert "2014-12-01" < suggested["test_start"] < "2015-04-02"
