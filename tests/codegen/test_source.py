"""C functions of CasADi functions."""

import casadi as ca
import pytest

from casid.codegen import CFunction, batch_source, check_identifier, identifier, scalar_source
from casid.errors import ExportError


def test_names_become_identifiers():
    assert identifier("my robot/1") == "my_robot_1"
    check_identifier("q_1")
    for name in ("double", "1q", "a-b", ""):
        with pytest.raises(ExportError):
            check_identifier(name)


def test_declarations_name_inputs_and_outputs():
    q, a = ca.SX.sym("q", 2), ca.SX.sym("a")
    function = CFunction(ca.Function("scaled", [q, a], [a * q], ["q", "a"], ["y"]))
    assert "scaled(const double q[2], const double a[1], double y[2])" in function.declaration.replace("\n", " ")
    assert function.operations.multiplications == 2
    assert "scaled" in scalar_source([function], "p") and "WIDTH" in batch_source([function], "p")


def test_long_statements_are_wrapped_between_words():
    x = ca.SX.sym("x", 60)
    lines = scalar_source(
        [CFunction(ca.Function("f", [x], [ca.dot(x, ca.sqrt(ca.DM(range(2, 62))))]))], "p"
    ).splitlines()
    assert max(map(len, lines)) <= 118 and any(line.startswith("        ") for line in lines)


def test_functions_of_the_library_run_lane_by_lane():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = CFunction(ca.Function("f", [x, y], [ca.tan(x) + x**y, ca.sin(x)]))
    text = batch_source([function], "p")
    assert "vec lanes_tan(vec a)" in text and "y[i] = pow(a[i], b[i]);" in text and "p_sincos(" in text
    assert "static inline void p_sincos(int n, const double *x, double *s, double *c)" in scalar_source([function], "p")
