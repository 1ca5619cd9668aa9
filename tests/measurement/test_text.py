"""Text tables of any layout: cells, names, clocks, and the messages about lines that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.measurement import TextLayout
from casid.measurement._text import clock_seconds, is_number, joined_names, read_cells, split_line, uncommented


def test_cells_of_a_german_table_with_two_header_lines() -> None:
    text = "% Zeit;Achse 1;;Zustand\n;q;tau;\n\n0,00;1.234,5;-2;läuft\n0,01;1,5e-3;;hält\nEnde\n"
    layout = TextLayout("cp1252", ";", ",", (1, 2), 3)
    cells, notes = read_cells(text.encode("cp1252"), layout, "log.txt")
    assert [name for name, _ in cells] == ["Zeit", "Achse 1 q", "Achse 1 tau", "Zustand"]
    np.testing.assert_array_equal(cells[0][1], [0.0, 0.01])
    np.testing.assert_array_equal(cells[1][1], [1234.5, 1.5e-3])
    np.testing.assert_array_equal(cells[2][1], [-2.0, np.nan])
    assert cells[3][1].tolist() == ["läuft", "hält"] and notes == ("log.txt: line 6 and what follows is no row: left "
                                                                   "out",)  # fmt: skip


def test_separators_at_the_ends_of_lines_are_no_column() -> None:
    cells, notes = read_cells(b"t,q,\n1,2,\n3,4,\n", TextLayout(), "log.csv")
    assert [name for name, _ in cells] == ["t", "q"] and not notes
    named = read_cells(b"t q\nfirst 1 2\nsecond 3 4\n", TextLayout(separator=" "), "log.txt")[0]
    assert [name for name, _ in named] == ["row", "t", "q"]  # names of rows, as R writes them


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q\n1,2\n3,4,5\n6,7\n", "line 3 has 3 cells, line 2 has 2"),
        ("t,q,tau\n1,2\n3,4\n", "3 column names for 2 columns"),
        ("t,q\n", "no numbers from line 2"),
    ],
)
def test_lines_that_do_not_fit_are_named(text: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_cells(text.encode(), TextLayout(), "log.csv")


@pytest.mark.claim("an encoding that does not exist is named as the key text.encoding of the recording's TOML")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"encoding": "klingon"}, "text.encoding"),
        ({"separator": ""}, "text.separator"),
        ({"decimal": ";"}, "text.decimal"),
        ({"header": [2, 1]}, "ascending"),
        ({"headers": [1]}, "text.headers"),
        ({"first": "3"}, "text.first"),
    ],
)
def test_mistakes_in_a_layout_name_the_key(given: dict[str, object], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        TextLayout.of(given, "log.toml")


def test_clocks_pass_noon_and_midnight() -> None:
    cells = np.array(["2026-05-01T23:59:59.5", "2026-05-02T00:00:00.25", "2026-05-02 00:01:00"])
    np.testing.assert_allclose(clock_seconds(cells, "log"), [0.0, 0.75, 60.5])
    np.testing.assert_allclose(clock_seconds(np.array(["11:59:59 AM", "12:00:01 PM"]), "log"), [0.0, 2.0])
    with pytest.raises(DatasetError, match="sample 1 is 'noon'"):
        clock_seconds(np.array(["12:00:00", "noon"]), "log")


def test_words_of_lines() -> None:
    assert split_line('a, "b, c" ,d', ",") == ["a", "b, c", "d"] and split_line("  1   2 ", " ") == ["1", "2"]
    assert joined_names([["arm", "", "time"], ["q", "tau"]], 4) == ("arm q", "arm tau", "time", "time")
    assert uncommented(" # // t,q") == "t,q"
    assert is_number("1.234,5", ",") and not is_number("1.234,5", ".") and is_number("-.5D+3", ".")
    assert not is_number("nan", ".") and not is_number("1,5", ".")
