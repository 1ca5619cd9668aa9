"""Python and Julia source: the same numbers as CasADi's graph, from the emitter that writes C."""

import math
import re

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen import LANGUAGES, CFunction, script_source
from casid.errors import ExportError
from casid.export import export_c, export_robot


def sample() -> ca.Function:
    """Every kind of operation: trigonometry, powers, comparisons, if-else, constants, zeros in the output."""
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    big = ca.if_else(x[0] > 0.1, ca.sin(x[1]) * y, ca.atan2(x[0], y) - 3e-7)
    rest = ca.vertcat(ca.sign(-x[0]) + ca.fmax(x[0], y) ** 3, ca.tanh(y) / (1 + ca.exp(-x[1])), 0, ca.fabs(x[1] - y))
    matrix = ca.SX(2, 2)
    matrix[0, 1] = ca.sqrt(1 + x[0] ** 2)
    return ca.Function("f", [x, y], [ca.vertcat(big, rest), matrix], ["x", "y"], ["z", "M"])


def namespace(text: str) -> dict:
    found: dict = {}
    exec(compile(text, "generated.py", "exec"), found)
    return found


def test_a_robot_in_python(tmp_path):
    robot = casid.load_robot("stanford")
    done = export_robot(
        robot, tmp_path / "out", ("inverse_dynamics",), runtime_parameters="standard", languages=("python", "julia")
    )
    assert {"stanford.py", "stanford.jl"} <= set(done.files)
    made = namespace((tmp_path / "out" / "stanford.py").read_text())["stanford_inverse_dynamics"]
    rng = np.random.default_rng(1)
    model = casid.Model(robot)
    q, dq, ddq, pi = *rng.normal(size=(3, 6)), rng.normal(size=60)
    np.testing.assert_allclose(made(q, dq, ddq, pi), model.inverse_dynamics(q, dq, ddq, pi), rtol=1e-11)


def julia_in_python(text: str) -> dict:
    """The functions of a Julia source, each of its statements put into Python's words; arrays begin at 1.

    No Julia is at hand where these tests run. A statement whose words are not known here is a syntax error.
    """

    class Vector(list):
        def __getitem__(self, k):
            assert k >= 1
            return list.__getitem__(self, k - 1)

        def __setitem__(self, k, value):
            assert k >= 1
            list.__setitem__(self, k - 1, value)

    names = {name: getattr(math, name) for name in ("sin", "cos", "tan", "exp", "sqrt", "tanh", "floor", "ceil")}
    names |= {
        "abs": abs, "max": max, "min": min, "Float64": float, "sign": lambda v: float((v > 0) - (v < 0)),
        "atan": lambda y, x=1.0: math.atan2(y, x), "zeros": lambda n: Vector([0.0] * n), "Vector": Vector,
    }  # fmt: skip
    lines = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#") or line == "end":
            continue
        line = re.sub(r"^function (\w+)\((.*)\)$", r"def \1(\2):", line).replace("^", "**")
        line = line.replace("&&", "and").replace("||", "or")
        lines.append(re.sub(r"\(([^()?]+) \? (.+?) : 0\.0\)", r"(\2 if \1 else 0.0)", line))
    exec(compile("\n".join(lines), "generated.jl", "exec"), names)
    return names


def test_both_languages_are_what_the_graph_is():
    function = sample()
    python = namespace(script_source([CFunction(function)], "demo", LANGUAGES["python"]))["f"]
    julia = julia_in_python(script_source([CFunction(function)], "demo", LANGUAGES["julia"]))
    for a, b, y in np.random.default_rng(0).normal(size=(20, 3)).tolist():
        expected = function([a, b], y)
        for z, M in (python([a, b], [y]), julia["f"](julia["Vector"]([a, b]), julia["Vector"]([y]))):
            np.testing.assert_allclose(list(z), np.array(expected[0]).ravel(), rtol=1e-14, atol=1e-15)
            np.testing.assert_allclose(np.reshape(list(M), (2, 2)), np.array(expected[1].full()), rtol=1e-15)


def test_one_program_in_c_python_and_julia():
    model = casid.Model(casid.load_robot("wam7"), ("viscous", "coulomb"))
    function = CFunction(model.inverse_dynamics)
    python = namespace(script_source([function], "wam7", LANGUAGES["python"]))[function.name]
    text = script_source([function], "wam7", LANGUAGES["julia"])
    julia = julia_in_python(text)
    rng = np.random.default_rng(3)
    q, dq, ddq = rng.normal(size=(3, 20, 7))
    pi = rng.uniform(0, 1, len(model.parameter_names))
    compiled = model.inverse_dynamics(q, dq, ddq, pi, compiled=True)
    for k, torque in enumerate(compiled):
        state = [part[k].tolist() for part in (q, dq, ddq)] + [pi.tolist()]
        np.testing.assert_allclose(python(*state), torque, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(list(julia[function.name](*map(julia["Vector"], state))), python(*state))


def test_julia_parses():
    grammar = pytest.importorskip("tree_sitter_julia", reason="needs the extra all-tests")
    from tree_sitter import Language, Parser

    parser = Parser(Language(grammar.language()))
    model = casid.Model(casid.load_robot("stanford"), ("viscous", "coulomb"))
    for function in (sample(), model.inverse_dynamics):
        text = script_source([CFunction(function)], "demo", LANGUAGES["julia"])
        assert not parser.parse(text.encode()).root_node.has_error
    assert parser.parse(b"function f(x)\n    y = (x\nend\n").root_node.has_error


def test_what_a_language_lacks_is_refused(tmp_path):
    x = ca.SX.sym("x")
    with pytest.raises(ExportError, match="no counterpart in Julia"):
        script_source([CFunction(ca.Function("f", [x], [ca.erf(x)], ["x"], ["y"]))], "demo", LANGUAGES["julia"])
    with pytest.raises(ExportError, match="word of Python"):
        script_source([CFunction(ca.Function("f", [x], [x + 1], ["x"], ["math"]))], "demo", LANGUAGES["python"])
    with pytest.raises(ExportError, match="expected python, julia"):
        export_c([ca.Function("f", [x], [x + 1], ["x"], ["y"])], tmp_path / "a", "demo", languages=("rust",))
    assert not (tmp_path / "a").exists()
