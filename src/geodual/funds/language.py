"""The language of reports, pages and workbooks: the code has English texts, and a catalog translates them.

`say` translates a text while a page is made. `phrase` makes a text that is stored before anybody asks for a
page, such as a note or a finding: it stays English in files and on the terminal, and `reword` translates it
where it is shown.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any

from geodual.errors import DataError

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")
KEPT = ("fund", "other", "name", "company")  # placeholders of names: never translated
_LABELS = ("index", "forecaster")  # placeholders of names, of which the catalog may have some
_NUMBER = re.compile(r"n(_\w+)?")  # placeholders of numbers
_MEANING = "\x04"  # ends the mark of one of two meanings of a text
_PAGES = "report/"  # the folder of the texts that only `say` says
_CHINESE, _LATIN = re.compile("[\u4e00-\u9fff]"), re.compile("[A-Za-z0-9%+−]")
_DAYS = re.compile(r"date|list_dates")  # placeholders of days
_LIST = {"list": ", ", "parts": "; "}  # how placeholders of lists begin, and what is between their entries
_current: ContextVar[str] = ContextVar("language", default=ENGLISH)


def check_language(name: str) -> str:
    """Return the name of a language; raise if there is no catalog of it."""
    if name not in LANGUAGES:
        raise DataError(f"`language` must be one of {', '.join(LANGUAGES)}, got {name!r}.")
    return name


@contextmanager
def in_language(name: str) -> Iterator[None]:
    """Let pages and workbooks that are made inside the block be in this language.

    Parameters
    ----------
    name : str
        One of `LANGUAGES`.
    """
    token = _current.set(check_language(name))
    try:
        yield
    finally:
        _current.reset(token)


def current_language() -> str:
    """Return the language that pages are made in now."""
    return _current.get()


def say(template: str, /, **values: Any) -> str:
    r"""Return a text in the current language, filled in.

    Parameters
    ----------
    template : str
        The English text, with placeholders as `str.format` has them. What the catalog lacks, such as the
        name of a fund, stays as it is. As in gettext, what stands before "\x04" is not shown; it marks
        one of two meanings of a text.
    **values : object
        What the placeholders stand for, already in the current language.
    """
    language = _current.get()
    text = _texts(language).get(template) or template.rpartition(_MEANING)[2]
    return _fill(text, values, language) if values else text


def phrase(template: str, /, **values: Any) -> str:
    """Return a text in English, filled in, for `reword` or `say` to translate where it is shown.

    Parameters
    ----------
    template : str
        The English text, with placeholders. ``n`` and ``n_...`` stand for numbers, ``date`` and
        ``list_dates`` for days, ``list_...`` for texts with commas between them, and ``parts`` for texts with
        semicolons between them. The texts of all others are translated, too, except for names (`KEPT`).
    **values : object
        What the placeholders stand for; without any, the text is returned as it is.
    """
    return template.format(**values) if values else template


def phrases(*texts: str) -> frozenset[str]:
    """Return words that stand in tables, such as the names of columns, for `say` to translate."""
    return frozenset(texts)


def reword(text: str) -> str:
    """Return a text that `phrase` made, or several of them in a row, in the current language.

    Parameters
    ----------
    text : str
        The text in English; one that is unknown stays as it is.
    """
    language = _current.get()
    return text if language == ENGLISH or not text else _reword(text, language)


def say_all(*texts: str) -> str:
    """Return sentences one after the other, spaced as the language wants it; empty ones are left out."""
    return _gap(_current.get()).join(filter(None, texts))


def texts_of_scripts() -> dict[str, str]:
    """Return the texts of the scripts of the report in the current language; none for English."""
    catalog = read_catalog(_current.get())
    return {
        key: text for file, texts in catalog.items() if file.endswith(".js") for key, text in texts.items()
    }


def _fill(template: str, values: dict[str, Any], language: str) -> str:
    """Return a template filled in; in Chinese with spaces beside Latin letters only."""
    if language != "zh":
        return template.format(**values)
    text = ""
    for fixed, name, form, _ in Formatter().parse(template):
        text = _join_spaced(text, fixed)
        if name is not None:
            text = _join_spaced(text, format(values[name], form or ""))
    return text


def _join_spaced(left: str, right: str) -> str:
    """Return two texts one after the other, with a space between Chinese and Latin letters or digits."""
    before, after = left.rstrip(" ")[-1:], right.lstrip(" ")[:1]
    if _CHINESE.match(before) and _CHINESE.match(after):
        return left.rstrip(" ") + right.lstrip(" ")
    for one, other in ((_CHINESE, _LATIN), (_LATIN, _CHINESE)):
        if one.match(before) and other.match(after):
            return f"{left.rstrip(' ')} {right.lstrip(' ')}"
    return left + right


@cache
def read_catalog(language: str) -> dict[str, dict[str, str]]:
    """Return the translations of a language, by the file of the English text and by this text."""
    if language == ENGLISH:
        return {}
    place = files(__package__) / "languages" / f"{language}.toml"
    return tomllib.loads(place.read_text("utf-8"))


@cache
def _texts(language: str) -> dict[str, str]:
    return {key: text for texts in read_catalog(language).values() for key, text in texts.items()}


def _gap(language: str) -> str:
    return "" if language == "zh" else " "


@lru_cache(maxsize=20_000)
def _reword(text: str, language: str) -> str:
    found = _match(text, language, r"(?:(?!\. [^a-z]).)+?")
    if found is not None:
        return found
    # Several texts in a row: the longest beginning that is known, and the rest.
    ends = [end.start() + 1 for end in re.finditer(r"[.?!] ", text)]
    for end in reversed(ends):
        found = _match(text[:end], language, r"(?:(?!\. [^a-z]).)+?")
        if found is not None:
            return found + _gap(language) + _reword(text[end + 1 :], language)
    found = _match(text, language, r".+?")
    if found is None and ends:
        rest = text[ends[0] + 1 :]
        return f"{text[: ends[0]]} {_reword(rest, language)}"
    return text if found is None else found


def _match(text: str, language: str, value: str) -> str | None:
    """Return the translation of a text that one template made; None if there is none.

    Parameters
    ----------
    value : str
        Regular expression of what a placeholder stands for.
    """
    known = _texts(language)
    if text in known:
        return known[text]
    for start, pattern, translation in _patterns(language, value):
        if text.startswith(start) and (found := pattern.fullmatch(text)):
            values = found.groupdict()
            told = {key: _reword_value(key, each, language) for key, each in values.items()}
            return _fill(translation, told, language)
    return None


def _reword_value(key: str, text: str, language: str) -> str:
    """Return what a placeholder stands for in another language."""
    if key in KEPT or _NUMBER.fullmatch(key):
        return text
    if key in _LABELS:
        return _texts(language).get(text, text)
    between = _LIST.get(key.partition("_")[0])
    if between is None:
        return _reword(text, language)
    entries = [_reword_entry(entry, language) for entry in text.split(between)]
    return _texts(language).get(between, between).join(entries)


def _reword_entry(text: str, language: str) -> str:
    """Return an entry of a list in another language: a text, or one with a number after it."""
    found = _reword(text, language)
    what, _, number = text.rpartition(" ")
    is_counted = found == text and what and re.fullmatch(r"[-−+]?[\d.,]+", number)
    return f"{_reword(what, language)} {number}" if is_counted else found


def _stored(language: str) -> dict[str, str]:
    """Return the texts that `phrase` may have made: all but those of pages, which are never stored."""
    catalog = read_catalog(language).items()
    stored = [texts for file, texts in catalog if not file.startswith(_PAGES)]
    return {key: text for texts in stored for key, text in texts.items()}


@cache
def _patterns(language: str, value: str) -> list[tuple[str, re.Pattern[str], str]]:
    """Return how the templates with placeholders begin, what they match, and their translations.

    The most specific come first: those with most letters besides the placeholders.
    """
    found = []
    for template, translation in _stored(language).items():
        parts = [(fixed, name) for fixed, name, _, _ in Formatter().parse(template)]
        letters = sum(len(fixed) for fixed, _ in parts)
        names: set[str | None] = {None}
        expression = ""
        for fixed, name in parts:
            expression += re.escape(fixed)
            if name is not None:
                expression += f"(?P={name})" if name in names else f"(?P<{name}>{_expect(name, value)})"
            names.add(name)
        if len(names) > 1:
            plain = _without_formats(translation)
            found.append((letters, parts[0][0], re.compile(expression, re.DOTALL), plain))
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found]


def _expect(name: str, value: str) -> str:
    """Return the regular expression of what a placeholder stands for."""
    if _NUMBER.fullmatch(name):
        return r"[-−+]?[\d.,]+"
    return r"[\d, -]*" if _DAYS.fullmatch(name) else value


def _without_formats(template: str) -> str:
    """Return a template whose placeholders take texts: ``{n}`` in place of ``{n:,}``."""
    return "".join(
        fixed.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{name}}}")
        for fixed, name, _, _ in Formatter().parse(template)
    )
