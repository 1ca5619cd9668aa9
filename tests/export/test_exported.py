"""Exported code loaded back."""

from __future__ import annotations

import pytest

from casid.errors import ExportError
from casid.export import load
from casid.export._exported import read_manifest


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(ExportError):
        load(tmp_path)
    (tmp_path / "a.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ExportError, match="no manifest"):
        read_manifest(tmp_path / "a.json")
