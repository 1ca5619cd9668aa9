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
