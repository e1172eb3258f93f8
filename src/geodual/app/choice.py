"""What an investor gives to choose funds with the settings of a run: a table, what is held, and cash."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from geodual.errors import DataError

from .jobs import Job
from .uploads import Upload


@dataclass(eq=False)
class Choice:
    """What was given so far, for the page to show again.

    Attributes
    ----------
    table : str
        Name of the upload to choose from.
    cash : str
        Money to invest, besides the holdings or alone, as it was written.
    holdings : Upload, optional
        What is held.
    look : Job, optional
        The job that reads the holdings.
    """

    table: str = ""
    cash: str = ""
    holdings: Upload | None = None
    look: Job | None = None

    def money(self) -> float:
        """Return the cash; raise if it is no amount."""
        text = re.sub(r"[\s']", "", self.cash)
        # Commas between groups of three digits; any other comma may be a decimal point or a slip.
        text = text.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text) else text
        plain = re.fullmatch(r"(\d+\.?\d*|\.\d+)?", text, re.ASCII)
        cash = float(text or 0.0) if plain else math.nan
        if not math.isfinite(cash):
            raise DataError(f"“Cash” must be an amount such as 10000 or 2500.50, got {self.cash!r}.")
        return cash

    def file(self) -> tuple[str, str] | None:
        """Return the holdings as jobs take them; raise if they cannot be used."""
        if self.holdings is None or self.look is None:
            return None
        if self.look.message:
            raise DataError(f"{self.look.message} Or remove the holdings.")
        return self.holdings.file
