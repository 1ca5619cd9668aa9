"""``python -m casid``: the command line."""

from casid.cli import main

if __name__ == "__main__":
    main()
