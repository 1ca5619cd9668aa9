"""Tables of robot files."""

from __future__ import annotations

from casid.description._joint_parameters import JOINT_PARAMETERS, joint_parameter
from casid.errors import RobotError
from casid.files._table import Table as AnyTable


class Table(AnyTable):
    """One table of a robot file; it raises `RobotError`."""

    error = RobotError

    def joint_terms(self) -> dict[str, float]:
        """Values of the key ``terms`` by the symbols of the catalogue of joint parameters; empty without the key."""
        given = self.data.get("terms")
        known = [symbol for symbol, entry in JOINT_PARAMETERS.items() if not entry.family]
        if isinstance(given, dict):
            known += [symbol for symbol in given if symbol not in known and joint_parameter(symbol) is not None]
        table = self.table("terms", known)
        return {} if table is None else {symbol: table.number(symbol) for symbol in table.data}
