"""The package of earlier versions names the new place."""

import pytest

from casid.simulation import friction


def test_earlier_names_resolve_with_a_deprecation():
    with pytest.warns(DeprecationWarning, match="has moved"):
        assert friction.__getattr__("ExactCoulomb").__name__ == "ExactCoulomb"
    with pytest.raises(AttributeError):
        friction.__getattr__("Nothing")
