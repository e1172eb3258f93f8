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
    funds = list(panel.nav.columns)
    _check_known(config, facts, funds)
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


def _check_known(config: StudyConfig, facts: FundFacts, funds: Sequence[str]) -> None:
    """Raise if a setting asks for types or companies and these are known of no fund of the table."""
    by_type = config.types or config.settlement_lag or config.relative_to == "type" or config.max_type < 1.0
    for needed, known, what in (
        (bool(by_type), facts.types, "types"),
        (config.max_company < 1.0, facts.companies, "companies"),
    ):
        if not needed or any(fund in known for fund in funds):
            continue
        if known:
            raise DataError(
                f"{facts.source}: the {what} are those of other funds, such as {next(iter(known))!r}, while "
                f"the NAV table has {funds[0]!r}. Write the codes as in the NAV table."
            )
        raise DataError(
            f"The settings ask for the {what} of funds, which are not known. Give fund facts with them "
            "(`facts` in Python, --meta in the command)."
        )


def _of_types(funds: Sequence[str], wanted: Sequence[str], types: Mapping[str, str]) -> set[str]:
    of_funds = {fund: types[fund] for fund in funds if fund in types}
    for name in wanted:
        if not any(_fits(kind, name) for kind in of_funds.values()):
            known = sorted({types[fund] for fund in of_funds})
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            raise DataError(f"`types`: no fund has the type {name!r}; known are {shown or 'none'}.")
    return {fund for fund, kind in of_funds.items() if any(_fits(kind, name) for name in wanted)}


def _matching(
    setting: str, patterns: Sequence[str], funds: Sequence[str], names: Mapping[str, str]
) -> set[str]:
    """Return the funds whose code or name fits one of the patterns."""
    found: set[str] = set()
    for pattern in patterns:
        matched = {fund for fund in funds if _fits(fund, pattern) or _fits(names.get(fund, fund), pattern)}
        if not matched:
            raise DataError(
                f"`{setting}`: no fund has the code or name {pattern!r}; check it, or use * for any text."
            )
        found |= matched
    return found


def _fits(text: str, pattern: str) -> bool:
    """Tell whether a text fits a pattern with * for any text; capitals do not matter."""
    # Nothing else has a meaning: a name may contain a question mark or a bracket.
    plain = pattern.casefold().replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text.casefold(), plain)
