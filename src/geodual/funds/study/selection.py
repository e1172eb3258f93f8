"""The result of `select`: the funds to hold next, and the reasons for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..evaluation.selection_tables import SelectionTables
from ..report import write_selection
from .workbook import write_selection_workbook


@dataclass(frozen=True, eq=False)
class Selection(SelectionTables):
    """The result of `select`: the funds to hold next, and the reasons for them.

    Attributes
    ----------
    as_of : Timestamp
        The day of the decision, a row of the data.
    forecaster : str
        Name of the forecaster.
    picks : DataFrame
        One row per pick, best first: rank, fund, name, type, weight, forecast, past_low and past_high (80 %
        of past picks earned between these two: past picks of the same rank or, if `pooled`, of all ranks; NaN
        with fewer than 8 past decisions), n_past (number of past decisions), known (share of its factors that
        are known), finding (what was found in its data, if that matters), neighbours (their codes; empty for
        forecasters without), factors (those that did most to make the neighbours near, or that add most to
        the forecast).
    neighbours : DataFrame
        One row per pick and neighbour: date, forecaster, fund, neighbour, distance, earned.
    reasons : DataFrame
        The factors that matter most for each pick: date, forecaster, fund, view, factor, share. The view is
        "near" (what made its neighbours near), "apart" (what sets it apart from the universe) or "adds" (what
        adds most to its forecast).
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    factor_labels : mapping
        Label of each factor in reports, by name.
    record : TrackRecord
        What past decisions with the same settings were worth: n, ic, excess over the average fund and
        beat_median, with intervals.
    record_text : str
        The same in words.
    notes : tuple of str
        Sentences that the reader of the result should know.
    source : str
        Where the data came from.
    first_day : Timestamp
        First row of the data; the last row used is `as_of`.
    candidates : DataFrame
        The forecasters that were compared to choose this one, best first: ic_mean, t, p (of a mean IC of
        zero, corrected for the number compared), n (past decisions). Empty if one was named.
    unit : str
        What the forecasts are: a "return", an "excess" return over the mean fund, or a "rank" from −½ to ½.
    pooled : bool
        Whether past_low and past_high cover the picks of all ranks, because there are fewer than 30 past
        decisions.

    See Also
    --------
    select : Make a selection.
    Study : The result of a whole study of the past.

    Examples
    --------
    >>> from geodual.funds import select, synthetic_universe
    >>> selection = select(synthetic_universe(20, "2014-01-02", "2014-12-31").panel, metric="gmml", top=3)
    >>> selection.picks["rank"].tolist(), str(selection.as_of.date())
    ([1, 2, 3], '2014-12-31')
    """

    def report(self, path: str | Path) -> Path:
        """Write the picks and the reasons for them as one HTML file, which needs no other files.

        Parameters
        ----------
        path : path
            File to create or replace.

        Returns
        -------
        Path
            The file.
        """
        return write_selection(self, path)

    def to_excel(self, path: str | Path) -> Path:
        """Write the picks, the reasons for them and the funds left out as one Excel workbook.

        Parameters
        ----------
        path : path
            File to create or replace, named .xlsx.

        Returns
        -------
        Path
            The file.
        """
        return write_selection_workbook(self, path)
