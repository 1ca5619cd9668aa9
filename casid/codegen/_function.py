"""One function, four faces: in CasADi's graphs, on arrays, in JAX, and as C; CasADi's evaluation of many samples."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import _compiler
from casid.codegen._compiler import PREFIX, Program, bridge, c_name, compile_shared, content_hash, load_library
from casid.codegen._emit import DOUBLE
from casid.codegen._source import called_source, casadi_source, external_source, recursion_source
from casid.errors import DatasetError

# ------------------------------------------------------------------ CasADi's own evaluation, recursions

#: Samples that a mapped function evaluates in one call: few, so that building it costs less than evaluating it.
_MAPPED_CHUNK = 512
#: Steps of a recursion that CasADi evaluates in one call.
_CHAINED_CHUNK = 256


def accumulate(
    step: ca.Function, start: ArrayLike, drive: ArrayLike, parameters: ArrayLike, compiled: bool | None = None
) -> tuple[Array, Array]:
    """``x_i, y_i = step(x_{i-1}, u_i, p)``, shapes (N, states) and (N, outputs).

    Parameters
    ----------
    step
        ``(x, u, p) -> (x, y)``, all of them vectors.
    start
        The state before the first step.
    drive
        u, shape (N, inputs).
    parameters
        p, the same for all steps.
    compiled
        True: compiled code. False: CasADi's evaluation. None: compiled where that pays. Both agree to rounding.

    Raises
    ------
    ValueError
        For another number of states, inputs or parameters than the step has.
    """
    count = len(np.asarray(drive))
    shapes, given = [(step.size1_in(0),), (count, step.size1_in(1)), (step.size1_in(2),)], (start, drive, parameters)
    x0, u, p = (np.ascontiguousarray(v, dtype=float).reshape(shape) for v, shape in zip(given, shapes, strict=True))
    padded = np.pad(u, ((0, -count % _CHAINED_CHUNK), (0, 0)))
    x, y = np.empty((len(padded), step.size1_out(0))), np.empty((len(padded), step.size1_out(1)))
    program = Program([step], recursion_source, "accumulate")
    library = program.load_if(compiled, count * step.n_instructions())
    if library is not None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x0, u, p, x, y)]
        library["casid_accumulate"](ctypes.c_long(count), *pointers)
        return x[:count], y[:count]
    chain, held = _dense(step).mapaccum(_CHAINED_CHUNK), np.tile(p, (_CHAINED_CHUNK, 1))
    for first in range(0, count, _CHAINED_CHUNK):
        part = slice(first, first + _CHAINED_CHUNK)
        _evaluate(chain, [x0, padded[part], held], [x[part], y[part]])
        x0 = x[part.stop - 1]
    return x[:count], y[:count]


def _dense(function: ca.Function) -> ca.Function:
    """The function of dense arguments, its values dense."""
    if function.nnz_in() == function.numel_in() and function.nnz_out() == function.numel_out():
        return function
    symbols = [ca.MX.sym(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())]
    return ca.Function(function.name(), symbols, [ca.densify(value) for value in function.call(symbols)])


@functools.lru_cache(maxsize=8)
def _dense_map(function: ca.Function, size: int) -> ca.Function:
    """The function of so many samples at once, its values dense; those of the last few are kept."""
    return _dense(function).map(size)


def _evaluate(function: ca.Function, inputs: Sequence[Array], results: Sequence[Array]) -> None:
    """CasADi's evaluation straight from and into numpy's memory, matrices column by column.

    Empty arrays are left out: numpy gives no memory of their own to them, and CasADi refuses a pointer into its own.
    """
    buffer, run = function.buffer()
    for arrays, give in ((inputs, buffer.set_arg), (results, buffer.set_res)):
        for place, array in enumerate(arrays):
            if array.size:
                give(place, memoryview(array))  # type: ignore[call-arg, arg-type]
    run()


def mapped(function: ca.Function, inputs: list[Array], head: tuple[int, ...]) -> list[Array]:
    """CasADi's own evaluation of one sample or of ``head`` samples: inputs of one, or with a first axis of them."""
    if not head:
        return [np.array(value.full()) for value in function.call([ca.DM(value) for value in inputs])]
    (count,) = head
    whole = [v.reshape(-1 if function.numel_in(i) else 1, *function.size_in(i)) for i, v in enumerate(inputs)]
    rows = [function.size1_out(o) for o in range(function.n_out())]
    columns = [function.size2_out(o) for o in range(function.n_out())]
    results = [np.empty((count, r, c)) for r, c in zip(rows, columns, strict=True)]
    chunk, size = function, 0
    for start in range(0, count, _MAPPED_CHUNK):
        if size != min(_MAPPED_CHUNK, count - start):
            size = min(_MAPPED_CHUNK, count - start)
            chunk = _dense_map(function, size)
        parts = []
        for value in whole:
            part = np.broadcast_to(value if len(value) == 1 else value[start : start + size], (size, *value.shape[1:]))
            parts.append(np.ascontiguousarray(part.transpose(0, 2, 1)))  # columns are contiguous
        values = [np.empty((size, c, r)) for r, c in zip(rows, columns, strict=True)]
        _evaluate(chunk, parts, values)
        for result, found in zip(results, values, strict=True):
            result[start : start + size] = found.transpose(0, 2, 1)
    return results


