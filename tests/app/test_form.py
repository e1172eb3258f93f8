"""The form has every setting, and gives back what it shows."""

import pytest

from geodual.app.form import JOBS, label_of, make_form, read_form, refill
from geodual.errors import DataError
from geodual.funds import StudyConfig
from geodual.funds.settings import list_settings


def as_sent(form):
    """Return what a browser sends of an untouched form: nothing of a switch that is off."""
    fields = [field for fields in form.values() for field in fields]
    shown = {
        field.name: [field.value] if isinstance(field.value, str) else [*field.value] for field in fields
    }
    off = {field.name for field in fields if field.widget == "switch" and not field.value}
    return {name: texts for name, texts in shown.items() if name not in off}


def test_every_setting_has_one_field_with_its_meaning():
    fields = [field for fields in make_form([]).values() for field in fields]
    assert sorted(field.name for field in fields) == sorted([*(s.name for s in list_settings()), JOBS])
    assert all(field.label and field.text for field in fields)
    assert len({field.label for field in fields}) == len(fields)


def test_a_form_shows_again_what_was_sent_of_it():
    form = make_form([["top", "3", "Few funds."]])
    assert refill(form, {}) == form
    sent = {**as_sent(form), "metrics": ["gmml"], "top": ["7"], "types": ["a, b"], "tune": ["on"]}
    again = refill(form, sent)
    assert as_sent(again) == sent
    assert [field.reason for field in again["Essential"] if field.name == "top"] == [""]
    del sent["tune"]
    assert "tune" not in as_sent(refill(again, sent))


def test_an_untouched_form_means_the_defaults():
    settings, jobs = read_form(as_sent(make_form([])))
    assert StudyConfig(**settings) == StudyConfig()
    assert settings == {"metrics": StudyConfig.metrics}
    assert jobs == -1


def test_suggestions_take_the_place_of_defaults_and_say_why():
    form = make_form([["top", "3", "Few funds."]])
    (top,) = [field for field in form["Essential"] if field.name == "top"]
    assert (top.value, top.reason) == ("3", "Few funds.")
    assert read_form(as_sent(form))[0]["top"] == 3


@pytest.mark.parametrize(
    ("name", "texts", "value"),
    [
        ("top", ["7"], 7),
        ("cost", ["0.0015"], 0.0015),
        ("tune", ["on"], True),
        ("types", [" equity , bond*,"], ("equity", "bond*")),
        ("metrics", ["gmml", "rpdml"], ("gmml", "rpdml")),
        ("redemption_fees", ["7:0.015, 365:0.005"], ("7:0.015", "365:0.005")),
        ("end", ["2016-06-30"], "2016-06-30"),
        ("forecasters", ["momentum"], ("momentum",)),
    ],
)
def test_what_is_changed_is_read(name, texts, value):
    settings, _ = read_form({**as_sent(make_form([])), name: texts})
    assert settings.pop(name) == value
    assert set(settings) <= {"metrics"}


def test_without_metrics_other_forecasters_take_their_place():
    given = {**as_sent(make_form([])), "forecasters": ["ridge"]}
    del given["metrics"]
    assert read_form(given)[0] == {"forecasters": ("ridge",)}


@pytest.mark.parametrize(
    "name",
    [s.name for s in list_settings() if isinstance(s.default, int | float) and "str" not in s.kind],
)
@pytest.mark.parametrize("text", ["nan", "1e999", "ten", "-7", "0x10", "１，０"])
def test_what_is_no_such_number_is_refused_by_name(name, text):
    if isinstance(getattr(StudyConfig, name), bool):
        return
    with pytest.raises(DataError) as caught:
        read_form({**as_sent(make_form([])), name: [text]})
    assert str(caught.value).startswith(f"“{label_of(name)}” must be ")


@pytest.mark.parametrize("text", ["0", "many", "1.5"])
def test_the_number_of_processes_is_checked(text):
    with pytest.raises(DataError, match="must be a whole number other than 0"):
        read_form({**as_sent(make_form([])), JOBS: [text]})
