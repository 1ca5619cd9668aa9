/* The functions of FMI 3.0 around the model. */
typedef void *Environment;
typedef void (*Log)(Environment, Status, Text, Text);
typedef void (*Update)(Environment, double, bool, bool, bool, bool, bool *, double *);

static void tell(void *environment, void *log, Text message)
{
    Log call;
    memcpy(&call, &log, sizeof call);
    call(environment, ERROR, "error", message);
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT Status fmi3SetDebugLogging(Instance i, bool on, size_t n, const Text categories[])
{
    (void)i, (void)on, (void)n, (void)categories;
    return OK;
}

static Instance make(Text token, Environment environment, Log log)
{
    Model *m;
    if (!token || strcmp(token, TOKEN) != 0) {
        if (log)
            log(environment, ERROR, "error", "the instantiation token is not the one of this model");
        return NULL;
    }
    m = calloc(1, sizeof *m);
    if (m) {
        m->environment = environment;
        memcpy(&m->log, &log, sizeof log);
        m->tell = tell;
        start(m);
    }
    return m;
}

EXPORT Instance fmi3InstantiateModelExchange(
    Text name, Text token, Text resources, bool visible, bool logging, Environment environment, Log log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    return make(token, environment, log);
}

EXPORT Instance fmi3InstantiateCoSimulation(
    Text name, Text token, Text resources, bool visible, bool logging, bool events, bool early,
    const Reference intermediate[], size_t n, Environment environment, Log log, Update update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate;
    (void)n, (void)update;
    return make(token, environment, log);
}

EXPORT Instance fmi3InstantiateScheduledExecution(
    Text name, Text token, Text resources, bool visible, bool logging, Environment environment, Log log,
    void (*clock)(Environment), void (*lock)(void), void (*unlock)(void))
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log, (void)clock;
    (void)lock, (void)unlock;
    return NULL; /* not offered */
}

EXPORT void fmi3FreeInstance(Instance i) { free(i); }

EXPORT Status fmi3EnterInitializationMode(Instance i, bool has, double tolerance, double begin, bool ends, double end)
{
    (void)has, (void)tolerance, (void)ends, (void)end;
    ((Model *)i)->time = begin;
    return OK;
}

EXPORT Status fmi3ExitInitializationMode(Instance i)
{
    ((Model *)i)->ready = true;
    return OK;
}

EXPORT Status fmi3Reset(Instance i)
{
    start(i);
    return OK;
}

/* Modes that need nothing here. */
#define NOTHING(name) EXPORT Status name(Instance i) { (void)i; return OK; }
NOTHING(fmi3EnterEventMode)
NOTHING(fmi3Terminate)
NOTHING(fmi3EnterConfigurationMode)
NOTHING(fmi3ExitConfigurationMode)
NOTHING(fmi3EnterContinuousTimeMode)
NOTHING(fmi3EnterStepMode)
NOTHING(fmi3EvaluateDiscreteStates)

EXPORT Status fmi3GetFloat64(Instance i, const Reference refs[], size_t n, double values[], size_t size)
{
    return n == size ? get(i, refs, n, values) : complain(i, "every variable is one number: as many values as references");
}

EXPORT Status fmi3SetFloat64(Instance i, const Reference refs[], size_t n, const double values[], size_t size)
{
    return n == size ? set(i, refs, n, values) : complain(i, "every variable is one number: as many values as references");
}

/* Types of variables that the model does not have: asking for none of them is right, for any an error. */
#define NO_TYPE(name, type) \
    EXPORT Status fmi3Get##name(Instance i, const Reference r[], size_t n, type v[], size_t s) \
    { (void)r, (void)v, (void)s; return n ? complain(i, "the model has no variable of this type") : OK; } \
    EXPORT Status fmi3Set##name(Instance i, const Reference r[], size_t n, const type v[], size_t s) \
    { (void)r, (void)v, (void)s; return n ? complain(i, "the model has no variable of this type") : OK; }
NO_TYPE(Float32, float)
NO_TYPE(Int8, int8_t)
NO_TYPE(UInt8, uint8_t)
NO_TYPE(Int16, int16_t)
NO_TYPE(UInt16, uint16_t)
NO_TYPE(Int32, int32_t)
NO_TYPE(UInt32, uint32_t)
NO_TYPE(Int64, int64_t)
NO_TYPE(UInt64, uint64_t)
NO_TYPE(Boolean, bool)
NO_TYPE(String, Text)

