"""Files that others read: the citation, the changelog, the templates."""

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

import geodual

ROOT = Path(__file__).parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_citation_is_valid_and_of_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert str(citation["version"]) == geodual.__version__
    for work in (citation, *citation["references"]):
        assert work["title"]
        assert all(
            {"name"} == set(who) or {"family-names", "given-names"} == set(who) for who in work["authors"]
        )


def test_the_changelog_lists_releases_newest_first() -> None:
    titles = re.findall(r"^## (.*)$", CHANGELOG, re.M)
    assert titles[0] == "[Unreleased]"
    releases = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", title) for title in titles[1:]]
    assert all(releases), titles
    versions = [tuple(map(int, found.groups()[:3])) for found in releases if found]
    days = [date.fromisoformat(found[4]) for found in releases if found]
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    # Nothing was released yet if there is no other title.
    assert [".".join(map(str, version)) for version in versions[:1]] in ([], [geodual.__version__])


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda p: p.stem
)
def test_an_issue_template_has_a_name_and_says_what_it_is_about(path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    _, head, body = path.read_text("utf-8").split("---\n", 2)
    assert {"name", "about"} <= set(yaml.safe_load(head))
    assert body.strip()


def test_the_workflow_tests_the_versions_that_the_classifiers_name() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert jobs["test"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}" == project["requires-python"]


def test_tutorials_need_only_our_command_and_python() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs" / "tutorials").glob("*.md")]
    commands = [shlex.split(line) for page in pages for line in re.findall(r"^\$ (.*)$", page, flags=re.M)]
    assert {program for program, *_ in commands} == {"geodual", "python"}
    assert {"|", ">", "&&"}.isdisjoint(word for command in commands for word in command)


def test_what_is_listed_as_slow_exists() -> None:
    listed = (ROOT / "tests" / "slow_tests.txt").read_text("utf-8").split()
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not (ROOT / "tests" / name).exists()] == []


def test_packages_of_the_checkout_are_not_taken_for_missing_peers() -> None:
    done = subprocess.run(
        [sys.executable, "release/missing_peers.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--ignore=tests/test_mutants.py" not in done.stdout.split()


def test_a_test_needs_what_its_helpers_import_but_not_what_is_imported_on_demand() -> None:
    needed = runpy.run_path(str(ROOT / "release" / "missing_peers.py"))["needed"]
    assert "pymanopt" in needed(ROOT / "tests" / "test_speed_check.py")  # through a module of benchmarks
    assert "hypothesis" in needed(ROOT / "tests" / "laws" / "test_curvature.py")  # through a helper of tests
    assert "metric_learn" in needed(ROOT / "tests" / "oracles" / "test_compat_metric_learn.py")
    assert "scipy" in needed(ROOT / "tests" / "optimize" / "test_units.py")  # through geodual
    assert needed(ROOT / "tests" / "metric" / "test_saving.py").isdisjoint({"dask", "jax", "pymanopt"})
