"""What tests of several rooms need: the command line in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from casid.cli import app

RUNNER = CliRunner()


def run(*arguments: object, code: int = 0) -> str:
    """Everything the command printed; its exit code is checked and a Python traceback refused."""
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output
