"""Compiled functions inside JAX: a foreign function on the CPU, with derivatives that are foreign functions too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casid.codegen._compiler import Program
from casid.codegen._source import CFunction, batch_source, entry_source
from casid.errors import DatasetError, ExportError

if TYPE_CHECKING:
    from casid.codegen._function import Function

#: Names of functions that XLA knows already.
_TARGETS: set[str] = set()
#: XLA's call of a function: all arguments have as many leading axes, of length 1 where they are shared.
_HANDLER = """
#include "xla/ffi/api/c_api.h"
XLA_FFI_Error *casid_ffi(XLA_FFI_CallFrame *frame)
{{
    static const long sizes[] = {{{sizes}}};
    static const int axes[] = {{{axes}}};
    const XLA_FFI_Extension_Base *extension = frame->extension_start;
    const double *in[{inputs} + 1];
    double *out[{outputs}];
    long step[{inputs} + 1], count = 1, sample;
    int i, k, mixed = 0;
    if (extension && extension->type == XLA_FFI_Extension_Metadata) {{
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return 0;
    }}
    for (i = 0; i < {outputs}; ++i)
        out[i] = ((XLA_FFI_Buffer *)frame->rets.rets[i])->data;
    const XLA_FFI_Buffer *made = frame->rets.rets[0];
    const int lead = (int)made->rank - axes[{inputs}];
    for (k = 0; k < lead; ++k)
        count *= made->dims[k];
    for (i = 0; i < {inputs}; ++i) {{
        const XLA_FFI_Buffer *given = frame->args.args[i];
        long own = 1;
        for (k = 0; k < lead; ++k)
            own *= given->dims[k];
        in[i] = given->data;
        step[i] = own == 1 ? 0 : sizes[i];
        mixed |= own != 1 && own != count;
    }}
    if (!mixed) {{
        casid_entry(count, in, step, out);
        return 0;
    }}
    for (sample = 0; sample < count; ++sample) {{
        for (i = 0; i < {inputs}; ++i) {{
            const XLA_FFI_Buffer *given = frame->args.args[i];
            long place = 0, rest = sample, stride = 1;
            for (k = lead - 1; k >= 0; rest /= made->dims[k], stride *= given->dims[k], --k)
                place += given->dims[k] == 1 ? 0 : rest % made->dims[k] * stride;
            in[i] = (const double *)given->data + place * sizes[i];
        }}
        casid_entry(1, in, step, out);
        for (i = 0; i < {outputs}; ++i)
            out[i] += sizes[{inputs} + i];
    }}
    return 0;
}}
"""


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
        types = [jax.ShapeDtypeStruct(lead + shape, jnp.float64) for shape in made]
        return tuple(jax.ffi.ffi_call(_target(function), types, vmap_method="expand_dims")(*given))

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
        if not jax.config.jax_enable_x64:
            raise DatasetError(
                f"{function.name()}: JAX computes in single precision; jax.config.update('jax_enable_x64', True)"
            )
        values = [jnp.asarray(value, jnp.float64) for value in function.ordered(args, named)]
        for i, value in enumerate(values):
            lead = function.lead(i, value.shape)
            values[i] = value.reshape(lead + own[i]) if value.ndim else jnp.full(own[i], value)
        results = call(*values)
        if named:
            return dict(zip(function.name_out(), results, strict=True))
        return results[0] if len(results) == 1 else results

    return public


def _target(function: Function) -> str:
    """Name in XLA of the compiled function, registered once for the same content."""
    import jax

    def write(built: Sequence[CFunction]) -> str:
        (f,) = built
        arguments = (*f.inputs, *f.outputs)
        axes = [len(function.shape_in(i)) for i in range(len(f.inputs))]
        axes += [len(function.shape_out(o)) for o in range(len(f.outputs))]
        handler = _HANDLER.format(
            sizes=", ".join(str(a.size) for a in arguments), axes=", ".join(map(str, axes)),
            inputs=len(f.inputs), outputs=len(f.outputs),
        )  # fmt: skip
        return batch_source([f], "casid") + entry_source(f, "batch") + handler

    name = f"casid_{function.digest}"
    if name not in _TARGETS:
        headers = (Path(jax.ffi.include_dir()),)
        content = ("jax", jax.__version__, *map(str, (function.axes,)))
        library = Program([function], write, "jax", content, include=headers).load()
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.casid_ffi), platform="cpu")
        _TARGETS.add(name)
    return name
