"""The command ``casid``, also as ``python -m casid``."""

import sys


def main() -> None:
    """Entry point of the command: Ctrl-C during its imports ends it like Ctrl-C later, with exit code 130."""
    try:
        from casid.cli import main as command
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted: nothing was written\n")
        raise SystemExit(130) from None
    command()


if __name__ == "__main__":
    main()
