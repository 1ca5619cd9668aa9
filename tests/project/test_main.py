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


def test_an_interruption_of_the_imports_ends_the_command_without_a_traceback():
    """Also where an import runs code given as text, after which Python itself would end by the signal."""
    program = """if True:
        import sys
        class Pressed:
            def find_spec(self, name, path=None, target=None):
                if name == "casid.cli":
                    exec("raise KeyboardInterrupt")
        sys.meta_path.insert(0, Pressed())
        from casid.__main__ import main
        main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (INTERRUPTED, "\ninterrupted: nothing was written\n")
