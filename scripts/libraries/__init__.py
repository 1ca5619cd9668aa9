"""How each entry of the library of identified robots is made; what it is stands in ``entries.toml``."""

from __future__ import annotations

from libraries.commands import COMMANDS
from libraries.entry import Found as Found
from libraries.papers import PAPERS
from libraries.torques import TORQUES

ENTRIES = {**TORQUES, **COMMANDS, **PAPERS}
