"""Exceptions for invalid input and for lost workers, with messages that say what to do."""


class DataError(ValueError):
    """Raised for invalid input: the message says what is wrong, where, and what to do.

    It is a `ValueError`, so code that catches `ValueError` catches it too.

    Examples
    --------
    >>> from geodual.funds import DataError, StudyConfig
    >>> try:
    ...     StudyConfig(k=0)
    ... except DataError as error:
    ...     print(error)
    `k` must be a whole number of at least 1, got 0; leave it out for the default, 10.
    """


class LostWorkersError(RuntimeError):
    """Raised if worker processes or a cluster are lost: the message says what was lost and what to do."""
