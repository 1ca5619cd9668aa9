"""The package of earlier versions names the new place."""

import pytest

from casid.simulation import controllers


def test_earlier_names_resolve_with_a_deprecation():
    with pytest.warns(DeprecationWarning, match="has moved"):
        assert controllers.__getattr__("ComputedTorque").__name__ == "ComputedTorque"
    with pytest.raises(AttributeError):
        controllers.__getattr__("Nothing")
