"""The wheel has all files that the program needs, and says the truth about itself; nothing else is in it.

``make release-check`` installs it into an empty environment and runs the demo there.
"""

import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import geodual

ROOT = Path(__file__).parent.parent.parent
BUILD = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
DATA = {".html", ".css", ".js", ".md", ".pyi", ".toml", ".typed"}  # .md: the license of the charts


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", BUILD, str(folder)]
    name = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()[-1]
    return zipfile.ZipFile(folder / name)


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    return message_from_bytes(wheel.read(f"geodual-{geodual.__version__}.dist-info/METADATA"))


def test_every_file_of_the_package_is_in_it_and_nothing_else(wheel):
    package = ROOT / "src" / "geodual"
    # Others may be editing a file, under a name that begins with a dot.
    own = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    names = {f"geodual/{path.relative_to(package).as_posix()}" for path in own if path.name[0] != "."}
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == names
    for needed in (
        *("py.typed", "metric/__init__.pyi", "funds/__init__.pyi", "funds/report/template.html"),
        "funds/languages/zh.toml",
    ):
        assert f"geodual/{needed}" in packed
    assert {Path(name).suffix for name in packed} - {".py"} <= DATA


def test_its_metadata_are_those_of_the_project(wheel, metadata):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert metadata["Version"] == geodual.__version__
    assert metadata["Requires-Python"] == project["requires-python"]
    required = [text for text in metadata.get_all("Requires-Dist") if "extra ==" not in text]
    assert sorted(required) == sorted(project["dependencies"])
    assert metadata.get_payload().startswith("# "), "the description is the README"
    entry_points = wheel.read(f"geodual-{geodual.__version__}.dist-info/entry_points.txt").decode()
    assert "geodual = geodual.__main__:main" in entry_points


def test_the_license_is_in_it(wheel):
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())
