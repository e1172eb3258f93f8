"""Exceptions that say what to do: for input that cannot be used, and for workers that are lost."""


class DataError(ValueError):
    """Raised for bad input: the message says what is wrong, where, and what to do.

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
    """Raised if worker processes or a cluster are lost: the message says what is lost, and what to do."""
