"""The documentation site builds without a warning, its links lead somewhere, and what pages show is true."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.check_links import broken_links, external_hosts, read_pages
from docs.run_pages import DOCS, PAGES, run_page

PACKAGES = {
    "manifolds": "geodual.manifolds",
    "optimize": "geodual.optimize",
    "semidefinite": "geodual.semidefinite",
    "model": "geodual.model",
    "metric": "geodual.metric",
    "metric_learn": "geodual.compat.metric_learn",
    "funds": "geodual.funds",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy of its sources, without running the gallery; warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(
        DOCS, folder / "docs", ignore=shutil.ignore_patterns("gallery", "generated", "__pycache__")
    )
    for name in ("CHANGELOG.md", "examples"):
        (folder / name).symlink_to(DOCS.parent / name)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", "html"],
        cwd=folder,
        env=os.environ | {"GEODUAL_DOCS_RUN": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_site_builds_and_its_links_lead_somewhere(site: Path) -> None:
    pages = read_pages(site)
    assert broken_links(pages) == []
    for page in PAGES:
        assert str((site / page).with_suffix(".html")) in pages
    for package in PACKAGES.values():
        for name in importlib.import_module(package).__all__:
            text = (site / "reference" / "generated" / f"{package}.{name}.html").read_text("utf-8")
            assert f'id="{package}.{name}"' in text
    commands = (site / "reference" / "command_line.html").read_text("utf-8")
    assert "geodual check-leakage" in commands
    assert "--execution-lag" in commands
    formulas = (site / "explanation" / "from_saddle_point_to_certificate.html").read_text("utf-8")
    assert formulas.count("<math ") >= 7
    assert re.search(r"<mfrac[^>]*>\s*<mn>1</mn>\s*<mn>2</mn>", formulas)  # tfrac12 is a half
    assert "mathjax" not in formulas.lower()  # formulas need no network


@pytest.mark.parametrize("page", PACKAGES)
def test_every_public_name_is_in_the_reference(page: str) -> None:
    text = (DOCS / "reference" / f"{page}.md").read_text("utf-8")
    listed = re.findall(r"^   (\w+)$", text, flags=re.M)
    assert sorted(listed) == sorted(importlib.import_module(PACKAGES[page]).__all__)


@pytest.mark.filterwarnings("default")  # a page may meet the warnings that it writes about
@pytest.mark.usefixtures("no_fresh_processes")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert "\n```text\n" in text or "\n```console\n" in text
    assert run_page(text, tmp_path) == text, f"look at it, then run python -m docs.run_pages {page}"


def test_a_page_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```console\n$ python -c 'print(4)'\n5\n```\n"
    assert run_page(text, tmp_path) == text.replace("3", "2").replace("5", "4")


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here"></a><a href="b.html#gone"></a><a href="#top"></a>'
        '<img src="no.png"><a href="https://example.org/x"></a>'
    )
    (tmp_path / "b.html").write_text('<h2 id="here"></h2><a href="a.html"></a>')
    pages = read_pages(tmp_path)
    assert broken_links(pages) == [
        "a.html: b.html#gone: there is no such heading",
        "a.html: no.png: there is no such file",
    ]
    assert external_hosts(pages) == {"example.org": 1}
