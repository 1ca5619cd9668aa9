"""Errors: one short line, whatever they quote."""

from __future__ import annotations

import pytest

from casid.errors import CasidError


@pytest.mark.claim("messages are one short line whatever a file holds")
def test_messages_are_one_short_line() -> None:
    error = CasidError("a\n\x1b[31m" + "x" * 10**7)
    assert len(str(error)) < 3000
    assert str(error).isprintable()
