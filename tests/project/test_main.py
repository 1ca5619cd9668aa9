"""``python -m casid`` is the command line, and Ctrl-C ends it from its first import on."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from casid.__main__ import main
from casid.cli import INTERRUPTED
from casid.version import __version__


def test_the_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "casid", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert next(iter(entry_points(group="console_scripts", name="casid"))).load() is main


def test_an_interruption_of_the_imports_ends_the_command_without_a_traceback(monkeypatch, capsys):
    class Pressed:
        def find_spec(self, name, path=None, target=None):
            if name == "casid.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "casid.cli")
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == INTERRUPTED
    assert capsys.readouterr().err == "\ninterrupted: nothing was written\n"
