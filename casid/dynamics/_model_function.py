"""A model's functions: functions of graphs, arrays and JAX whose parameters go by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from casid.arrays import Array
from casid.codegen import Function
from casid.inertia import Parameters


class ModelFunction(Function):
    """A `casid.codegen.Function` that takes `casid.Parameters` for ``pi``.

    Parameters
    ----------
    function, axes, defaults, doc, sweep
        As for `Function`.
    parameter_names
        Order of the parameters in its input ``pi``.
    """

    def __init__(
        self,
        function: ca.Function,
        axes: int | Sequence[int] | None = None,
        defaults: Mapping[str, Array] | None = None,
        doc: str | None = None,
        sweep: ca.Function | None = None,
        parameter_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(function, axes, defaults, doc, sweep)
        given = getattr(function, "parameter_names", ()) if parameter_names is None else parameter_names
        self.parameter_names = tuple(given)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "parameter_names": self.parameter_names}

    def _value(self, name: str, value: Any) -> Any:
        named = name == "pi" and isinstance(value, Parameters)
        return value.in_order(self.parameter_names) if named else value
