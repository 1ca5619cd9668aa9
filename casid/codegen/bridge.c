/* Calls of compiled functions from Python: numpy arrays in, numpy arrays out, no work in between.

`call` is the method `casid.codegen.Function.__call__`. Where the function's attribute `_compiled` is a `Compiled` and all
arguments are contiguous arrays of doubles of the right shape (or with one leading axis), or all of float32, the compiled
code runs at once; everything else goes to the method `_general`, in Python. Pointers to doubles are, with `single`,
pointers to floats. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <stddef.h>

#define MOST 64
#define UNLOCKED_FROM 32

typedef int (*one_sample)(const double *const *in, double *const *out);
typedef int (*many_samples)(long count, const double *const *in, const long *step, double *const *out);

typedef struct {
    int axes; /* of one sample */
    npy_intp shape[2], size;
} Argument;

typedef struct {
    PyObject_HEAD
    one_sample one;
    many_samples many, single;
    int n_in, n_out;
    Argument arguments[MOST];
    PyObject *defaults, *singles; /* tuples: an array or None for each input */
} Compiled;

static PyTypeObject CompiledType, CallType;
static PyObject *name_compiled, *name_general, *name_out;

static void compiled_dealloc(Compiled *self)
{
    Py_XDECREF(self->defaults);
    Py_XDECREF(self->singles);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Compiled(address of one, of many, of many in float32, number of inputs, ((axes, rows, columns), ...), defaults, defaults
   in float32) */
static PyObject *compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned long long one, many, single;
    int n_in;
    Py_ssize_t i, total;
    PyObject *shapes, *defaults, *singles;
    Compiled *self;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "KKKiO!O!O!", &one, &many, &single, &n_in, &PyTuple_Type, &shapes, &PyTuple_Type, &defaults,
                          &PyTuple_Type, &singles))
        return NULL;
    total = PyTuple_GET_SIZE(shapes);
    if (total > MOST || n_in > total || PyTuple_GET_SIZE(defaults) != n_in || PyTuple_GET_SIZE(singles) != n_in) {
        PyErr_SetString(PyExc_ValueError, "too many inputs and outputs");
        return NULL;
    }
    if (!(self = (Compiled *)type->tp_alloc(type, 0)))
        return NULL;
    self->one = (one_sample)(uintptr_t)one;
    self->many = (many_samples)(uintptr_t)many;
    self->single = (many_samples)(uintptr_t)single;
    self->n_in = n_in;
    self->n_out = (int)total - n_in;
    for (i = 0; i < total; ++i) {
        Argument *a = self->arguments + i;
        long rows, columns;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(shapes, i), "ill", &a->axes, &rows, &columns)) {
            Py_DECREF(self);
            return NULL;
        }
        a->shape[0] = rows;
        a->shape[1] = columns;
        a->size = rows * columns;
    }
    Py_INCREF(defaults);
    Py_INCREF(singles);
    self->defaults = defaults;
    self->singles = singles;
    return (PyObject *)self;
}

/* Data of an argument, and its number of samples: -1 without a leading axis. NULL: it is for Python to look at. */
static const double *data_of(PyObject *value, const Argument *a, npy_intp *count, int type)
{
    PyArrayObject *array = (PyArrayObject *)value;
    int nd, k, own;
    if (!PyArray_CheckExact(value) || PyArray_TYPE(array) != type || !PyArray_ISCARRAY_RO(array))
        return NULL;
    nd = PyArray_NDIM(array);
    own = a->axes;
    if (a->size == 1 && nd <= 1) {
        *count = nd == 0 || PyArray_DIM(array, 0) == 1 ? -1 : PyArray_DIM(array, 0);
        return PyArray_DATA(array);
    }
    if (a->size == 1 && own == 0)
        own = 1;
    if (nd != own && nd != own + 1)
        return NULL;
    for (k = 0; k < own; ++k)
        if (PyArray_DIM(array, nd - own + k) != a->shape[k])
            return NULL;
    *count = nd == own ? -1 : PyArray_DIM(array, 0);
    return PyArray_DATA(array);
}

static double *place_of(PyObject *value, const Argument *a, npy_intp count, int type)
{
    PyArrayObject *array = (PyArrayObject *)value;
    int k, nd = a->axes + (count >= 0);
    if (!PyArray_CheckExact(value) || PyArray_TYPE(array) != type || !PyArray_ISCARRAY(array)
        || PyArray_NDIM(array) != nd || (count >= 0 && PyArray_DIM(array, 0) != count))
        return NULL;
    for (k = 0; k < a->axes; ++k)
        if (PyArray_DIM(array, nd - a->axes + k) != a->shape[k])
            return NULL;
    return PyArray_DATA(array);
}

