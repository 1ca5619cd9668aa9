"""Sign functions made smooth in any CasADi function, so that Coulomb friction has a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca

from casid.expressions._walk import as_function, rebuild, walk


def smooth_signs(function: ca.Function, width: ca.SX) -> ca.Function:
    """Replace every ``sign(x)`` of a function by ``tanh(x / width)``.

    Parameters
    ----------
    function
        Any function that expands to SX.
    width : SX scalar
        Width of the transition, in the units of x; becomes the last input, named ``width``.

    Returns
    -------
    casadi.Function
        Same inputs and ``width``; same outputs. ``width -> 0`` gives the original values wherever no x is zero.
    """
    inputs = [ca.SX.sym(function.name_in(k), function.sparsity_in(k)) for k in range(function.n_in())]
    entries: ca.SX = ca.vertcat(*(part.nz[:] for part in inputs))
    x = ca.SX.sym("x", entries.numel())
    outputs = function.call([_filled(function.sparsity_in(k), part) for k, part in enumerate(_parts(inputs, x))])
    stacked: ca.SX = ca.vertcat(*(output.nz[:] for output in outputs))

    def constant(value: float) -> ca.SX:
        return ca.SX(value)

    def entry(k: int) -> ca.SX:
        return entries[k]

    def smooth(code: int, operands: list[ca.SX]) -> ca.SX:
        return ca.tanh(operands[0] / width) if code == ca.OP_SIGN else rebuild(code, operands)

    cells = walk(as_function(stacked, x), constant, entry, smooth)
    values = [_filled(output.sparsity(), part) for output, part in zip(outputs, _parts(outputs, cells), strict=True)]
    names_in = [*function.name_in(), "width"]
    return ca.Function(
        f"smooth_{function.name()}", [*inputs, width], values, names_in, function.name_out(), {"cse": True}
    )


def _parts(matrices: Sequence[ca.SX], cells: Any) -> Iterator[Any]:
    """Cells of each matrix from those of all."""
    at = 0
    for matrix in matrices:
        yield cells[at : at + matrix.nnz()]
        at += matrix.nnz()


def _filled(sparsity: ca.Sparsity, cells: Any) -> ca.SX:
    return ca.SX(sparsity, ca.vertcat(*cells) if isinstance(cells, list) else cells)
