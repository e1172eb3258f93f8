"""Check the links of the built site: ``python -m docs.check_links FOLDER``.

Every link to a page, picture or heading of the site must lead somewhere. Links to other sites need the
network, so they are counted and listed by host, not followed: ``make docs-links`` follows them where there is
a network.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """The links of a page, and the places in it that a link may name."""

    links: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to and what it is called."""
        values = {name: value for name, value in attrs if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if not (tag == "link" and values.get("rel") in ("preload", "prefetch")):
            self.links |= {values[name] for name in ("href", "src") if name in values}


def read_pages(folder: Path) -> dict[str, Page]:
    """Return the pages of a site by their files."""
    pages = {}
    for file in sorted(folder.resolve().rglob("*.html")):
        if "_static" in file.parts:
            continue  # templates of the theme
        pages[str(file)] = Page()
        pages[str(file)].feed(file.read_text("utf-8"))
    return pages


def broken_links(pages: dict[str, Page]) -> list[str]:
    """Return one line per link that leads nowhere within the site."""
    exists = cache(os.path.exists)  # pages share most of their links
    broken = []
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            folder, name = os.path.split(file)
            target = os.path.normpath(os.path.join(folder, unquote(parts.path))) if parts.path else file
            place = unquote(parts.fragment)
            if not exists(target):
                broken.append(f"{name}: {link}: there is no such file")
            elif place and target in pages and place not in pages[target].places:
                broken.append(f"{name}: {link}: there is no such heading")
    return broken


def external_hosts(pages: dict[str, Page]) -> dict[str, int]:
    """Return the number of different links to each other site."""
    links = {link for page in pages.values() for link in page.links if urlsplit(link).netloc}
    hosts = [urlsplit(link).netloc for link in links]
    return {host: hosts.count(host) for host in sorted(set(hosts))}


def main(folder: Path) -> int:
    """Print what was found; return 1 if a link is broken."""
    pages = read_pages(folder)
    broken, hosts = broken_links(pages), external_hosts(pages)
    n_links = sum(len(page.links) for page in pages.values())
    listed = ", ".join(f"{host} ({number})" for host, number in hosts.items())
    lines = [*broken, f"{len(pages)} pages, {n_links} links, {len(broken)} broken."]
    lines.append(f"Not followed, because they need the network: {sum(hosts.values())} links to {listed}.")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
