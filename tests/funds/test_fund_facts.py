"""Facts about funds are read from any table with one row per fund, and serve to look up and to choose."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodual.errors import DataError
from geodual.funds.sources.reading.fund_facts import FundFacts, read_facts

FACTS = pd.DataFrame(
    {
        "code": ["000001", "000002", "519001", "NA"],
        "name": ["Growth A", "Growth C", "华夏成长", None],
        "type": ["mixed", "mixed", None, "bond"],
        "share_group": ["Growth", "Growth", None, None],
        "company": ["Alpha", "Alpha", "华夏", None],
        "purchase_fee": ["0.15%", "0%", "1.5 %", None],
    }
)
CHINESE = {
    "code": "基金代码",
    "name": "基金简称",
    "type": "基金类型",
    "share_group": "份额组",
    "company": "基金公司",
    "purchase_fee": "手续费",
}
OTHER = {
    "type": "Category",
    "company": "AMC",
    "share_group": "Share Group",
    "purchase_fee": "Purchase fee (%)",
}


def csv(
    change: Callable[[pd.DataFrame], pd.DataFrame], above: str = "", **options: object
) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "funds.csv"
        change(FACTS).to_csv(path, index=False, **options)
        path.write_text(
            above + path.read_text(options.get("encoding", "utf-8")), options.get("encoding", "utf-8")
        )
        return path

    return write


def excel(folder: Path) -> Path:
    path = folder / "funds.xlsx"
    FACTS.to_excel(path, index=False, startrow=2)
    return path


def parquet(folder: Path) -> Path:
    path = folder / "funds.parquet"
    fees = [0.0015, 0.0, 0.015, np.nan]
    FACTS.assign(purchase_fee=fees).set_index("code").to_parquet(path)
    return path


SOURCES: dict[str, Callable[[Path], Path | pd.DataFrame]] = {
    "csv": csv(lambda facts: facts),
    "csv below a title": csv(lambda facts: facts, above="Our funds\nas of 2015-12-31,\n\n"),
    "csv in chinese": csv(lambda facts: facts.rename(columns=CHINESE), encoding="gbk"),
    "csv with other names": csv(lambda facts: facts.rename(columns=OTHER), sep=";"),
    "excel": excel,
    "parquet": parquet,
    "frame": lambda folder: FACTS,
    "frame by code": lambda folder: FACTS.set_index("code"),
    "rows twice": lambda folder: pd.concat([FACTS, FACTS.iloc[:2]]),
    "percent in the header": lambda folder: FACTS.assign(purchase_fee=[0.15, 0, 1.5, None]).rename(
        columns={"purchase_fee": "申购费率(%)"}
    ),
    "shares": lambda folder: FACTS.assign(purchase_fee=[0.0015, 0.0, 0.015, None]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_all_sources_give_the_same_facts(kind: str, tmp_path: Path) -> None:
    facts = read_facts(SOURCES[kind](tmp_path))
    assert facts.table.index.tolist() == FACTS["code"].tolist()
    assert facts.names == {"000001": "Growth A", "000002": "Growth C", "519001": "华夏成长"}
    assert facts.types == {"000001": "mixed", "000002": "mixed", "NA": "bond"}
    assert facts.groups == {"000001": "Growth", "000002": "Growth"}
    assert facts.companies == {"000001": "Alpha", "000002": "Alpha", "519001": "华夏"}
    assert facts.purchase_fees == pytest.approx({"000001": 0.0015, "000002": 0.0, "519001": 0.015}, rel=1e-12)


def test_the_code_is_enough_and_other_columns_are_ignored() -> None:
    facts = read_facts(pd.DataFrame({"Fund Code": ["000001", "2"], "stars": [4, 5]}))
    assert facts.table.index.tolist() == ["000001", "2"]
    for known in (facts.names, facts.types, facts.groups, facts.companies, facts.purchase_fees):
        assert known == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": ["1", "2", "1", "3"]}, "row 3, column 'code': the fund '1' has other facts in row 1"),
        ({"code": ["1", None, "2", "3"]}, "row 2, column 'code': there is no fund code"),
        (
            {"purchase_fee": ["0.15", "0%", None, None]},
            "row 1, column 'purchase_fee': '0.15' may be a share or a",
        ),
        ({"purchase_fee": ["0%", 0.1, None, None]}, "row 2, column 'purchase_fee': 0.1 may be a share or a"),
        ({"purchase_fee": ["-0.1%", None, None, None]}, "row 1, column 'purchase_fee': '-0.1%' is not a fee"),
        ({"purchase_fee": [None, "150%", None, None]}, "row 2, column 'purchase_fee': '150%' is not a fee"),
        ({"purchase_fee": [None, "free", None, None]}, "row 2, column 'purchase_fee': 'free' is not a fee"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_line(change: dict[str, list], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_facts(FACTS.assign(**change))
    assert str(caught.value).startswith(f"DataFrame, {message}")
    assert re.fullmatch(r"[^\n]+: [^\n]+\. [A-Z][^\n]+\.", str(caught.value))


def test_fees_with_semicolons_can_stand_in_a_table_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "funds.csv"
    path.write_text("code,type,redemption fees\n1,bond,7:0.015;365:0.005\n2,bond,7:0.015;30:0.001\n")
    facts = read_facts(path)
    assert facts.redemption_fees == {"1": "7:0.015;365:0.005", "2": "7:0.015;30:0.001"}
    assert facts.types == {"1": "bond", "2": "bond"}


def test_a_table_without_codes_is_refused() -> None:
    with pytest.raises(DataError, match=r"no column of fund codes\. Name it 'code'\."):
        read_facts(FACTS.drop(columns="code"))


def facts_of(**columns: list) -> FundFacts:
    return read_facts(pd.DataFrame({"code": list("abcd"), "share_group": ["X", "X", "X", None], **columns}))


@pytest.mark.parametrize(
    ("columns", "lengths", "chosen"),
    [
        ({"purchase_fee": ["1%", "0.1%", "0.5%", "0%"]}, {"a": 10, "b": 5, "c": 9}, ["b"]),
        ({"purchase_fee": ["1%", None, None, None]}, {"a": 2, "b": 5, "c": 9}, ["a"]),  # the known fee
        ({"purchase_fee": ["0%", "0%", "1%", None]}, {"a": 5, "b": 6, "c": 9}, ["b"]),
        ({}, {"a": 5, "b": 5, "c": 9}, ["c"]),
        ({}, {"c": 9, "b": 9, "a": 5}, ["b"]),  # by code
        ({}, {"z": 3, "b": 5, "d": 1, "c": 9, "y": 2}, ["z", "d", "c", "y"]),  # without group or facts
        ({"purchase_fee": ["0%", "1%", "1%", None]}, {"b": 5, "c": 9}, ["c"]),  # the cheapest has no values
    ],
)
def test_one_fund_per_share_group(
    columns: dict[str, list], lengths: dict[str, int], chosen: list[str]
) -> None:
    assert facts_of(**columns).one_per_group(pd.Series(lengths)) == chosen
