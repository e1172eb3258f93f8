"""The loss of docs/add_a_pair_loss.md runs, is certified, and is consistent."""

import re
from pathlib import Path

import numpy as np

DOC = Path(__file__).parent.parent.parent / "docs" / "add_a_pair_loss.md"


def test_the_documented_loss() -> None:
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), flags=re.S):
        exec(compile(block, DOC.name, "exec"), names)
    loss, d = names["loss"], np.linspace(0.01, 40.0, 997)
    for similar in (True, False):
        a = loss.slope(d, similar)
        step = 1e-6
        slope = (loss.value(d + step, similar) - loss.value(d - step, similar)) / (2 * step)
        np.testing.assert_allclose(a, slope, atol=1e-8)
        np.testing.assert_allclose(loss.conjugate(a, similar), a * d - loss.value(d, similar), atol=1e-9)
