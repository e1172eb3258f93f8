"""Findings, notes and workbooks in Chinese: what is stored in English is recognized, whatever it says."""

import ast
import re
from string import Formatter

import numpy as np
import openpyxl
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from geodual.funds import Panel, backtest, read_nav, select
from geodual.funds.evaluation.alike import warn_of_beta
from geodual.funds.evaluation.track_record import TrackRecord, no_record
from geodual.funds.forecasters.registry import WORDY_LABELS
from geodual.funds.language import KEPT, in_language, phrase, read_catalog, reword, say
from geodual.funds.sources.reading.quality import _describe_ends, _describe_survivorship
from geodual.funds.sources.reading.survivorship import Survivorship
from geodual.funds.study.notes import WARNINGS
from geodual.metric import LMNN, RPDML
from geodual.metric.registry import METRICS

from .test_language import FUNDS

ENGLISH = re.compile(r"[A-Za-z]{2,}[ ,;:.]+[A-Za-z]{2,}")
STORED = {
    text: file
    for file, texts in read_catalog("zh").items()
    if not file.startswith("report/")
    for text in texts
}
# Sentences in these files are for readers of results; elsewhere they may also be errors.
OF_READERS = ("study/notes.py", "sources/reading/quality.py", "sources/reading/jumps.py")
OF_READERS += ("evaluation/track_record.py", "evaluation/concentration.py", "evaluation/alike.py")


def in_chinese(text):
    with in_language("zh"):
        found = reword(text)
    assert not ENGLISH.search(found), f"{text} → {found}"
    return found


def samples(template):
    """Return values for the placeholders of a template, in English and in Chinese."""
    english, chinese = {}, {}
    for _, name, form, _ in Formatter().parse(template):
        if name is None:
            continue
        if form or re.fullmatch(r"n(_\w+)?", name):
            english[name] = chinese[name] = 0.07 if form and "%" in form else 7
        elif name in ("date", "list_dates"):
            english[name], chinese[name] = "2014-01-31", "2014-01-31"
        elif name.startswith("list"):
            english[name], chinese[name] = "short, gap 2, 000001", "历史过短、净值缺失 2、000001"
        elif name.startswith("parts"):
            english[name], chinese[name] = "short; gap", "历史过短；净值缺失"
        elif name in KEPT:
            english[name] = chinese[name] = "short"
        else:
            english[name], chinese[name] = "short", "历史过短"
    return english, chinese


@pytest.mark.parametrize("template", [text for text in STORED if "\x04" not in text])
def test_every_stored_text_is_recognized(template):
    english, chinese = samples(template)
    with in_language("zh"):
        expected = say(template, **chinese)
        if "{name!r}" in template:
            expected = say(template, **chinese | {"name": repr(chinese["name"])})
        assert reword(phrase(template, **english)) == expected


