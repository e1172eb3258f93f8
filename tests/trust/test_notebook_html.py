"""What notebooks show of a learner escapes the names that come from a user's table."""

import numpy as np
import pandas as pd

from geodual.metric import RPDML

HOSTILE = "<script>alert(1)</script>"


def test_names_of_features_and_parameters_are_escaped():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=[HOSTILE, "b"])
    learner = RPDML(pairs="all").fit(X, np.arange(20) % 2)
    for shown in (learner, learner.set_params(prior=HOSTILE), learner.history_):
        assert HOSTILE not in shown._repr_html_()
