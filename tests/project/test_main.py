"""``python -m casid`` is the command line, and Ctrl-C ends it from its first import on."""

import subprocess
import sys
from importlib.metadata import entry_points

from casid.__main__ import main
from casid.cli import INTERRUPTED
from casid.version import __version__


def test_the_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "casid", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert next(iter(entry_points(group="console_scripts", name="casid"))).load() is main


def test_an_interruption_of_the_imports_ends_the_command_without_a_traceback(tmp_path):
    """Also where an import runs code given as text, after which Python itself would end by the signal."""
    (tmp_path / "probe.py").write_text(
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'casid.cli':\n"
        "            exec('raise KeyboardInterrupt')\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from casid.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-m", "probe"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (INTERRUPTED, "\ninterrupted: nothing was written\n")


def test_ctrl_c_while_python_ends_changes_nothing():
    code = (
        "import atexit, os, signal, sys; from casid.__main__ import main; sys.argv = ['casid', 'robots'];"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