@pytest.mark.parametrize("file", OF_READERS)
def test_sentences_are_whole_templates(file):
    """What an f-string glues together, nobody can recognize."""
    for node in ast.walk(ast.parse((FUNDS / file).read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            fixed = [part.value for part in node.values if isinstance(part, ast.Constant)]
            assert not re.search(r"[A-Za-z]{3,}", " ".join(fixed)), f"{file}, line {node.lineno}"


@pytest.fixture(scope="module")
def broken(universe):
    """A panel with all that can be wrong with values and days."""
    nav = universe.panel.nav.dropna(axis=1).iloc[:, :24].copy()
    nav.iloc[300:, 0] *= 0.4
    nav.iloc[200, 1] *= 1.3
    nav.iloc[300:, 2] = np.nan
    nav.iloc[:50, 3] = np.nan
    nav.iloc[100:140, 4] = np.nan
    nav.iloc[200:260, 5] = nav.iloc[200, 5]
    nav.iloc[:, 6] = nav.iloc[:, 7] * 1.0001
    nav.iloc[400, 1:] = np.nan
    nav.iloc[420] = nav.iloc[419]
    nav = nav.drop(index=nav.index[500:520])
    shifted = nav.index.to_series().where(
        np.arange(len(nav)) % 40 != 0, nav.index + pd.offsets.Week(weekday=5)
    )
    nav = nav.set_axis(pd.DatetimeIndex(shifted, name="date"))
    return read_nav(nav[~nav.index.duplicated()].sort_index().reset_index())


def test_all_findings_are_in_chinese(broken, tmp_path):
    short = read_nav(broken.nav.iloc[:30, :12].reset_index())
    sparse = read_nav(broken.nav.iloc[::30, :12].reset_index())
    table = broken.nav.iloc[:40, :3].copy()
    table["empty"] = np.nan
    table.iloc[5] = np.nan
    disordered = read_nav(pd.concat([table, table.iloc[:2]]).reset_index())
    (tmp_path / "across.csv").write_text(
        broken.nav.iloc[:40, :3].T.rename_axis("基金简称").to_csv(), encoding="gb18030"
    )
    across = read_nav(tmp_path / "across.csv")
    long = broken.nav.iloc[:40, :3].melt(ignore_index=False, var_name="fund", value_name="nav").reset_index()
    named = read_nav(long.assign(adjusted_nav=long["nav"]))
    panels = (broken, short, sparse, disordered, across, named)
    found = [finding for panel in panels for finding in panel.findings]
    for finding in found:
        in_chinese(finding.message)
        assert in_chinese(finding.kind) != finding.kind
    kinds = {text for text in STORED if re.fullmatch(r"[a-z]+(-[a-z]+)?", text) and is_kind(text)}
    assert kinds - {finding.kind for finding in found} == set()


def is_kind(text):
    return STORED[text].startswith("sources/reading/") and text != "index"


@pytest.mark.parametrize("closed", [0, 1, 2, 40])
@pytest.mark.parametrize("lately", [0, 40])
def test_survivorship_is_in_chinese(closed, lately):
    nan = float("nan")
    for years, bias in ((1.0, nan), (6.0, nan), (6.0, 0.012)):
        closings = closed + lately
        measured = Survivorship(900, closings, years, 900 * years, bias, (bias, bias), lately, lately / 900)
        for all_live in (closings == 0, False):
            in_chinese(_describe_survivorship(measured, all_live))
        in_chinese(_describe_ends(3, 900, measured))


@pytest.mark.parametrize("n", [1, 5, 30])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_track_records_are_in_chinese(n, sign):
    in_chinese(no_record().tell("quarter"))
    nan = float("nan")
    for ic, p, low in ((nan, nan, nan), (0.1, 0.001, 0.05), (0.1, 0.5, -0.1)):
        for over in (None, 0, n, n - 1):
            record = TrackRecord(
                *(n, ic, low, low, p, sign * 0.01, -0.01, 0.02, 0.5, sign * 0.02, -0.01, 0.02),
                n_over_index=over,
                beta=0.2,
            )
            for term in ("month", "quarter", "year"):
                in_chinese(record.tell(term))
    in_chinese(warn_of_beta(1.9, "沪深 300"))


def test_warnings_of_learners_and_labels_of_metrics_are_in_chinese():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.repeat([0, 1], 30)
    for learner in (LMNN(max_iter=1), RPDML(max_iter=1)):
        with pytest.warns(ConvergenceWarning) as caught:
            learner.fit(X, y)
        for warning in caught:
            in_chinese(str(warning.message))
    for label in (metric.label for metric in METRICS.values()):
        in_chinese(label)
    assert {metric.label for metric in METRICS.values()} >= WORDY_LABELS
    assert set(STORED) >= WARNINGS


def test_learners_word_their_warnings_as_the_notes_know_them():
    texts = [
        node.value
        for path in (FUNDS.parent / "metric").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    for warning in WARNINGS:
        for fixed, *_ in Formatter().parse(warning):
            assert any(fixed in text for text in texts), warning


@pytest.fixture(scope="module")
def facts(broken):
    codes = broken.nav.columns[:-1]
    return pd.DataFrame(
        {
            "code": codes,
            "name": [f"基金{i}" for i in range(len(codes))],
            "type": np.where(np.arange(len(codes)) % 2, "股票型", "债券型"),
            "company": "甲公司",
            "group": [f"g{i // 2}" for i in range(len(codes))],
        }
    )


@pytest.fixture(scope="module")
def rough(broken, universe, facts):
    return backtest(
        Panel(broken.nav, findings=broken.findings),
        universe.index,
        forecasters=["gmml", "ridge", "momentum", "factor:sharpe_90"],
        facts=facts,
        top=12,
        k=3,
        max_company=0.5,
        tune=True,
        test_start="2014-01-01",
    )


@pytest.fixture(scope="module")
def chosen(broken, universe, facts):
    codes = broken.nav.columns
    held = pd.DataFrame(
        {
            "code": [codes[8], codes[2], codes[9], "7", codes[10]],
            "units": [10.0, 5.0, 5.0, 1.0, 3.0],
            "bought": ["2014-12-01", None, None, None, "2013-01-31"],
        }
    )
    return select(
        Panel(broken.nav, findings=broken.findings),
        "2014-11-20",
        index=universe.index,
        facts=facts,
        top=4,
        k=3,
        holdings=held[held["bought"] != "2014-12-01"],
        cash=100.0,
        min_holding=900,
        forecasters=["gmml", "euclidean"],
    )


def test_all_notes_are_in_chinese(rough, chosen):
    for note in (*rough.notes, *chosen.notes, *chosen.orders.notes, chosen.record_text):
        assert in_chinese(note) != note
    assert len(rough.notes) >= 8


def check_sheets(path):
    """Check that all texts of a workbook are Chinese: no two English words in a row, no names of columns."""
    book = openpyxl.load_workbook(path)
    for sheet in book:
        rows = list(sheet.iter_rows(values_only=True))
        titles = [run.t for chart in sheet._charts for run in chart.title.tx.rich.p[0].r]
        for text in (sheet.title, sheet.oddFooter.center.text, *titles):
            assert re.search("[\u4e00-\u9fff]", text), text
        texts = [cell for row in rows for cell in row if isinstance(cell, str)]
        if sheet is book.worksheets[0]:
            # Settings and versions are as the user typed them.
            told = [row for row in rows if not row[0].startswith(("参数", "版本"))]
            texts = [cell for row in told for cell in row if isinstance(cell, str)]
        else:
            assert [name for name in rows[0] if re.search("[a-z]_|^[a-z]{2,}", name)] == []
        assert [text for text in texts if ENGLISH.search(text)] == [], sheet.title
    return book


def test_a_chinese_workbook_has_no_english_words(rough, study, chosen, tmp_path):
    for name, made in (("rough", rough), ("study", study)):
        check_sheets(made.to_excel(tmp_path / f"{name}.xlsx", all_tables=True, language="zh"))
    book = check_sheets(chosen.to_excel(tmp_path / "picks.xlsx", language="zh"))
    assert book.sheetnames == ["摘要", "入选基金", "调仓指令", "份额批次", "近邻", "因子归因", "剔除基金"]
