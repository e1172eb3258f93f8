"""The funds that a study may choose from: by type, code or name, as the settings ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from geodual.errors import DataError

from ..config import StudyConfig
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts

_SHOWN = 8  # types listed in an error


def filter_funds(panel: Panel, config: StudyConfig, facts: FundFacts) -> Panel:
    """Return a panel with the funds that `types`, `include` and `exclude` leave; the same one if all remain.

    Raises
    ------
    DataError
        If a setting matches no fund, or needs facts that are not known.
    """
    _check_known(config, facts)
    funds = list(panel.nav.columns)
    kept = set(funds)
    if config.types:
        kept &= _of_types(funds, config.types, facts.types)
    if config.include:
        kept &= _matching("include", config.include, funds, facts.names)
    if config.exclude:
        kept -= _matching("exclude", config.exclude, funds, facts.names)
    if len(kept) == len(funds):
        return panel
    if not kept:
        raise DataError(
            f"{panel.source}: `types`, `include` and `exclude` leave no fund; choose fewer of these settings."
        )
    return Panel(panel.nav[[fund for fund in funds if fund in kept]], panel.source, panel.findings)


def _check_known(config: StudyConfig, facts: FundFacts) -> None:
    """Raise if a setting asks for types or companies and the facts have none."""
    by_type = config.types or config.settlement_lag or config.relative_to == "type" or config.max_type < 1.0
    for needed, known, what in (
        (bool(by_type), facts.types, "types"),
        (config.max_company < 1.0, facts.companies, "companies"),
    ):
        if needed and not known:
            raise DataError(
                f"The settings ask for the {what} of funds, which are not known. Give fund facts with them "
                "(`facts` in Python, --meta in the command)."
            )


def _of_types(funds: Sequence[str], wanted: Sequence[str], types: Mapping[str, str]) -> set[str]:
    of_funds = {fund: types[fund].casefold() for fund in funds if fund in types}
    for name in wanted:
        if name.casefold() not in of_funds.values():
            known = sorted({types[fund] for fund in of_funds})
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            raise DataError(f"`types`: no fund has the type {name!r}; known are {shown or 'none'}.")
    chosen = {name.casefold() for name in wanted}
    return {fund for fund, kind in of_funds.items() if kind in chosen}


def _matching(
    setting: str, patterns: Sequence[str], funds: Sequence[str], names: Mapping[str, str]
) -> set[str]:
    """Return the funds whose code or name matches one of the patterns; capitals do not matter."""
    texts = {fund: (fund.casefold(), names.get(fund, fund).casefold()) for fund in funds}
    found: set[str] = set()
    for pattern in patterns:
        wanted = pattern.casefold()
        matched = {fund for fund, both in texts.items() if any(fnmatchcase(text, wanted) for text in both)}
        if not matched:
            raise DataError(
                f"`{setting}`: no fund has the code or name {pattern!r}; check it, or use * for any text."
            )
        found |= matched
    return found