/* What the model description declares as not supported. */
#define CANNOT(name, ...) \
    EXPORT Status name(Instance i, __VA_ARGS__) { return complain(i, #name ": not offered by this model"); }
CANNOT(fmi3GetBinary, const Reference r[], size_t n, size_t s[], const uint8_t *v[], size_t m)
CANNOT(fmi3SetBinary, const Reference r[], size_t n, const size_t s[], const uint8_t *const v[], size_t m)
CANNOT(fmi3GetClock, const Reference r[], size_t n, bool v[])
CANNOT(fmi3SetClock, const Reference r[], size_t n, const bool v[])
CANNOT(fmi3GetNumberOfVariableDependencies, Reference r, size_t *n)
CANNOT(fmi3GetVariableDependencies, Reference r, size_t e[], Reference s[], size_t f[], int k[], size_t n)
CANNOT(fmi3SerializedFMUStateSize, void *state, size_t *size)
CANNOT(fmi3SerializeFMUState, void *state, uint8_t bytes[], size_t size)
CANNOT(fmi3DeserializeFMUState, const uint8_t bytes[], size_t size, void **state)
CANNOT(fmi3GetDirectionalDerivative, const Reference u[], size_t a, const Reference k[], size_t b, const double s[],
       size_t c, double out[], size_t d)
CANNOT(fmi3GetAdjointDerivative, const Reference u[], size_t a, const Reference k[], size_t b, const double s[],
       size_t c, double out[], size_t d)
CANNOT(fmi3GetIntervalDecimal, const Reference r[], size_t n, double v[], int q[])
CANNOT(fmi3GetIntervalFraction, const Reference r[], size_t n, uint64_t c[], uint64_t s[], int q[])
CANNOT(fmi3GetShiftDecimal, const Reference r[], size_t n, double v[])
CANNOT(fmi3GetShiftFraction, const Reference r[], size_t n, uint64_t c[], uint64_t s[])
CANNOT(fmi3SetIntervalDecimal, const Reference r[], size_t n, const double v[])
CANNOT(fmi3SetIntervalFraction, const Reference r[], size_t n, const uint64_t c[], const uint64_t s[])
CANNOT(fmi3SetShiftDecimal, const Reference r[], size_t n, const double v[])
CANNOT(fmi3SetShiftFraction, const Reference r[], size_t n, const uint64_t c[], const uint64_t s[])
CANNOT(fmi3GetOutputDerivatives, const Reference r[], size_t n, const int32_t o[], double v[], size_t m)
CANNOT(fmi3ActivateModelPartition, Reference clock, double time)

EXPORT Status fmi3GetFMUState(Instance i, void **state) { return get_copy(i, state); }

EXPORT Status fmi3SetFMUState(Instance i, void *state)
{
    memcpy(i, state, sizeof(Model));
    return OK;
}

EXPORT Status fmi3FreeFMUState(Instance i, void **state)
{
    (void)i;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT Status fmi3UpdateDiscreteStates(
    Instance i, bool *again, bool *terminate, bool *nominals, bool *values, bool *defined, double *next)
{
    (void)i, (void)next;
    *again = *terminate = *nominals = *values = *defined = false;
    return OK;
}

EXPORT Status fmi3CompletedIntegratorStep(Instance i, bool kept, bool *event, bool *terminate)
{
    (void)i, (void)kept;
    *event = *terminate = false;
    return OK;
}

EXPORT Status fmi3SetTime(Instance i, double time)
{
    ((Model *)i)->time = time;
    return OK;
}

EXPORT Status fmi3SetContinuousStates(Instance i, const double states[], size_t n) { return set_states(i, states, n); }

EXPORT Status fmi3GetContinuousStates(Instance i, double states[], size_t n) { return get_states(i, states, n); }

EXPORT Status fmi3GetContinuousStateDerivatives(Instance i, double rates[], size_t n) { return get_rates(i, rates, n); }

EXPORT Status fmi3GetNominalsOfContinuousStates(Instance i, double nominals[], size_t n)
{
    (void)i;
    for (size_t k = 0; k < n; ++k)
        nominals[k] = 1.0;
    return OK;
}

EXPORT Status fmi3GetEventIndicators(Instance i, double indicators[], size_t n)
{
    (void)i, (void)indicators, (void)n;
    return OK;
}

EXPORT Status fmi3GetNumberOfEventIndicators(Instance i, size_t *n)
{
    (void)i;
    *n = 0;
    return OK;
}

EXPORT Status fmi3GetNumberOfContinuousStates(Instance i, size_t *n)
{
    (void)i;
    *n = 2 * N;
    return OK;
}

EXPORT Status fmi3DoStep(
    Instance i, double now, double size, bool kept, bool *event, bool *terminate, bool *early, double *last)
{
    const Status done = step(i, now, size);
    *event = *terminate = *early = false;
    *last = done == OK ? now + size : now;
    return done;
}
