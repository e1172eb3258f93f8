"""The same draws in every run, no timing, and one BLAS thread."""

import scipy.linalg  # noqa: F401 - loads the BLAS libraries that are to be limited
from hypothesis import Phase, settings
from threadpoolctl import threadpool_limits

# On small matrices idle threads spin, and two test processes spin against each other.
threadpool_limits(limits=1, user_api="blas")

# A law holds or fails, it does not flicker; and a seed does not become simpler by shrinking.
settings.register_profile(
    "laws", derandomize=True, deadline=None, max_examples=20, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("laws")
