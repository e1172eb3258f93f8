"""What it costs to trade a fund, and how long an order takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from geodual.errors import DataError

_MAX_RATE = 0.1


@dataclass(frozen=True)
class FeeRules:
    """The fees of all funds.

    Attributes
    ----------
    cost : float
        Share of the value that every purchase and every sale costs, for funds without a rule of their own.
    purchase : mapping of str to float
        Purchase fee by fund, in place of `cost`.
    redemption : tuple of (int, float)
        Redemption fee by holding time, in place of `cost`: a lot held for fewer days than the first number
        pays the first rate, and so on; a lot held longer pays nothing.
    delay : mapping of str to int
        Rows by fund that an order takes longer than those of other funds, as for funds that invest abroad.
    """

    cost: float = 0.0
    purchase: Mapping[str, float] = field(default_factory=dict)
    redemption: tuple[tuple[int, float], ...] = ()
    delay: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rates = [self.cost, *self.purchase.values(), *(rate for _, rate in self.redemption)]
        for rate in rates:
            if not 0.0 <= rate < _MAX_RATE:
                raise DataError(
                    f"A fee must be at least 0 and below {_MAX_RATE} (0.0015 means 0.15 %), got {rate}."
                )
        days = [day for day, _ in self.redemption]
        if days != sorted(set(days)) or any(day < 1 for day in days):
            raise DataError(
                f"Redemption fees must be given for increasing numbers of days, got {days}; write such as "
                "7:0.015,365:0.005."
            )
        if any(rows < 0 for rows in self.delay.values()):
            raise DataError("The delay of an order must not be negative; give the number of trading days.")

    def purchase_rate(self, fund: str) -> float:
        """Return the share of a purchase that it costs."""
        return self.purchase.get(fund, self.cost)

    def redemption_rate(self, days_held: int) -> float:
        """Return the share of a sale that it costs, given the calendar days that the lot was held."""
        if not self.redemption:
            return self.cost
        return next((rate for days, rate in self.redemption if days_held < days), 0.0)


def parse_redemption(texts: tuple[str, ...]) -> tuple[tuple[int, float], ...]:
    """Read rules such as ``("7:0.015", "365:0.005")``: 1.5 % below 7 days, 0.5 % below a year, then none."""
    rules = []
    for text in texts:
        days, _, rate = text.partition(":")
        try:
            rules.append((int(days), float(rate)))
        except ValueError:
            raise DataError(
                f"`redemption_fees` must be days:rate, such as 7:0.015 for 1.5 % below 7 days, got {text!r}."
            ) from None
    return tuple(rules)
