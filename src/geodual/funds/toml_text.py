"""Write settings as TOML, which the standard library only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def write_toml(settings: Mapping[str, Any]) -> str:
    """Return settings as a TOML document: one line per value, then the tables of mappings.

    Parameters
    ----------
    settings : mapping
        Texts, numbers, booleans, lists, and mappings from names to tables of these.
    """
    lines, tables = [], []
    for name, value in settings.items():
        if isinstance(value, Mapping):  # tables come last: in TOML all that follows belongs to them
            tables += [_table(f"{_key(name)}.{_key(entry)}", table) for entry, table in value.items()]
        else:
            lines.append(f"{_key(name)} = {_value(value)}\n")
    return "".join(lines + tables)


def _table(name: str, table: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in table.items()]
    return f"\n[{name}]\n{''.join(lines)}"


def _key(name: str) -> str:
    """Return a key, which needs quotes unless it is made of letters, digits, - and _."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, str):
        # A text in JSON is valid TOML too, except that TOML forbids a bare DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value) if isinstance(value, float) else value)  # a number of numpy is a float, too