/* The result, or NULL: without an exception where the arguments are for Python to look at. */
static PyObject *run(Compiled *self, PyObject *const *args, Py_ssize_t nargs, PyObject *out)
{
    const double *in[MOST];
    double *places[MOST], numbers[MOST], scalars[MOST];
    long step[MOST];
    npy_intp count = -1;
    PyObject *made[MOST], *result;
    const int single = nargs && PyArray_CheckExact(args[0]) && PyArray_TYPE((PyArrayObject *)args[0]) == NPY_FLOAT;
    const int type = single ? NPY_FLOAT : NPY_DOUBLE;
    const many_samples many = single ? self->single : self->many;
    int i, failed;
    for (i = 0; i < self->n_in; ++i) {
        PyObject *value = i < nargs ? args[i] : PyTuple_GET_ITEM(single ? self->singles : self->defaults, i);
        npy_intp own = -1;
        const Argument *a = self->arguments + i;
        if (!single && a->size == 1 && PyFloat_CheckExact(value)) {
            numbers[i] = PyFloat_AS_DOUBLE(value);
            in[i] = numbers + i;
        } else if (!(in[i] = data_of(value, a, &own, type)))
            return NULL;
        step[i] = own < 0 ? 0 : (long)a->size;
        if (own >= 0 && count >= 0 && own != count)
            return NULL;
        count = own < 0 ? count : own;
    }
    if (count < 0 && !single ? !self->one : !many)
        return NULL;
    if (out && self->n_out > 1 && (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != self->n_out))
        return NULL;
    for (i = 0; i < self->n_out; ++i) {
        const Argument *a = self->arguments + self->n_in + i;
        made[i] = NULL;
        if (out) {
            PyObject *place = self->n_out > 1 ? PyTuple_GET_ITEM(out, i) : out;
            if (!(places[i] = place_of(place, a, count, type)))
                return NULL;
        } else if (!a->axes && count < 0 && !single)
            places[i] = scalars + i;
        else {
            npy_intp shape[3];
            int nd = 0, k;
            if (count >= 0)
                shape[nd++] = count;
            for (k = 0; k < a->axes; ++k)
                shape[nd++] = a->shape[k];
            if (!(made[i] = PyArray_SimpleNew(nd, shape, type))) {
                while (i--)
                    Py_XDECREF(made[i]);
                return NULL;
            }
            places[i] = PyArray_DATA((PyArrayObject *)made[i]);
        }
    }
    if (count < 0 && single) {
        failed = many(1, in, step, places);
        for (i = 0; i < self->n_out && !out; ++i)
            made[i] = PyArray_Return((PyArrayObject *)made[i]); /* numbers, of arrays without axes */
    } else if (count < 0) {
        failed = self->one(in, places);
        for (i = 0; i < self->n_out; ++i)
            if (places[i] == scalars + i)
                made[i] = PyFloat_FromDouble(scalars[i]);
    } else if (count < UNLOCKED_FROM)
        failed = many((long)count, in, step, places);
    else {
        Py_BEGIN_ALLOW_THREADS
        failed = many((long)count, in, step, places);
        Py_END_ALLOW_THREADS
    }
    if (out) {
        Py_INCREF(out);
        result = out;
    } else if (self->n_out == 1)
        result = made[0];
    else if ((result = PyTuple_New(self->n_out)))
        for (i = 0; i < self->n_out; ++i)
            PyTuple_SET_ITEM(result, i, made[i]);
    if (failed) {
        Py_XDECREF(result);
        PyErr_SetString(PyExc_RuntimeError, "the compiled function failed");
        return NULL;
    }
    return result;
}

/* Of arrays that Python has arranged already. */
static PyObject *compiled_call(PyObject *self, PyObject *args, PyObject *names)
{
    PyObject *out = names ? PyDict_GetItem(names, name_out) : NULL;
    PyObject *result = run((Compiled *)self, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args), out == Py_None ? NULL : out);
    if (!result && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "expected contiguous arrays of one precision and of the function's shapes");
    return result;
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
} Call;

static PyObject *call(PyObject *method, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *result = NULL, *compiled, *general;
    (void)method;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "a method of a function");
        return NULL;
    }
    if (!(compiled = PyObject_GetAttr(args[0], name_compiled)))
        return NULL;
    if (Py_TYPE(compiled) == &CompiledType && nargs - 1 <= ((Compiled *)compiled)->n_in
        && (!named || (named == 1 && PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), name_out) == 0)))
        result = run((Compiled *)compiled, args + 1, nargs - 1, named && args[nargs] != Py_None ? args[nargs] : NULL);
    Py_DECREF(compiled);
    if (result || PyErr_Occurred())
        return result;
    if (!(general = PyObject_GetAttr(args[0], name_general)))
        return NULL;
    result = PyObject_Vectorcall(general, args + 1, nargs - 1, names);
    Py_DECREF(general);
    return result;
}

static PyObject *call_get(PyObject *self, PyObject *instance, PyObject *type)
{
    (void)type;
    if (!instance || instance == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, instance);
}

static PyTypeObject CompiledType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "casid_bridge.Compiled",
    .tp_basicsize = sizeof(Compiled),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = compiled_new,
    .tp_dealloc = (destructor)compiled_dealloc,
    .tp_call = compiled_call,
};

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "casid_bridge.call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_descr_get = call_get,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "casid_bridge", .m_size = -1};

PyMODINIT_FUNC PyInit_casid_bridge(void)
{
    PyObject *made;
    Call *method;
    import_array();
    name_compiled = PyUnicode_InternFromString("_compiled");
    name_general = PyUnicode_InternFromString("_general");
    name_out = PyUnicode_InternFromString("out");
    if (PyType_Ready(&CompiledType) < 0 || PyType_Ready(&CallType) < 0 || !(made = PyModule_Create(&module)))
        return NULL;
    Py_INCREF(&CompiledType);
    if (!(method = PyObject_New(Call, &CallType)))
        return NULL;
    method->vectorcall = call;
    if (PyModule_AddObject(made, "Compiled", (PyObject *)&CompiledType) < 0
        || PyModule_AddObject(made, "call", (PyObject *)method) < 0)
        return NULL;
    return made;
}
