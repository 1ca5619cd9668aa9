"""What tests of several rooms need: the command line in this process, a C compiler or none, 6x6 inertias."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from casid.cli import app
from casid.codegen import find_compiler
from casid.inertia import skew, tensor

RUNNER = CliRunner()
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def run(*arguments: object, code: int = 0) -> str:
    """Everything the command printed; its exit code is checked and a Python traceback refused."""
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def spatial_inertia(parameters: np.ndarray) -> np.ndarray:
    """``[[L, S(l)'], [S(l), m 1]]``."""
    moment = skew(parameters[6:9])
    return np.block([[tensor(parameters[:6]), moment.T], [moment, parameters[9] * np.eye(3)]])
