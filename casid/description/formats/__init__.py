"""File formats of robots: one file and one class each, all with the contract of `Format`."""

from casid.description.formats.contract import Changes, Format, Reading
from casid.description.formats.mjcf import Mjcf
from casid.description.formats.sdf import Sdf
from casid.description.formats.toml import Toml, parse_toml, read_toml
from casid.description.formats.urdf import Urdf, read_urdf

#: All formats, the order in which ambiguous files are tried.
FORMATS: tuple[Format, ...] = (Toml(), Urdf(), Mjcf(), Sdf())

__all__ = [
    "FORMATS",
    "Changes",
    "Format",
    "Mjcf",
    "Reading",
    "Sdf",
    "Toml",
    "Urdf",
    "parse_toml",
    "read_toml",
    "read_urdf",
]
