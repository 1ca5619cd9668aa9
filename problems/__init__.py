"""The problems that ship with casid: one file each, with a function ``build`` that returns a ``Problem``."""
