"""From a finished run to the funds to hold: holdings, orders, the committee's page and fact sheets."""

import asyncio
import io
import json
import re
import zipfile
from functools import partial

import pandas as pd
import pytest

from geodual.app.choice import Choice
from geodual.app.inputs import Inputs, tell
from geodual.app.jobs import Job
from geodual.app.looks import look_at_facts, look_at_holdings
from geodual.app.picks import choose
from geodual.app.uploads import Given, Upload
from geodual.app.work import archive, sheet
from geodual.errors import DataError
from geodual.funds import backtest, read_nav, select, synthetic_universe
from tests.app.client import HOSTILE, app

HELD = "code,units,bought\n{},100,2015-09-01\n{},50,2015-09-01\n{},10,2015-01-05\nNOWHERE,5,2015-01-05\n"


def silent(*step):
    """Show no progress."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table whose first fund has a hostile name and whose last one closed, and a finished run of it."""
    folder = tmp_path_factory.mktemp("app")
    nav = synthetic_universe(15, "2014-01-02", "2015-09-30").panel.nav
    nav = nav.rename(columns={nav.columns[0]: HOSTILE[0]})
    nav.iloc[-40:, -1] = float("nan")
    nav.to_csv(folder / "nav.csv")
    held = HELD.format(HOSTILE[0], nav.columns[1], nav.columns[-1])
    (folder / "mine.csv").write_text(held, "utf-8")
    given = {"metrics": "euclidean", "baselines": ("universe",), "top": 3, "min_holding": 60}
    backtest(read_nav(folder / "nav.csv"), **given).save(folder / "runs" / "mine")
    return folder


@pytest.fixture
def files(made):
    """The arguments of jobs: the run, its table and what is held."""
    inputs = {"table": (str(made / "nav.csv"), "nav.csv"), "index": None, "column": "", "facts": None}
    return {
        "folder": str(made / "runs" / "mine"),
        "inputs": inputs,
        "holdings": (str(made / "mine.csv"), "my <b>.csv"),
    }


def test_a_file_that_is_still_being_read_is_not_used(tmp_path):
    table, index = (Upload(name, tmp_path / name) for name in ("nav.csv", "index.csv"))
    job = Job("look_at_index", {})
    table.given["index"] = Given(index, "", job)
    with pytest.raises(DataError, match="is still being read"):
        table.inputs()
    job.state = "done"
    assert table.inputs()["index"] == index.file


