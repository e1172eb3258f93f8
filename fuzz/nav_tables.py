"""Tables of net asset values, damaged in one way, and files whose bytes are damaged."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.funds import synthetic_universe

from .case import Rng, pick


@lru_cache(maxsize=1)
def _universe() -> tuple[pd.DataFrame, pd.Series[float]]:
    universe = synthetic_universe(24, "2014-01-02", "2016-06-30", seed=5)
    return universe.panel.nav, universe.index


def nav_table(rng: Rng, healthy: float = 0.4) -> tuple[str, pd.DataFrame]:
    """Return a name and a table of NAVs, healthy or damaged in one way."""
    nav = _universe()[0]
    nav = nav.iloc[:, : pick(rng, 24, 24, 24, 18, 13, int(rng.integers(1, 13)))].copy()
    damage = "healthy" if rng.random() < healthy else pick(rng, *_DAMAGES)
    return damage, _DAMAGES[damage](rng, nav)


def index_levels(rng: Rng) -> Any:
    """Return the levels of an index, mostly sound."""
    index = _universe()[1].copy()
    wrong = (
        index.iloc[:1],
        index.iloc[:0],
        index * np.nan,
        -index,
        index.astype(str),
        index.reset_index(drop=True),
    )
    return pick(rng, *[index] * 8, index.iloc[::-1], index.iloc[::7], index.iloc[200:], *wrong)


def _set(value: Any) -> Callable[[Rng, pd.DataFrame], pd.DataFrame]:
    def change(rng: Rng, nav: pd.DataFrame) -> pd.DataFrame:
        nav = nav.astype(object) if isinstance(value, str) else nav
        nav.iloc[int(rng.integers(len(nav))), int(rng.integers(nav.shape[1]))] = value
        return nav

    return change


def _holes(rng: Rng, nav: pd.DataFrame) -> pd.DataFrame:
    return nav.mask(rng.random(nav.shape) < pick(rng, 0.01, 0.5, 0.99, 1.0))


def _long(rng: Rng, nav: pd.DataFrame) -> pd.DataFrame:
    table = nav.rename_axis("date").reset_index().melt(id_vars="date", var_name="fund", value_name="nav")
    return table.sample(frac=1.0, random_state=int(rng.integers(100)))


def _days(change: Callable[[Any], Any]) -> Callable[[Rng, pd.DataFrame], pd.DataFrame]:
    def changed(rng: Rng, nav: pd.DataFrame) -> pd.DataFrame:
        return nav.set_axis(change(nav.index), axis=0)

    return changed


def _renamed(names: Callable[[int], list[Any]]) -> Callable[[Rng, pd.DataFrame], pd.DataFrame]:
    return lambda rng, nav: nav.set_axis(names(nav.shape[1]), axis=1)


_DAMAGES: dict[str, Callable[[Rng, pd.DataFrame], pd.DataFrame]] = {
    "healthy": lambda rng, nav: nav,
    "a NaN": _set(np.nan),
    "an infinity": _set(np.inf),
    "a zero": _set(0.0),
    "a negative": _set(-1.0),
    "a word": _set("closed"),
    "a huge value": _set(1e150),
    "a tiny value": _set(1e-150),
    "holes": _holes,
    "all huge": lambda rng, nav: nav * 1e150,
    "all tiny": lambda rng, nav: nav * 1e-150,
    "all constant": lambda rng, nav: nav * 0.0 + 1.0,
    "all equal": lambda rng, nav: nav.apply(lambda column: nav.iloc[:, 0]),
    "one fund": lambda rng, nav: nav.iloc[:, :1],
    "no fund": lambda rng, nav: nav.iloc[:, :0],
    "one day": lambda rng, nav: nav.iloc[:1],
    "no day": lambda rng, nav: nav.iloc[:0],
    "few days": lambda rng, nav: nav.iloc[: int(rng.integers(2, 150))],
    "float32": lambda rng, nav: nav.astype(np.float32),
    "whole numbers": lambda rng, nav: (1000 * nav).fillna(1).astype(int),
    "objects": lambda rng, nav: nav.astype(object),
    "texts": lambda rng, nav: nav.astype(str),
    "bools": lambda rng, nav: nav > 1.0,
    "shuffled days": lambda rng, nav: nav.sample(frac=1.0, random_state=0),
    "days twice": lambda rng, nav: pd.concat([nav, nav.iloc[:3]]),
    "different values on a day": lambda rng, nav: pd.concat([nav, 2 * nav.iloc[:3]]),
    "days as texts": _days(lambda index: index.strftime("%d.%m.%Y")),
    "days as numbers": _days(lambda index: index.strftime("%Y%m%d").astype(int)),
    "days in a zone": _days(lambda index: index.tz_localize("Asia/Shanghai")),
    "no days": _days(lambda index: range(len(index))),
    "missing days": _days(lambda index: index.where(np.arange(len(index)) > 2)),
    "funds with numbers": _renamed(lambda n: list(range(n))),
    "funds with equal names": _renamed(lambda n: ["000001"] * n),
    "funds with strange names": _renamed(
        lambda n: ["=1+1", "<b>", "", "日本", "a,b"][:n] + [f"f{k}" for k in range(n - 5)]
    ),
    "funds without names": _renamed(lambda n: [None] * n),
    "long": _long,
    "transposed": lambda rng, nav: nav.T,
}


def damaged_file(rng: Rng, folder: Path) -> tuple[str, Path]:
    """Write a table to a file, perhaps with damaged bytes; return a name and the path."""
    what, nav = nav_table(rng, healthy=0.6)
    kind = pick(rng, "csv", "csv", "csv", "parquet", "csv.gz")
    path = folder / f"nav.{kind}"
    try:
        if kind == "parquet":
            nav.to_parquet(path)
        else:
            nav.to_csv(path, sep=pick(rng, ",", ";", "\t"), encoding=pick(rng, "utf-8", "utf-16", "gbk"))
    except (ValueError, TypeError, UnicodeError):
        nav.astype(str).set_axis(list(map(str, range(nav.shape[1]))), axis=1).to_csv(folder / "nav.csv")
        path = folder / "nav.csv"
    harm = pick(rng, *["none"] * 4, *HARMS)
    path.write_bytes(HARMS.get(harm, lambda rng, data: data)(rng, path.read_bytes()))
    return f"{what} {kind}, {harm}", path


def _flipped(rng: Rng, data: bytes) -> bytes:
    changed = bytearray(data)
    for at in rng.integers(max(len(data), 1), size=int(rng.integers(1, 20))):
        changed[at : at + 1] = bytes([int(rng.integers(256))])
    return bytes(changed)


def _without_lines(rng: Rng, data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if rng.random() < 0.9)


HARMS: dict[str, Callable[[Rng, bytes], bytes]] = {
    "bytes flipped": _flipped,
    "cut": lambda rng, data: data[: int(rng.integers(len(data) + 1))],
    "lines lost": _without_lines,
    "twice": lambda rng, data: data + data,
    "a banner": lambda rng, data: b"Our funds\n\n" + data,
    "a null byte": lambda rng, data: data[:50] + b"\0" + data[50:],
    "noise": lambda rng, data: rng.bytes(500),
    "empty": lambda rng, data: b"",
}
