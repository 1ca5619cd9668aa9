"""A physically consistent body."""

import numpy as np
import pytest

from casid.testing import random_body


@pytest.fixture
def body():
    return random_body(np.random.default_rng(5))
