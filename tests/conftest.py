"""Settings for all tests: the same draws in every run, no time limits, one BLAS thread."""

import scipy.linalg  # noqa: F401 - loads the BLAS libraries to limit
from hypothesis import Phase, settings
from threadpoolctl import threadpool_limits

# On small matrices idle BLAS threads spin and slow down the other test processes.
threadpool_limits(limits=1, user_api="blas")

# Draws are fixed, so that a law does not fail now and then. There is no shrinking, because a smaller seed is
# not a simpler case.
settings.register_profile(
    "laws", derandomize=True, deadline=None, max_examples=20, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("laws")
