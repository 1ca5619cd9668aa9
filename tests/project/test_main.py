"""``python -m casid`` is the command line."""

import subprocess
import sys

from casid.__main__ import main
from casid.version import __version__


def test_the_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "casid", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert callable(main)
