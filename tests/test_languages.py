"""Python and Julia source: the same numbers as CasADi's graph, from the emitter that writes C."""

import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen import CFunction
from casid.codegen.languages import LANGUAGES, script_source
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


def test_python_is_what_the_graph_is():
    function = sample()
    made = namespace(script_source([CFunction(function)], "demo", LANGUAGES["python"]))["f"]
    for a, b, y in np.random.default_rng(0).normal(size=(20, 3)).tolist():
        x = [a, b]
        z, M = made(x, [y])
        expected = function(x, y)
        np.testing.assert_allclose(z, np.array(expected[0]).ravel(), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(np.reshape(M, (2, 2)), np.array(expected[1].full()), rtol=1e-15)


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
    np.testing.assert_allclose(
        made(q, dq, ddq, pi), np.array(model.inverse_dynamics(q, dq, ddq, pi)).ravel(), rtol=1e-11
    )


def test_julia_is_written_with_its_own_indices():
    text = script_source([CFunction(sample())], "demo", LANGUAGES["julia"])
    assert "function f(x, y)" in text and "x[1]" in text and "x[0]" not in text
    assert "const" not in text and "{" not in text
    julia = shutil.which("julia")
    if julia is None:
        return
    run = text + "\nz, M = f([0.3, -0.2], [0.5])\nprintln(join(vcat(z, M), ' '))\n"
    printed = subprocess.run([julia, "-e", run], capture_output=True, text=True, check=True, timeout=120).stdout
    expected = sample()([0.3, -0.2], 0.5)
    flat = np.concatenate([np.array(expected[0]).ravel(), expected[1].full().ravel()])
    np.testing.assert_allclose([float(word) for word in printed.split()], flat, rtol=1e-14)


def test_what_a_language_lacks_is_refused(tmp_path):
    x = ca.SX.sym("x")
    with pytest.raises(ExportError, match="no counterpart in Julia"):
        script_source([CFunction(ca.Function("f", [x], [ca.erf(x)], ["x"], ["y"]))], "demo", LANGUAGES["julia"])
    with pytest.raises(ExportError, match="word of Python"):
        script_source([CFunction(ca.Function("f", [x], [x + 1], ["x"], ["math"]))], "demo", LANGUAGES["python"])
    with pytest.raises(ExportError, match="expected python, julia"):
        export_c([ca.Function("f", [x], [x + 1], ["x"], ["y"])], tmp_path / "a", "demo", languages=("rust",))
    assert not (tmp_path / "a").exists()
