"""File formats of robots: one class each with the contract of `Format`, and the catalogue of all of them."""

from __future__ import annotations


from typing import TYPE_CHECKING

from casid.description.formats._mjcf import Mjcf
from casid.description.formats._sdf import Sdf
from casid.description.formats._toml import Toml
from casid.description.formats._urdf import Urdf

# between rooms
from casid.description.formats._contract import Changes as Changes
from casid.description.formats._contract import Reading as Reading

if TYPE_CHECKING:
    from casid.description.formats._contract import Format

#: All formats, in the order in which ambiguous files are tried; a new format is added here and nowhere else.
FORMATS: tuple[Format, ...] = (Toml(), Urdf(), Mjcf(), Sdf())
