"""A model's functions: CasADi functions whose wrong inputs end in a message that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from casid.errors import DatasetError
from casid.inertia import Parameters


class ModelFunction(ca.Function):
    """A `casadi.Function` that takes `casid.Parameters` for ``pi`` and says which input is missing or misshapen.

    Parameters
    ----------
    function
        The function itself.
    parameter_names
        Order of the parameters in its input ``pi``.
    """

    def __init__(self, function: ca.Function, parameter_names: Sequence[str] | None = None) -> None:
        super().__init__(function)
        given = getattr(function, "parameter_names", ()) if parameter_names is None else parameter_names
        self.parameter_names = tuple(given)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "parameter_names": self.parameter_names}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(ca.Function.deserialize(state["serialization"]), state["parameter_names"])  # type: ignore[misc]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Values, or expressions where an input is one; all inputs in order, or all by name.

        Raises
        ------
        DatasetError
            Naming the inputs that are missing, unknown or of another shape.
        """
        names = self.name_in()
        if args and kwargs:
            raise DatasetError(f"{self.name()}: give all inputs in order or all by name; {self._expected()}")
        if kwargs or not args:
            unknown = [name for name in kwargs if name not in names]
            absent = [name for name in names if name not in kwargs]
        else:
            unknown, absent = [f"number {k + 1}" for k in range(len(names), len(args))], names[len(args) :]
        if unknown or absent:
            wrong = [f"{', '.join(absent)} missing"] if absent else []
            wrong += [f"no input {', '.join(unknown)}"] if unknown else []
            raise DatasetError(f"{self.name()}: {' and '.join(wrong)}; {self._expected()}")
        pairs = zip(names, args, strict=True) if args else ((name, kwargs[name]) for name in names)
        values = [self._value(name, value) for name, value in pairs]
        try:
            return super().__call__(*values) if args else super().__call__(**dict(zip(names, values, strict=True)))
        except (RuntimeError, NotImplementedError):
            self._check(names, values)
            raise

    def _value(self, name: str, value: Any) -> Any:
        if name == "pi" and isinstance(value, Parameters):
            return value.in_order(self.parameter_names)
        return value

    def _expected(self) -> str:
        inputs = ", ".join(f"{name} {_shape(self.size_in(k))}" for k, name in enumerate(self.name_in()))
        pi = "; pi: the parameters, e.g. robot.standard_parameters()" if "pi" in self.name_in() else ""
        return f"expected {inputs}{pi}"

    def _check(self, names: list[str], values: list[Any]) -> None:
        """DatasetError for the first input whose shape does not fit."""
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            rows, columns = self.size_in(k)
            try:
                shape = value.shape if isinstance(value, (ca.SX, ca.MX, ca.DM)) else ca.DM(value).shape
            except NotImplementedError:
                kind = type(value).__name__
                raise DatasetError(
                    f"{self.name()}: {name} is no array of numbers but {kind}; {self._expected()}"
                ) from None
            fits = shape in ((rows, columns), (1, 1), (columns, rows)) or (shape[0] == rows and shape[1] % columns == 0)
            if not fits:
                hint = f"; it is transposed, give {name}.T" if shape[1] == rows and columns == 1 else ""
                raise DatasetError(
                    f"{self.name()}: {name} has shape {_shape(shape)}{hint}; {self._expected()}"
                ) from None


def _shape(size: tuple[int, int]) -> str:
    return f"({size[0]},)" if size[1] == 1 else f"({size[0]}, {size[1]})"
