"""How each entry of the library of identified robots is made; `ENTRIES` lists them."""

from __future__ import annotations

from libraries.commands import COMMANDS
from libraries.entry import Entry as Entry
from libraries.entry import Found as Found
from libraries.papers import PAPERS
from libraries.torques import TORQUES

ENTRIES: dict[str, Entry] = {**TORQUES, **COMMANDS, **PAPERS}
