"""What a user names by its place: loaded, or refused in one line, whatever its module does."""

import sys

import pytest

from geodual.errors import DataError
from geodual.metric import make_metric
from geodual.places import load_place
from tests.funds.broken_files import GOOD

MODULES = {
    "raises": ("raise RuntimeError('no\\nlicense')", "cannot be imported .RuntimeError: no license."),
    "exits": ("import sys; sys.exit('bye')", "cannot be imported .SystemExit: bye."),
    "is not Python": ("def :", "cannot be imported .SyntaxError: "),
    "imports itself": ("from own_module import Thing", "cannot be imported .ImportError: "),
    "lacks it": ("Other = 1", "own_module has no 'Thing'"),
    "a number": ("Thing = 3", "must be a scikit-learn transformer, got int"),
    "a module": ("import sys as Thing", "must be a scikit-learn transformer, got module"),
    "needs a value": ("class Thing:\n def __init__(self, size): pass", "cannot be made .TypeError: .*size"),
    "raises when called": ("def Thing(): raise KeyError('key')", "cannot be made .KeyError: 'key'."),
    "exits when called": ("Thing = exit", "cannot be made .SystemExit: None."),
}


@pytest.fixture(params=MODULES)
def told(request, tmp_path, monkeypatch):
    """Write a module of the user's own; return what is told of it."""
    content, message = MODULES[request.param]
    (tmp_path / "own_module.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_module", raising=False)
    yield message
    sys.modules.pop("own_module", None)


def test_a_place_without_a_metric_is_one_line(told):
    with pytest.raises(DataError, match=f"^The metric 'own_module:Thing'.* {told}[^\n]*$"):
        make_metric("own_module:Thing")


def test_the_command_ends_with_one_line_and_code_2(told, geodual, tmp_path):
    (tmp_path / "nav.csv").write_text(GOOD)
    for option in ("--metrics", "--forecasters"):
        code, _, err = geodual("backtest", tmp_path / "nav.csv", option, "own_module:Thing", "--quiet")
        assert code == 2
        assert err.startswith("geodual: ")
        assert err.count("\n") == 1
        assert "Thing" in err


def test_an_interrupt_is_no_fault_of_the_place(tmp_path, monkeypatch):
    (tmp_path / "interrupted.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        load_place("interrupted:Thing", "metric")
