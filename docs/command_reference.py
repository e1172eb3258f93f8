"""The commands of the program in Markdown, for the reference, read from the program itself."""

from __future__ import annotations

from typing import Any

from typer.main import get_command

from geodual.cli import app


def describe_commands() -> str:
    """Return one section per command: what it does, its examples, arguments and options."""
    return "\n\n".join(describe_command(name, command) for name, command in get_command(app).commands.items())


def describe_command(name: str, command: Any) -> str:
    """Return the section of one command."""
    parts = [f"## geodual {name}"]
    for paragraph in (command.help or "").split("\n\n"):
        if paragraph.startswith("[bold]"):
            continue  # the heading of the examples, which show what they are
        is_example = paragraph.startswith("geodual ")
        parts.append(f"```text\n{paragraph}\n```" if is_example else paragraph.replace("\n", " "))
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            panels.setdefault(panel_of(parameter), []).append(parameter)
    for title, parameters in panels.items():
        head = f"| {'argument' if title == 'Arguments' else 'option'} | meaning |"
        parts.append(f"**{title}**")
        parts.append("\n".join([head, "| --- | --- |", *map(describe_parameter, parameters)]))
    return "\n\n".join(parts).replace("```\n\n```text\n", "")


def panel_of(parameter: Any) -> str:
    """Return the title of the group that an argument or option belongs to."""
    plain = "Options" if parameter.opts[0].startswith("-") else "Arguments"
    return parameter.rich_help_panel or plain


def describe_parameter(parameter: Any) -> str:
    """Return the row of an argument or option: its names and its help."""
    names = [parameter.metavar] if panel_of(parameter) == "Arguments" else parameter.opts
    shown = ", ".join(f"`{name}`" for name in names)
    text = " ".join((parameter.help or "").split()).replace("|", r"\|")
    if parameter.required:
        text += " Required."
    elif parameter.default is not None and parameter.default is not False:
        text += f" (default: {parameter.default})"
    return f"| {shown} | {text} |"
