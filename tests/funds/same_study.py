"""Whether two studies are the same, to the last digit."""

from dataclasses import fields

import pandas as pd

from geodual.funds import Study

_OF_THE_RUN = {"seconds", "checkpoints", "forecasts"}


def assert_same(found: Study, expected: Study, *, without: tuple[str, ...] = ()) -> None:
    """All that a study holds is the same, but for its time."""
    for name in {field.name for field in fields(Study)} - {*_OF_THE_RUN, *without}:
        one, other = getattr(found, name), getattr(expected, name)
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, other, check_exact=True, obj=name)
        else:
            assert one == other, name
