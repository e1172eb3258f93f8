"""What is raised for input that cannot be used."""


class DataError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do.

    Examples
    --------
    >>> from geodual.funds import DataError, StudyConfig
    >>> try:
    ...     StudyConfig(k=0)
    ... except DataError as error:
    ...     print(error)
    `k` must be a whole number of at least 1, got 0.
    """
