"""Statements of C programs."""

import pytest

from casid.codegen._emit import lanes_functions, scalar_sincos, vector_sincos, wrapped
from casid.errors import ExportError


def test_long_statements_are_wrapped_between_words():
    text = wrapped(["double a = " + " + ".join(f"b{k}" for k in range(60)) + ";"], width=40)
    lines = text.splitlines()
    assert len(lines) > 5 and max(map(len, lines)) <= 40
    assert lines[0].startswith("    double a") and all(line.startswith("        ") for line in lines[1:])


def test_functions_of_the_library_run_lane_by_lane():
    text = lanes_functions({("tan", 1), ("pow", 2)})
    assert "vec lanes_tan(vec a)" in text and "y[i] = pow(a[i], b[i]);" in text
    with pytest.raises(ExportError, match="no vector form"):
        lanes_functions({("fma", 3)})


def test_sines_and_cosines_have_the_name_that_is_given():
    assert "static inline void both(int n, const double *x, double *s, double *c)" in scalar_sincos("both")
    assert "lanes" in vector_sincos("lanes")
