"""Tables of robot files."""

from __future__ import annotations

from casid.errors import RobotError
from casid.files._table import Table as AnyTable


class Table(AnyTable):
    """One table of a robot file; it raises `RobotError`."""

    error = RobotError
