"""What tests of the scripts need beside the checkout; without it they are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.measure import NotMeasured, data_folder


def needs_data() -> Path:
    """The data folder."""
    try:
        return data_folder()
    except NotMeasured as reason:
        pytest.skip(str(reason), allow_module_level=True)
