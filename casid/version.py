"""The version, alone, so that every room can name it."""

__version__ = "0.4.0.dev0"