def test_what_is_held_is_looked_up_in_the_table_with_the_rules_of_the_run(files):
    found = look_at_holdings(silent, **files)
    rows = {row[1]: row[2:] for row in found["rows"]}
    assert [row[1] for row in found["rows"]][:1] == ["NOWHERE"], "what matters comes first"
    assert rows["NOWHERE"][-2:] == ["not in the table", True]
    assert rows[HOSTILE[0]][-2:] == ["locked: held for 29 of 60 days", True]
    bought = next(row[0] for row in rows.values() if row[-2].startswith("no value since"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", bought), "also of a closed fund"
    assert found["told"].startswith("4 lots of 4 funds. What can be sold is worth ")
    assert len(found["cautions"]) == 3
    assert "NOWHERE is not in the table" in found["cautions"][0]
    assert "2 lots cannot be sold yet: the run holds funds for 60 days." in found["cautions"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("Dear Sir,\nthis is no table.\n", "fields"),
        ("fund house,units\nA,1\n", "code"),
        ("code,weight\nA,1\n", "units"),
        ("code,units\nA,-1\n", "not a positive number"),
        ("code,units,bought\nM00002,1,2030-01-01\n", "after the day of the decision"),
    ],
)
def test_holdings_that_cannot_be_used_are_told_by_their_own_name(files, tmp_path, text, problem):
    (tmp_path / "x").write_text(text)
    files = {**files, "holdings": (str(tmp_path / "x"), "my <b>.csv")}
    for use in (look_at_holdings, partial(choose, cash=0.0, jobs=1)):
        with pytest.raises(DataError, match=problem) as caught:
            use(silent, **files)
        assert str(caught.value).startswith("my <b>.csv")
        assert str(tmp_path) not in str(caught.value)


def test_choices_are_those_of_select(files, made):
    out = made / "runs" / "mine"
    expected = select(made / "nav.csv", run=out, holdings=made / "mine.csv", cash=1000.0)
    choose(silent, **files, cash=1000.0, jobs=1)
    orders = pd.read_csv(out / "picks-orders.csv", dtype={"fund": str})
    assert orders["fund"].tolist() == expected.orders.table["fund"].tolist()
    assert orders["value"].tolist() == pytest.approx(expected.orders.table["value"].tolist())
    shown = json.loads((out / "picks.json").read_text("utf-8"))
    assert [row["fund"] for row in shown["rows"]] == expected.picks["fund"].tolist()
    assert all((out / row["sheet"]).is_file() for row in shown["rows"])
    assert shown["holdings"] == "my <b>.csv"
    assert 'href="picks.html"' in (out / "report.html").read_text("utf-8")
    archive(silent, str(out), str(made / "all.zip"))
    packed = set(zipfile.ZipFile(made / "all.zip").namelist())
    assert {"report.html", "picks.html", "picks-orders.csv", "ic.csv", shown["rows"][0]["sheet"]} <= packed
    choose(silent, **{**files, "holdings": None}, cash=0.0, jobs=1)
    assert not (out / "picks-orders.csv").exists(), "there are no orders without holdings"
    assert json.loads((out / "picks.json").read_text("utf-8"))["orders"] is None


def test_a_sheet_is_found_by_a_name_that_the_facts_know(files, tmp_path):
    facts = (str(tmp_path / "facts.csv"), "facts.csv")
    pd.DataFrame({"code": ["M00002"], "name": ["<u>Söhne 基金"]}).to_csv(facts[0], index=False)
    inputs = {**files["inputs"], "facts": facts}
    assert look_at_facts(silent, facts, ["M00002"])["names"] == {"M00002": "<u>Söhne 基金"}
    assert (
        sheet(silent, inputs, "<u>Söhne 基金", str(tmp_path / "x.html"))["title"] == "<u>Söhne 基金 (M00002)"
    )
    assert "<u>" not in (tmp_path / "x.html").read_text("utf-8")
    with pytest.raises(DataError, match="Did you mean M00002"):
        sheet(silent, inputs, "M0002", str(tmp_path / "y.html"))


def test_an_old_run_with_facts_asks_for_them_in_words_of_the_app(made, tmp_path):
    nav = read_nav(made / "nav.csv").nav
    facts = pd.DataFrame({"code": nav.columns, "type": "equity"})
    given = {"metrics": "euclidean", "baselines": (), "top": 3, "start": "2015-06-01"}
    backtest(nav, facts=facts, **given).save(tmp_path / "run")
    kept = tmp_path / "run" / "facts.csv"
    pd.read_csv(kept, dtype=str)[["fund", "name", "type", "company"]].to_csv(kept, index=False)
    inputs = {"table": (str(made / "nav.csv"), "nav.csv")}
    with pytest.raises(DataError) as caught:
        choose(silent, str(tmp_path / "run"), inputs, None, 0.0, 1)
    assert tell(caught.value).endswith("add the file on the page of the table.")


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("", 0.0),
        ("10000", 10000.0),
        (" 10 000.50 ", 10000.5),
        ("1,234,567.8", 1234567.8),
        ("10’000", None),
        ("10,5", None),
        ("-5", None),
        ("1e5", None),
        ("nan", None),
        ("1" * 400, None),
        ("١٠", None),
        ("<b>", None),
    ],
)
def test_cash_is_an_amount(tmp_path, text, money):
    choice = Choice(cash=text, holdings=Upload("mine.csv", tmp_path / "x"))
    if money is not None:
        assert choice.money() == money
        return
    with pytest.raises(DataError, match="“Cash” must be an amount"):
        choice.money()


def test_cash_alone_is_money():
    assert Choice(cash="5").money() == 5.0


def test_inputs_without_files_have_neither_index_nor_facts():
    assert Inputs(("nav.csv", "nav.csv")).given() == {"index": None, "facts": None}