# ------------------------------------------------------------------ functions

_CASADI = (ca.SX, ca.MX, ca.DM)
#: Work (samples times instructions) from which the cache is searched for compiled code: about a millisecond.
_WORTH_LOOKING = 1e5
#: What a call through CasADi costs beside its instructions, in instructions: 50 us.
_CALL = 2e4
#: CasADi's weight of reverse against forward sweeps, stated since the number of directions below depends on it.
_AD_WEIGHT = 1 / 3
Shape = tuple[int, ...]


class Function(ca.Function):
    """A `casadi.Function` that arrays, JAX and other compiled code call as well.

    Called with SX, MX or DM it is the CasADi function that it was made of. Called with numbers, sequences or arrays it
    returns arrays: an input of n entries has shape (..., n), a matrix (..., rows, columns), and leading axes are
    samples, broadcast as numpy does (an input of one entry: (..., 1), or (...) where the last length is not 1).
    Compiled code runs where it is in the cache or where the work of all calls so far pays for compiling it; until
    then, and without a compiler, CasADi evaluates the graph. Both agree to rounding.

    Where every array given is of dtype float32, so are the results: compiled code in single precision, twice as many
    samples at once. Without it they are rounded from double precision. Any array of another type makes all double.

    Parameters
    ----------
    function
        Any CasADi function.
    axes
        Number of axes of each output (one number for all): 0 a number, 1 a vector, 2 a matrix. Default: an output of
        one column is a vector.
    defaults
        Values of inputs that may be left out, by name.
    doc
        Its docstring.
    orders
        Names of the entries of an input, by the input's name: it also takes what gives its values in an order of names
        (``in_order``), as `casid.Parameters` does.
    sweep
        Where the outputs are Jacobians, ``(inputs ..., seed) -> J_i' seed, ...``: the C code for one sample computes
        their rows side by side. Outputs: for each function that is differentiated, with as many rows as it has entries,
        one for each output of the sweep; the seed has the rows of all.
    """

    axes: tuple[int, ...] | None
    defaults: dict[str, Array]
    orders: dict[str, Sequence[str]]
    #: What `bridge.c` calls at once, where compiled code is loaded.
    _compiled: Any = None
    _library: Path

    def __init__(
        self,
        function: ca.Function,
        axes: int | Sequence[int] | None = None,
        defaults: Mapping[str, Array] | None = None,
        doc: str | None = None,
        sweep: ca.Function | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(function)
        if isinstance(function, Function):
            axes, doc = (function.axes if axes is None else axes), doc or function.__doc__
            defaults = function.defaults if defaults is None else defaults
            orders = function.orders if orders is None else orders
        self.orders = dict(orders or {})
        self.axes = (axes,) * self.n_out() if isinstance(axes, int) else tuple(axes) if axes is not None else None
        self.defaults = {name: np.ascontiguousarray(value, dtype=float) for name, value in (defaults or {}).items()}
        self.__doc__ = doc or type(self).__doc__
        self.sweep = getattr(function, "sweep", None) if sweep is None else sweep
        self._addresses: dict[str, int] = {}
        self._work: dict[str, float] = {}
        self._partials: dict[int, Function] = {}

    def _state(self) -> dict[str, Any]:
        """What `__init__` takes beside the function."""
        return {name: getattr(self, name) for name in ("axes", "defaults", "sweep", "orders")} | {"doc": self.__doc__}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), **self._state()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        given = dict(state)
        self.__init__(ca.Function.deserialize(given.pop("serialization")), **given)  # type: ignore[misc]

    def _general(
        self, *args: Any, out: Any = None, compiled: bool | None = None, threads: int = 1, **named: Any
    ) -> Any:
        """Values, or expressions where an input is one; all inputs in order, or all by name.

        Parameters
        ----------
        args, named
            The inputs; by name, the result is a dict of the outputs by name.
        out
            Arrays that take the results: one, or a tuple of one an output. They share no memory with inputs.
        compiled
            True: compiled code, now. False: CasADi's evaluation.
        threads
            Number of threads that share the samples of compiled code.

        Raises
        ------
        DatasetError
            Naming the inputs that are missing, unknown or of another shape.
        ExportError
            If compiled code is required and cannot be made.
        """
        values = self.ordered(args, named)
        if any(isinstance(value, _CASADI) for value in values):
            results = self._expressions(values)
        else:
            results = self._arrays(values, out, compiled, threads)
        if named or not args:
            return dict(zip(self.name_out(), results, strict=True))
        return results[0] if len(results) == 1 else tuple(results)

    __call__ = _general  # type: ignore[assignment]

    # ------------------------------------------------------------------ other faces

    @functools.cached_property
    def digest(self) -> str:
        """Hash of the function's content, by which compiled code of it is found."""
        return content_hash(self)

    @functools.cached_property
    def external(self) -> ca.Function:
        """The compiled function for graphs of MX (Opti, rockit, acados, do-mpc, fatrop).

        Inputs with a default are left out. Its first derivatives, and those of products with multipliers, which IPOPT
        asks for as Hessians, are compiled with it, from the graph.

        Raises
        ------
        ExportError
            Without a compiler, or for a function without C code.
        """
        free = [i for i in range(self.n_in()) if self.name_in(i) not in self.defaults]
        sizes = [self.numel_in(i) for i in free]
        x = ca.SX.sym("x", sum(sizes))  # one input: one Jacobian, and nothing to put together where users split a state
        parts = iter(ca.vertsplit(x, np.cumsum([0, *sizes]).tolist()))
        given = [
            ca.reshape(next(parts), *self.size_in(i)) if i in free else ca.DM(self.defaults[name])
            for i, name in enumerate(self.name_in())
        ]
        name, outputs = c_name(self), self.name_out()
        graph = ca.Function(name, [x], self.call(given), ["x"], outputs, {"cse": True})
        adjoint = graph.reverse(1)
        family = [graph, _jacobian(graph), adjoint, _jacobian(adjoint)]
        library = Program(family, external_source, "external", prefix="").load()
        # One direction is an adjoint sweep, several are products with the Jacobian (CasADi's `adjViaJac`).
        fewest = max(1, min(graph.nnz_in(), (1 - _AD_WEIGHT) * graph.nnz_out()))
        self._library = Path(library._name)
        compiled = ca.external(name, library._name, {"jac_penalty": 1.5 / fewest, "ad_weight": _AD_WEIGHT})
        inputs = [ca.MX.sym(self.name_in(i), *self.size_in(i)) for i in free]
        values = compiled.call([ca.veccat(ca.MX(0, 1), *inputs)])
        return ca.Function(name, inputs, values, [self.name_in(i) for i in free], outputs, {"always_inline": True})

    @property
    def external_library(self) -> Path:
        """Shared library that `external` calls: C that CasADi or acados generates from graphs with it links to it."""
        _ = self.external
        return self._library

    @functools.cached_property
    def jax(self) -> Callable[..., Any]:
        """The function inside ``jax.jit``, ``vmap``, ``grad`` and ``jvp``: compiled code with compiled derivatives.

        Raises
        ------
        ExportError
            Without JAX or a compiler.
        """
        from casid.codegen._jax import jax_function

        return jax_function(self)

    def partial(self, i: int) -> Function:
        """Jacobians of the outputs with respect to an input, the entries of matrices row by row."""
        if i not in self._partials:
            given = [ca.SX.sym(name, *self.size_in(k)) for k, name in enumerate(self.name_in())]
            entries = ca.vec(given[i].T)
            jacobians = [ca.densify(ca.jacobian(ca.vec(value.T), entries)) for value in self.call(given)]
            names = [f"d{name}_d{self.name_in(i)}" for name in self.name_out()]
            name = f"{self.name()}_in_{self.name_in(i)}"
            made = ca.Function(name, given, jacobians, self.name_in(), names, {"cse": True})
            self._partials[i] = Function(made, axes=2)
        return self._partials[i]

    # ------------------------------------------------------------------ inputs

    def ordered(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """All inputs in order, those with a default filled in; DatasetError for missing and unknown ones."""
        names = self.name_in()
        if args and named:
            raise DatasetError(f"{self.name()}: give all inputs in order or all by name; {self._expected()}")
        given = dict(zip(names, args, strict=False)) if args else named
        unknown = [f"number {k + 1}" for k in range(len(names), len(args))] or [n for n in named if n not in names]
        absent = [name for name in names if name not in given and name not in self.defaults]
        if unknown or absent:
            wrong = [f"{', '.join(absent)} missing"] if absent else []
            wrong += [f"no input {', '.join(unknown)}"] if unknown else []
            raise DatasetError(f"{self.name()}: {' and '.join(wrong)}; {self._expected()}")
        values: dict[str, Any] = {n: given[n] if n in given else self.defaults[n] for n in names}
        for name, order in self.orders.items():
            if hasattr(values.get(name), "in_order"):
                values[name] = values[name].in_order(order)
        return list(values.values())

    def _expressions(self, values: list[Any]) -> list[Any]:
        try:
            return list(self.call(values))
        except (RuntimeError, NotImplementedError):
            for k, value in enumerate(values):
                rows, columns = self.size_in(k)
                try:
                    shape = value.shape if isinstance(value, _CASADI) else ca.DM(value).shape
                except NotImplementedError:
                    raise self._no_numbers(k, value) from None
                fits = shape in ((rows, columns), (1, 1), (columns, rows))
                if not fits and (shape[0] != rows or shape[1] % columns):
                    raise self._misshapen(k, shape) from None
            raise

    def _arrays(self, values: list[Any], out: Any, compiled: bool | None, threads: int) -> list[Any]:
        single = self.is_single(values)
        real: Any = np.float32 if single else np.float64
        parts: list[Array] = []
        leads: list[Shape] = []
        for k, value in enumerate(values):
            try:
                part = np.asarray(value, dtype=real)
            except (TypeError, ValueError):
                raise self._no_numbers(k, value) from None
            lead = self.lead(k, part.shape)
            own = self.shape_in(k)
            parts.append(part.reshape(lead + own) if part.ndim else np.full(own, part))
            leads.append(lead)
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            words = ", ".join(f"{shape} of '{n}'" for n, shape in zip(self.name_in(), leads, strict=True) if shape)
            raise DatasetError(f"{self.name()}: different numbers of samples: {words}") from None
        head = (int(np.prod(lead)),) if lead else ()
        flat = []
        for k, (part, own) in enumerate(zip(parts, leads, strict=True)):
            shape = self.shape_in(k)
            samples = np.broadcast_to(part, lead + shape).reshape(head + shape) if own else part
            flat.append(np.ascontiguousarray(samples))
        shapes = [lead + self.shape_out(o) for o in range(self.n_out())]
        places = self._places(out, shapes, real)
        rows = [place.reshape(head + shape[len(lead) :]) for place, shape in zip(places, shapes, strict=True)]
        kind, results = "single" if single else "batch" if head else "call", rows
        if single and (self._addresses.get("single") == 0 or not self._ready("single", head, compiled)):
            kind = "batch" if head else "call"
            flat, results = [value.astype(float) for value in flat], [np.empty(row.shape) for row in rows]
        if self._ready(kind, head, compiled):
            self._run(flat, results, head, threads)
        else:
            results = mapped(self, flat, head)
        for row, value in zip(rows, results, strict=True):
            if value is not row:
                row[...] = value.reshape(row.shape)
        return places if out is not None else [p if p.shape else p[()] if single else float(p) for p in places]

    def is_single(self, values: Sequence[Any]) -> bool:
        """Whether all arrays among the inputs that are no defaults are of single precision."""
        given = [v for n, v in zip(self.name_in(), values, strict=True) if v is not self.defaults.get(n)]
        return {getattr(v, "dtype", None) for v in given if type(v) not in (int, float)} == {np.dtype(np.float32)}

    def _run(self, inputs: list[Array], rows: list[Array], head: Shape, threads: int) -> None:
        """Compiled code from arrays of one sample, or of ``head`` samples, into others."""
        batched = [value.ndim > len(self.shape_in(i)) for i, value in enumerate(inputs)]

        def part(first: int, end: int) -> None:
            given = [value[first:end] if many else value for value, many in zip(inputs, batched, strict=True)]
            places = tuple(row[first:end] for row in rows) if head else tuple(rows)
            self._compiled(*given, out=places if len(places) > 1 else places[0])

        count = head[0] if head else 1
        ends = np.linspace(0, count, max(1, min(threads, count // 2)) + 1).astype(int).tolist()
        if len(ends) == 2:
            return part(0, count)
        with ThreadPoolExecutor(len(ends) - 1) as pool:
            list(pool.map(part, ends[:-1], ends[1:]))
        return None

    def lead(self, k: int, shape: Shape) -> Shape:
        """Leading axes of an array for an input: a number stands for all its entries, a column for a vector.

        Raises
        ------
        DatasetError
            If its last axes are not the input's.
        """
        own = self.shape_in(k)
        if not shape or shape[-len(own) :] == own:
            return shape[: max(0, len(shape) - len(own))]
        if self.numel_in(k) == 1:
            return shape
        if shape[-2:] == self.size_in(k):
            return shape[:-2]
        raise self._misshapen(k, shape)

    def shape_in(self, i: int) -> Shape:
        """Shape of an input of one sample."""
        rows, columns = self.size_in(i)
        return (rows,) if columns == 1 else (rows, columns)

    def shape_out(self, o: int) -> Shape:
        """Shape of an output of one sample."""
        rows, columns = self.size_out(o)
        axes = self.axes[o] if self.axes is not None else 1 if columns == 1 else 2
        return (rows, columns)[:axes]

    def _places(self, out: Any, shapes: list[Shape], real: Any) -> list[Array]:
        if out is None:
            return [np.empty(shape, real) for shape in shapes]
        places = list(out) if isinstance(out, (tuple, list)) else [out]
        if [getattr(place, "shape", None) for place in places] != shapes or any(
            place.dtype != real or not place.flags.carray for place in places
        ):
            word = "doubles" if real is np.float64 else "float32"
            raise DatasetError(f"{self.name()}: out: expected contiguous arrays of {word} of shapes {shapes}")
        return places

    def _expected(self) -> str:
        inputs = ", ".join(f"{name} {self.shape_in(k)}" for k, name in enumerate(self.name_in()))
        pi = "; pi: the parameters, e.g. robot.standard_parameters()" if "pi" in self.name_in() else ""
        return f"expected {inputs}{pi}; leading axes are samples"

    def _no_numbers(self, k: int, value: Any) -> DatasetError:
        kind = type(value).__name__
        return DatasetError(f"{self.name()}: {self.name_in(k)} is no array of numbers but {kind}; {self._expected()}")

    def _misshapen(self, k: int, shape: Shape) -> DatasetError:
        name, rows = self.name_in(k), self.size1_in(k)
        turned = len(shape) == 2 and self.size2_in(k) == 1 and shape[0] == rows
        hint = f"; it is transposed, give {name}.T" if turned else ""
        return DatasetError(f"{self.name()}: {name} has shape {shape}{hint}; {self._expected()}")

    # ------------------------------------------------------------------ compiled code

    def _ready(self, kind: str, head: Shape, compiled: bool | None) -> bool:
        """Whether compiled code of a kind (`called_source`) is loaded, perhaps now, for so many samples."""
        if compiled is False or (kind in self._addresses and not compiled):
            return compiled is not False and bool(self._addresses[kind])
        if self._addresses.get(kind):
            return True
        before = self._work.get(kind, 0.0)
        work = self._work[kind] = before + max(1, *head, 1) * self.n_instructions() + _CALL
        worth = _compiler.WORTH_COMPILING
        if not compiled and not any(before < level <= work for level in (_WORTH_LOOKING, worth)):
            return False

        library = Program([self], functools.partial(called_source, kind=kind), kind).load_if(compiled, work)
        if library is not None:
            self._addresses[kind] = ctypes.cast(library.casid_entry, ctypes.c_void_p).value or 0
            self._compiled = _made(self)
        elif work >= worth:
            self._addresses[kind] = 0
        return library is not None


def compile(function: ca.Function, axes: int | Sequence[int] | None = None) -> Function:
    """One of the user's CasADi functions as a `Function`: call it with arrays, in graphs, in JAX.

    Parameters
    ----------
    function
        ``(x, y, ...) -> (f, ...)``.
    axes
        As for `Function`.
    """
    return function if isinstance(function, Function) else Function(function, axes)


def jacobian_rows(sweep: Function) -> Function:
    """Matrices whose rows are the outputs of a sweep at unit seeds.

    Parameters
    ----------
    sweep
        ``(..., seed, ...) -> J_i' seed, ...``; from adjoint sweeps, for instance.
    """
    given = {name: ca.SX.sym(name, *sweep.size_in(i)) for i, name in enumerate(sweep.name_in())}
    seed, names = given.pop("seed"), sweep.name_out()
    values = sweep.call({**given, "seed": seed})
    last = ca.Function(sweep.name(), [*given.values(), seed], [values[name] for name in names])
    units = ca.DM.eye(seed.numel())
    turns = [last.call([*given.values(), units[:, k]]) for k in range(seed.numel())]
    matrices = [ca.vertcat(*(value.T for value in values)) for values in zip(*turns, strict=True)]
    made = ca.Function(sweep.name(), list(given.values()), matrices, list(given), names, {"cse": True})
    return Function(made, **{**sweep._state(), "axes": 2, "sweep": last})


def _jacobian(function: ca.Function) -> Function:
    """``function.jacobian()``; its C by a sweep where that takes fewer instructions."""
    plain, adjoint = function.jacobian(), function.reverse(1)
    x = plain.sx_in()
    patterns = [function.sparsity_out(o) for o in range(function.n_out())]
    seed = ca.SX.sym("seed", sum(s.numel() for s in patterns))
    parts = ca.vertsplit(seed, np.cumsum([0, *(s.numel() for s in patterns)]).tolist())
    seeds = [ca.project(ca.reshape(part, s.shape), s) for part, s in zip(parts, patterns, strict=True)]
    sweep = ca.Function(plain.name(), [*x, seed], [ca.vec(g) for g in adjoint.call([*x, *seeds])], {"cse": True})
    turns = -(-seed.numel() // DOUBLE.width)
    return Function(plain, sweep=sweep if turns * sweep.n_instructions() < plain.n_instructions() else None)


_LINKED = """
int {name}_one(const double *const *in, double *const *out)
{{ return {c}({one}); }}
int {name}_many(long count, const double *const *in, const long *step, double *const *out)
{{
    long i;
    int failed = 0;
    (void)step;
    for (i = 0; i < count && !failed; ++i)
        failed = {c}({many});
    return failed;
}}
"""


def linked(
    source: str, label: str, functions: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]]
) -> dict[str, Function]:
    """Functions of C code alone, by name.

    Parameters
    ----------
    source
        C text with ``int <c name>(const double *input, ..., double *output, ...)``, matrices row by row.
    label
        Beginning of the library's name.
    functions
        C name, and (rows, columns) of inputs and outputs by name, by the function's name.

    Raises
    ------
    ExportError
        As `compile_shared` and `load_library`.
    """
    for name, (c, inputs, outputs) in functions.items():
        shapes = [*inputs.values(), *outputs.values()]
        sizes, n = [rows * columns for rows, columns in shapes], len(inputs)
        places, lines = [f"w + {sum(sizes[:k])}" for k in range(len(sizes))], ["long k;"]
        for k, (rows, columns) in enumerate(shapes):
            array, at = f"arg[{k}]" if k < n else f"res[{k - n}]", f"({places[k]})[k % {rows} * {columns} + k / {rows}]"
            move = f"{at} = {array} ? {array}[k] : 0.0;" if k < n else f"if ({array}) {array}[k] = {at};"
            lines += [f"if ({c}({', '.join(places)})) return 1;"] if k == n else []
            lines += [f"for (k = 0; k < {sizes[k]}; ++k) {move}"] if sizes[k] else []
        given, made = ({key: ca.Sparsity.dense(*s) for key, s in side.items()} for side in (inputs, outputs))
        source += "\n" + casadi_source(f"{PREFIX}{name}", given, made, lines, sum(sizes))
        results = [f"out[{o}] + i * {size}" for o, size in enumerate(sizes[n:])]
        one = ", ".join([*(f"in[{i}]" for i in range(n)), *(f"out[{o}]" for o in range(len(outputs)))])
        many = ", ".join([*(f"in[{i}] + i * step[{i}]" for i in range(n)), *results])
        source += _LINKED.format(name=f"{PREFIX}{name}", c=c, one=one, many=many)
    path = compile_shared(source, label)
    library, found = load_library(path), {}
    for name in functions:
        external = ca.external(f"{PREFIX}{name}", str(path))
        x = external.mx_in()
        found[name] = f = Function(ca.Function(name, x, external.call(x), external.name_in(), external.name_out()))
        f._addresses = {
            kind: ctypes.cast(library[f"{PREFIX}{name}_{end}"], ctypes.c_void_p).value or 0
            for kind, end in (("call", "one"), ("batch", "many"))
        }
        f._addresses["single"] = 0
        f._compiled = _made(f)
    return found


class _Plain:
    """Calls of compiled code by ctypes, where the bridge cannot be compiled; arguments as `Function._run` gives."""

    def __init__(self, one: int, many: int, single: int, n_in: int, shapes: Sequence[Shape], *defaults: Any) -> None:
        pointers, steps = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_long)
        self.one = ctypes.CFUNCTYPE(ctypes.c_int, pointers, pointers)(one)
        batch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_long, pointers, steps, pointers)
        self.many, self.single = batch(many), batch(single)
        self.axes = [shape[0] for shape in shapes[:n_in]]

    def __call__(self, *inputs: Array, out: Array | tuple[Array, ...]) -> None:
        places = out if isinstance(out, tuple) else (out,)
        given, made = ((ctypes.c_void_p * max(1, len(a)))(*(v.ctypes.data for v in a)) for a in (inputs, places))
        batched = [value.ndim > axes for value, axes in zip(inputs, self.axes, strict=True)]
        single = places[0].dtype == np.float32
        if not any(batched) and not single:
            self.one(given, made)
            return
        steps = [value[:1].size if many else 0 for value, many in zip(inputs, batched, strict=True)]
        count = len(places[0]) if any(batched) else 1
        (self.single if single else self.many)(count, given, (ctypes.c_long * len(steps))(*steps), made)


def _made(function: Function) -> Any:
    """What calls the compiled code that is loaded."""
    module, inputs, outputs = bridge(), range(function.n_in()), range(function.n_out())
    if module is not None:
        Function.__call__ = module.call  # type: ignore[method-assign]
    make: Any = _Plain if module is None or len(inputs) + len(outputs) > 64 else module.Compiled
    shapes = [(len(function.shape_in(i)), *function.size_in(i)) for i in inputs]
    shapes += [(len(function.shape_out(o)), *function.size_out(o)) for o in outputs]
    addresses = [function._addresses.get(kind, 0) for kind in ("call", "batch", "single")]
    doubles = tuple(function.defaults.get(n) for n in function.name_in())
    singles = tuple(None if value is None else value.astype(np.float32) for value in doubles)
    return make(*addresses, len(inputs), tuple(shapes), doubles, singles)
