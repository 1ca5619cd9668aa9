"""Sign functions made smooth in any CasADi function, so that Coulomb friction has a gradient."""

from __future__ import annotations

import casadi as ca


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
    graph = function if function.is_a("SXFunction") else function.expand()
    inputs = [ca.SX.sym(graph.name_in(k), graph.sparsity_in(k)) for k in range(graph.n_in())]
    outputs = [[ca.SX(0)] * graph.nnz_out(k) for k in range(graph.n_out())]
    work: list[ca.SX] = [ca.SX(0)] * graph.sz_w()
    entries = [x.nz[:] for x in inputs]
    for k in range(graph.n_instructions()):
        operation = graph.instruction_id(k)
        result, operands = graph.instruction_output(k), graph.instruction_input(k)
        if operation == ca.OP_CONST:
            work[result[0]] = ca.SX(graph.instruction_constant(k))
        elif operation == ca.OP_INPUT:
            work[result[0]] = entries[operands[0]][operands[1]]
        elif operation == ca.OP_OUTPUT:
            outputs[result[0]][result[1]] = work[operands[0]]
        elif operation == ca.OP_SIGN:
            work[result[0]] = ca.tanh(work[operands[0]] / width)
        elif len(operands) == 1:
            work[result[0]] = ca.SX.unary(operation, work[operands[0]])
        else:
            work[result[0]] = ca.SX.binary(operation, work[operands[0]], work[operands[1]])
    values = [ca.SX(graph.sparsity_out(k), ca.vertcat(*cells)) for k, cells in enumerate(outputs)]
    names_in = [*graph.name_in(), "width"]
    return ca.Function(f"smooth_{graph.name()}", [*inputs, width], values, names_in, graph.name_out(), {"cse": True})