def test_from_a_run_to_orders_and_sheets(made):
    """The pages, with jobs in their processes."""

    async def check():
        async with app(made / "runs") as client:
            assert "Drop the table here" in await client.get("runs/mine/choose")
            dropped = await client.drop(HOSTILE[0], (made / "nav.csv").read_bytes())
            held = (await client.send("holdings", HOSTILE[6], (made / "mine.csv").read_bytes()))["name"]
            asked = {"table": dropped, "cash": "1,000"}
            go = await client.post("runs/mine/holdings", {**asked, "file": held})
            assert go == {"go": "runs/mine/choose"}
            await client.over(client.desk.choice("mine").look)
            page = await client.get("runs/mine/choose")
            assert "locked: held for 29 of 60 days" in page
            assert 'value="1,000"' in page
            for wrong in ({"cash": "x"}, {"table": "gone"}):
                told = await client.post("runs/mine/pick", {**asked, **wrong}, code=400)
                assert re.search("Cash|no longer here", told["error"])
            await canceled(client, asked)
            await client.post("runs/mine/pick", asked)
            again = await client.post("runs/mine/pick", asked, code=400)
            assert "already being chosen" in again["error"]
            job = await client.over(client.desk.latest["pick", "mine"])
            assert job.state == "done", job.message
            await result_of(client, made / "runs" / "mine")
            await sheets_of(client, dropped)

    asyncio.run(check())


async def canceled(client, asked):
    """Cancel a choice, and see that nothing was chosen."""
    await client.post("runs/mine/pick", asked)
    await client.post(f"jobs/{client.desk.latest['pick', 'mine'].name}")
    page = await client.get("runs/mine/choose")
    assert "Canceled." in page
    assert "Choose funds</button>" in page


async def result_of(client, folder):
    """Check the page, the files it links to, and that names stay texts."""
    page = await client.get("runs/mine/choose")
    assert not re.search("<(script>|b>|img src=x)", page)
    links = re.findall(rf'href="/{client.desk.token}/(runs/mine/[^"]+)"', page)
    assert {"runs/mine/picks.html", "runs/mine/report.html", "runs/mine/picks-orders.csv"} <= set(links)
    assert sum("/funds/" in link for link in links) == 3
    for link in links:
        answer = await client.ask(f"{client.base}/{link}")
        assert answer.code == 200, link
        if link.endswith(".html"):
            assert answer.headers["Content-Security-Policy"].startswith("sandbox"), link
    orders = (await client.ask(f"{client.base}/runs/mine/picks-orders.csv")).body
    assert len(pd.read_csv(io.BytesIO(orders))) == len(pd.read_csv(folder / "picks-orders.csv"))
    for path in ("funds/..%2f..%2fx.html", "funds/none.html", "picks.json"):
        assert (await client.ask(f"{client.base}/runs/mine/{path}")).code in (400, 404), path


async def sheets_of(client, table):
    """Make the sheet of a fund whose name is hostile."""
    path = f"tables/{table}/sheets"
    assert await client.post(path, {"fund": HOSTILE[0]}) == {"go": path}
    await client.over(client.desk.sheets[table][-1])
    page = await client.get(path)
    assert "<script>" not in page
    made = re.search(r'(jobs/\w+/fact-sheet.html)"[^>]*>&lt;script&gt;', page)[1]
    assert "<script>" not in await client.get(made)
    assert "Write the code" in (await client.post(path, {"fund": " "}, code=400))["error"]


def test_holdings_are_looked_up_with_the_facts_of_the_run(made, files, tmp_path):
    """The table of the page came without facts; a sale costs what the facts of the run say."""
    nav = read_nav(made / "nav.csv").nav
    facts = pd.DataFrame({"code": nav.columns, "redemption_fees": "9999:0.02"})
    given = {"metrics": "euclidean", "baselines": (), "top": 3, "start": "2015-06-01"}
    backtest(nav, facts=facts, **given).save(tmp_path / "run")
    found = look_at_holdings(silent, **{**files, "folder": str(tmp_path / "run")})
    assert any("a sale today costs 2.00" in row[-2] for row in found["rows"])
