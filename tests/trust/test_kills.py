"""A killed command is resumed by the next run; ``make kills`` does this a hundred times."""

import sys

import numpy as np
import pytest

from tests.trust.kills import COMMANDS, Killer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")


def test_a_killed_command_resumes_and_ends_with_the_same_bytes(tmp_path):
    killer = Killer(COMMANDS["fetch"], tmp_path, np.random.default_rng(0))
    killer.round(4)
    assert killer.kills
