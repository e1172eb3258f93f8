"""What reads or draws tables and settings: NAVs, indices, facts, configurations, factors and quality."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual import funds
from geodual.funds import Panel, StudyConfig

from ..case import Case, Rng, pick
from ..hostile import STRANGE_NUMBERS
from ..nav_tables import damaged_file, index_levels, nav_table

_TEXTS = ("", "a", "2015-01-01", "x" * 1000, "日本", "../..", "NaN", "=1+1", "\0")
STRANGE_VALUES = (
    *STRANGE_NUMBERS,
    *_TEXTS,
    [],
    ["a"],
    [1],
    (),
    {},
    {"a": 1},
    {"a": {"b": 1}},
    ["rpdml", "rpdml"],
)
"""What a setting may be by mistake."""


def draw(rng: Rng) -> Case:
    """Return a call that reads, checks or draws tables or settings."""
    return _KINDS[pick(rng, *_KINDS)](rng)


def _read_nav(rng: Rng) -> Case:
    what, nav = nav_table(rng)
    return Case(f"read_nav({what} {nav.shape})", lambda: funds.read_nav(nav), (nav,), _wrong_with_panel)


def _read_file(rng: Rng) -> Case:
    seed = int(rng.integers(2**32))
    reader = pick(rng, funds.read_nav, funds.read_nav, funds.read_index, funds.read_facts)

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return reader(damaged_file(np.random.default_rng(seed), Path(folder))[1])

    return Case(f"{reader.__name__}(a damaged file, seed {seed})", call, check=_wrong_with_panel)


def _read_index(rng: Rng) -> Case:
    levels, column = index_levels(rng), pick(rng, None, None, None, "a", 3)

    def check(index: Any) -> Iterator[str]:
        if not (np.isfinite(index).all() and (index > 0).all() and index.index.is_monotonic_increasing):
            yield "the index holds values that are not positive, or days out of order"

    return Case("read_index", lambda: funds.read_index(levels, column), (levels,), check)


def _read_facts(rng: Rng) -> Case:
    n = int(rng.integers(0, 6))
    columns = {"code": [f"{k:06d}" for k in range(n)], "name": ["a"] * n, "fund_type": ["QDII"] * n}
    columns["purchase_fee"] = pick(
        rng, ["0.15%"] * n, [0.1] * n, ["a"] * n, [np.nan] * n, [-1.0] * n, [1e9] * n
    )
    columns[pick(rng, "group", "company", "基金公司", "x", "code ")] = pick(
        rng, ["g"] * n, [None] * n, [3] * n
    )
    table = pd.DataFrame(columns)
    table = pick(rng, *[table] * 5, table.iloc[:, 1:], pd.concat([table, table]), table.T, table.astype(str))
    return Case(
        f"read_facts({list(table.columns)}, {len(table)} rows)", lambda: funds.read_facts(table), (table,)
    )


def _config(rng: Rng) -> Case:
    names = [str(name) for name in rng.choice(list(StudyConfig.__dataclass_fields__), 2, replace=False)]
    given = {name: pick(rng, *STRANGE_VALUES) for name in names[: int(rng.integers(1, 3))]}
    return Case(f"StudyConfig({given!r:.200})", lambda: StudyConfig(**given).to_toml())


def _toml(rng: Rng) -> Case:
    text = StudyConfig().to_toml()
    lines = text.splitlines()
    at = int(rng.integers(len(lines)))
    lines[at] = (
        lines[at].split("=")[0]
        + "= "
        + pick(rng, "", "1", '"a"', "[1]", "nan", "{a = 1}", "[[[", '"', "0x1", "1e999")
    )
    text = pick(
        rng,
        "\n".join(lines),
        text + "\n[forecasters.a]\n" + lines[at],
        text.replace("k = ", "kk = "),
        "\0",
        "",
    )

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.toml"
            path.write_text(text, "utf-8")
            return StudyConfig(**funds.read_config(path))

    return Case(f"read_config({lines[at]!r})", call)


def _factors(rng: Rng) -> Case:
    what, nav = nav_table(rng)
    dates = pick(
        rng, None, None, "daily", "2015-03-31", "soon", 3, [], ["2015-03-31", "2015-03-31"], "1999-01-01"
    )
    factors = pick(rng, "paper", "paper", "sharpe", ("sharpe", "none"), (), 3, None, "numpy:abs")

    def check(table: pd.DataFrame) -> Iterator[str]:
        if np.isinf(table.to_numpy(float)).any():
            yield "a factor is infinite"

    return Case(
        f"compute_factors({what}, {dates!r}, {factors!r})",
        lambda: funds.compute_factors(funds.read_nav(nav), dates, factors),
        (nav,),
        check,
    )


def _inspection(rng: Rng) -> Case:
    what, nav = nav_table(rng)
    look = pick(rng, funds.inspect_quality, funds.measure_survivorship)
    if rng.random() < 0.3:
        levels = index_levels(rng)
        return Case(
            f"inspect_index({what})",
            lambda: funds.inspect_index(funds.read_index(levels), funds.read_nav(nav).nav),
            (nav, levels),
        )
    return Case(f"{look.__name__}({what})", lambda: look(funds.read_nav(nav).nav), (nav,))


def _synthetic(rng: Rng) -> Case:
    given = {
        "n_funds": pick(rng, 5, 5, 3, *STRANGE_NUMBERS[:-4]),
        "start": pick(rng, "2014-01-02", "2014-01-02", *_TEXTS),
        "end": pick(rng, "2015-01-02", "2015-01-02", "2013-01-01", *_TEXTS),
        "seed": pick(rng, 0, 0, *STRANGE_NUMBERS),
        "signal": pick(rng, 1.0, 1.0, *STRANGE_NUMBERS),
    }
    given = {name: value for name, value in given.items() if name in ("n_funds", "end") or rng.random() < 0.4}
    if given["n_funds"] == 10**30:
        given["n_funds"] = 4
    return Case(
        f"synthetic_universe({given!r:.300})",
        lambda: funds.synthetic_universe(**given).panel,
        check=_wrong_with_panel,
    )


def _wrong_with_panel(panel: Any) -> Iterator[str]:
    if not isinstance(panel, Panel):
        return
    nav = panel.nav
    values = nav.to_numpy(float)
    if np.isinf(values).any() or (values <= 0.0).any():
        yield "the panel holds values that are not positive and finite"
    if not nav.index.is_monotonic_increasing or not nav.index.is_unique or not nav.columns.is_unique:
        yield "the days or the funds of the panel are not unique and in order"
    if nav.isna().all().any() or nav.isna().all(axis=1).any():
        yield "a fund or a day of the panel has no value"


_KINDS: dict[str, Callable[[Rng], Case]] = {
    "nav": _read_nav,
    "file": _read_file,
    "index": _read_index,
    "facts": _read_facts,
    "config": _config,
    "toml": _toml,
    "factors": _factors,
    "inspection": _inspection,
    "synthetic": _synthetic,
}
