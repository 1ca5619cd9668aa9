"""Journals: what a kill leaves, what belongs to something else, one writer at a time."""

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.files import journal, journal_lines

HEADER, DIFFERS = {"casid_test": 1, "of": "a"}, {"of": "another subject"}


def lines(path, header=HEADER):
    return journal_lines(path, header, DIFFERS, "test file", DatasetError)


def opened(path, header=HEADER):
    return journal(path, header, "test file", DatasetError)


def test_what_is_written_is_there_and_a_cut_line_is_not(tmp_path):
    path = tmp_path / "new" / "journal.jsonl"
    assert lines(path) == []
    with opened(path) as write:
        write({"value": 1.5, "end": np.inf})
    assert lines(path) == [b'{"value": 1.5, "end": "inf"}']
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:-cut])
        found = lines(path)
        assert found == []
        with opened(path) as write:
            write({"value": 2})
        assert lines(path) == [b'{"value": 2}'] and path.read_bytes().count(b"\n") == 2


def test_files_of_others_are_refused_and_left_as_they_are(tmp_path):
    path = tmp_path / "journal.jsonl"
    with opened(path):
        pass
    before = path.read_bytes()
    with pytest.raises(DatasetError, match="belongs to another subject"):
        lines(path, {**HEADER, "of": "b"})
    with pytest.raises(DatasetError, match="not a test file of this version"):
        lines(path, {"casid_test": 2, "of": "a"})
    assert path.read_bytes() == before
    with pytest.raises(DatasetError, match="not a regular file"):
        lines(tmp_path)


def test_one_process_writes_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "journal.jsonl"
    with opened(path), pytest.raises(DatasetError, match="in use by another process"), opened(path):
        pass
