"""Metrics by name: one registry, for Python and for the command."""

from types import SimpleNamespace

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA

from geodual.errors import DataError
from geodual.metric import GMML, RPDML, make_metric, metric_names, register_metric, registry
from geodual.metric.registry import BASELINE, FEATURED, NamedMetric, find_metric, metric_label

PAPER = ("euclidean", "mahalanobis", "lmnn", "itml", "gmml", "rpdml")


class Scaled(TransformerMixin, BaseEstimator):
    """A metric of one's own."""

    def __init__(self, factor=2.0, random_state=None):
        self.factor = factor
        self.random_state = random_state

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.factor * X


@pytest.fixture
def empty_place(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "METRICS", dict(registry.METRICS))


def test_the_metrics_of_the_paper_come_first_and_all_can_be_made():
    assert metric_names(in_paper=True) == PAPER
    assert metric_names()[: len(PAPER)] == PAPER
    assert {BASELINE, FEATURED} <= set(PAPER)
    for name in metric_names():
        assert hasattr(make_metric(name), "transform"), name
        assert find_metric(name).label != name, "every metric of ours has a label"


def test_a_metric_is_made_with_its_parameters_and_the_seed():
    assert isinstance(make_metric("rpdml", 3), RPDML)
    assert make_metric("rpdml", 3).random_state == 3
    assert isinstance(make_metric("gmml", 3), GMML)
    assert make_metric("gmml").reg == 0.1


@pytest.mark.usefixtures("empty_place")
def test_a_registered_metric_goes_by_its_name():
    register_metric("scaled", Scaled, label="Scaled", parameters={"factor": 3.0}, grid=[{"factor": 3.0}])
    made = make_metric("scaled", 5)
    assert (made.factor, made.random_state) == (3.0, 5)
    assert metric_names()[-1] == "scaled"
    assert metric_names(in_paper=True) == PAPER
    assert metric_label("scaled") == "Scaled"
    register_metric("scaled", Scaled(factor=4.0))
    assert make_metric("scaled").factor == 4.0
    assert make_metric("scaled") is not make_metric("scaled"), "each is a copy"
    register_metric("made", lambda random_state: Scaled(random_state=random_state))
    assert make_metric("made", 9).random_state == 9


def test_a_metric_is_found_by_its_place():
    assert make_metric(f"{__name__}:Scaled", 2).random_state == 2
    assert isinstance(make_metric("sklearn.decomposition:PCA"), PCA)
    assert metric_label("sklearn.decomposition:PCA") == "PCA"
    assert metric_label("anything else") == "anything else"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nope", "unknown metric 'nope'; known are euclidean"),
        ("no_such_module:Metric", "'no_such_module:Metric' cannot be imported"),
        ("sklearn.decomposition:Nope", "sklearn.decomposition has no 'Nope'"),
        ("collections:OrderedDict", "must be a scikit-learn transformer, got OrderedDict"),
    ],
)
def test_what_is_no_metric_is_refused_in_one_line(name, told):
    with pytest.raises(DataError, match=told) as error:
        make_metric(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["", "a:b", "a,b", "index", 5])
def test_a_name_that_cannot_be_typed_is_refused(name):
    with pytest.raises(DataError, match="`name` must be a text without colon or comma"):
        register_metric(name, Scaled)


@pytest.mark.parametrize(
    ("target", "options", "told"),
    [
        (PCA(), {"parameters": {"n_components": 2}}, "`parameters` need a class or a function"),
        (PCA, {"parameters": [2]}, r"`parameters` must be a mapping, got \[2\]"),
        (PCA, {"grid": {"n_components": 2}}, "`grid` must hold mappings, got {'n_components': 2}"),
        (PCA, {"grid": 5}, "`grid` must hold mappings, got 5"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(target, options, told):
    with pytest.raises(DataError, match=told):
        register_metric("pca", target, **options)


def test_a_name_of_another_type_is_refused():
    with pytest.raises(DataError, match=r"unknown metric \['gmml'\]"):
        make_metric(["gmml"])


@pytest.mark.parametrize("missing", ["fit", "transform"])
def test_a_metric_needs_both_methods(missing: str) -> None:
    methods = {"fit": None, "transform": None}
    del methods[missing]
    with pytest.raises(DataError, match="`fit` and `transform`"):
        NamedMetric("half", lambda: SimpleNamespace(**methods), "Half").make()
