"""Compiled functions inside JAX: a foreign function on the CPU, with derivatives that are foreign functions too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casid.codegen._compiler import Program
from casid.codegen._emit import DOUBLE, SINGLE, Real
from casid.codegen._source import CFunction, batch_source, entry_source
from casid.errors import ExportError

if TYPE_CHECKING:
    from casid.codegen._function import Function

#: XLA's call of a function.
_HANDLER = Path(__file__).with_name("jax.c")
#: Names of functions that XLA knows already.
_TARGETS: set[str] = set()


def jax_function(function: Function) -> Callable[..., Any]:
    """See `Function.jax`."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise ExportError("the JAX face of a function needs JAX: pip install jax") from None
    own = [function.shape_in(i) for i in range(function.n_in())]
    made = [function.shape_out(o) for o in range(function.n_out())]

    def foreign(*values: Any) -> tuple[Any, ...]:
        leads = [value.shape[: value.ndim - len(shape)] for value, shape in zip(values, own, strict=True)]
        lead = jnp.broadcast_shapes(*leads)
        ones = [(1,) * (len(lead) - len(shape)) for shape in leads]
        given = [value.reshape(more + value.shape) for value, more in zip(values, ones, strict=True)]
        single = bool(values) and values[0].dtype == jnp.float32
        types = [jax.ShapeDtypeStruct(lead + shape, jnp.float32 if single else jnp.float64) for shape in made]
        target = _target(function, SINGLE if single else DOUBLE)
        return tuple(jax.ffi.ffi_call(target, types, vmap_method="expand_dims")(*given))

    call = jax.custom_jvp(foreign)

    def derivative(values: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results = call(*values)
        slopes = [jnp.zeros_like(result) for result in results]
        for i, tangent in enumerate(tangents):
            if isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                continue
            flat = tangent.reshape(*tangent.shape[: tangent.ndim - len(own[i])], -1)
            jacobians = function.partial(i).jax(*values)
            for o, J in enumerate(jacobians if isinstance(jacobians, tuple) else (jacobians,)):
                slopes[o] += jnp.einsum("...ij,...j->...i", J, flat).reshape(results[o].shape)
        return results, tuple(slopes)

    call.defjvp(derivative, symbolic_zeros=True)

    def public(*args: Any, **named: Any) -> Any:
        values = function.ordered(args, named)
        real = jnp.float64 if jax.config.jax_enable_x64 and not function.is_single(values) else jnp.float32
        values = [jnp.asarray(value, real) for value in values]
        for i, value in enumerate(values):
            lead = function.lead(i, value.shape)
            values[i] = value.reshape(lead + own[i]) if value.ndim else jnp.full(own[i], value)
        results = call(*values)
        if named:
            return dict(zip(function.name_out(), results, strict=True))
        return results[0] if len(results) == 1 else results

    return public


def _target(function: Function, real: Real) -> str:
    """Name in XLA of the compiled function, registered once for the same content."""
    import jax

    axes = [len(function.shape_in(i)) for i in range(function.n_in())]
    axes += [len(function.shape_out(o)) for o in range(function.n_out())]

    def write(built: Sequence[CFunction]) -> str:
        f = CFunction(function, built[0].name, real)
        arguments = (*f.inputs, *f.outputs)
        handler = f"\n#define REAL {real.name}\n#define INPUTS {len(f.inputs)}\n#define OUTPUTS {len(f.outputs)}\n"
        handler += f"#define SIZES {', '.join(str(a.size) for a in arguments)}\n"
        handler += f"#define AXES {', '.join(map(str, axes))}\n{_HANDLER.read_text(encoding='utf-8')}"
        return batch_source([f], "casid") + entry_source(f, "batch") + handler

    name = f"casid_{function.digest}_{''.join(map(str, axes))}_{real.name}"
    if name not in _TARGETS:
        headers = (Path(jax.ffi.include_dir()),)
        content = (name, jax.__version__)
        library = Program([function], write, "jax", content, include=headers).load()
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.casid_ffi), platform="cpu")
        _TARGETS.add(name)
    return name
