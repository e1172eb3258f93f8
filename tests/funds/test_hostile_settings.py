"""Arguments of the wrong kind: one clear error each. Found by `make fuzz`."""

import pytest

from geodual.funds import DataError, StudyConfig, synthetic_universe


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_funds", value) for value in (None, "a", float("nan"), 1e300, 0.5, True, [1])),
        *(("seed", value) for value in (1 + 2j, "a", -1, 0.5)),
        *(("signal", value) for value in ("a", None, float("nan"), -1.0, 1j)),
        *(("start", value) for value in ("NaN", "", 3, None, "\0")),
        *(("end", value) for value in ("soon", "../..")),
    ],
)
def test_a_universe_names_the_wrong_argument(name: str, value: object) -> None:
    with pytest.raises(DataError, match=f"`{name}` must be"):
        synthetic_universe(**{"n_funds": 5, "end": "2013-01-31", name: value})


@pytest.mark.parametrize("day", ["-1", "NaN", "NaT"])
def test_a_year_before_the_first_and_a_missing_day_are_no_days(day: str) -> None:
    with pytest.raises(DataError, match=f"`test_start` must be a date, got '{day}'"):
        StudyConfig(test_start=day)
