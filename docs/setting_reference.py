"""The settings of a study in Markdown, for the reference, in the groups in which help and app show them."""

from __future__ import annotations

from geodual.funds.config import GROUPS
from geodual.funds.settings import list_settings


def describe_settings() -> str:
    """Return one table per group: each setting with its default and its meaning."""
    settings = list_settings()
    parts = []
    for group in GROUPS:
        rows = [f"**{group}**\n", "| setting | default | meaning |", "| --- | --- | --- |"]
        for setting in settings:
            if setting.group == group:
                default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
                text = setting.text.replace("|", r"\|").replace("*", r"\*")
                rows.append(f"| `{setting.name}` | `{default!r}` | {text} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)
