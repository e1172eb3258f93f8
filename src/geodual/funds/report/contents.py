"""The groups of sections that a report is made of, and the list of contents that leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .markup import Section, make_paragraph


@dataclass(frozen=True)
class Group:
    """Sections that belong together.

    Attributes
    ----------
    name : str
        Its identifier, the target of links.
    title : str
        Its heading.
    question : str
        The question that its sections answer, shown below the heading.
    sections : tuple of Section or None
        Its sections; None stands for one that does not apply to the study.
    """

    name: str
    title: str
    question: str
    sections: tuple[Section | None, ...]

    @property
    def shown(self) -> list[Section]:
        """The sections that apply to the study."""
        return [section for section in self.sections if section is not None]

    def html(self) -> str:
        """Return the group with all its sections."""
        lead = make_paragraph(self.question, "question") if self.question else ""
        body = "\n\n".join(section.html() for section in self.shown)
        return (
            f'<section id="{self.name}" class="group" aria-labelledby="{self.name}-title">\n'
            f'<h2 id="{self.name}-title">{escape(self.title)}</h2>\n{lead}\n{body}\n</section>'
        )


def make_contents(groups: Sequence[Group]) -> str:
    """Return the list of contents: a link per group, and within it a link per section."""
    items = []
    for group in groups:
        links = "".join(f"<li>{_link(one.name, one.short or one.title)}</li>" for one in group.shown)
        items.append(f"<li>{_link(group.name, group.title)}<ul>{links}</ul></li>")
    return f'<ul class="groups">{"".join(items)}</ul>'


def _link(name: str, title: str) -> str:
    return f'<a href="#{name}">{escape(title)}</a>'
