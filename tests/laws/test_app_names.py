"""Whatever a file or a run is called, its name is safe to show and to make a folder of."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from geodual.app.runs import folder_name
from geodual.app.uploads import shown_name


@given(st.text(max_size=400))
def test_every_shown_name_is_short_and_on_one_line(name):
    shown = shown_name(name)
    assert 0 < len(shown) <= 80
    assert shown.isprintable()
    assert not set(shown) & set("/\\")


@given(st.text(max_size=400))
def test_every_folder_name_is_a_new_folder_right_inside(wanted):
    folder = Path("runs")
    name = folder_name(wanted, folder, set())
    assert (folder / name).parent == folder
    assert (folder / name).resolve().parent == folder.resolve()
    assert not name.startswith((".", "-"))
    assert len(name.encode()) <= 255
    assert folder_name(wanted, folder, {name}) != name
    assert folder_name(wanted, folder, {name.upper()}).casefold() != name.casefold()
