/* The functions of FMI 2.0 around the model. */
typedef int Boolean;
typedef struct {
    void (*log)(void *, Text, Status, Text, Text, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, Status);
    void *environment;
} Callbacks;
typedef struct {
    Boolean again, terminate, nominals, values, defined;
    double next;
} Event;

static void tell(void *environment, void *log, Text message)
{
    void (*call)(void *, Text, Status, Text, Text, ...);
    memcpy(&call, &log, sizeof call);
    call(environment, "robot", ERROR, "error", "%s", message);
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT Status fmi2SetDebugLogging(Instance i, Boolean on, size_t n, const Text categories[]) { return OK; }

EXPORT Instance fmi2Instantiate(
    Text name, int type, Text token, Text resources, const Callbacks *callbacks, Boolean visible, Boolean logging)
{
    Model *m;
    if (!token || strcmp(token, TOKEN) != 0) {
        if (callbacks && callbacks->log)
            callbacks->log(
                callbacks->environment, name, ERROR, "error", "%s", "the GUID is not the one of this model");
        return NULL;
    }
    m = calloc(1, sizeof *m);
    if (m) {
        if (callbacks) {
            m->environment = callbacks->environment;
            memcpy(&m->log, &callbacks->log, sizeof m->log);
        }
        m->tell = tell;
        start(m);
    }
    return m;
}

EXPORT void fmi2FreeInstance(Instance i) { free(i); }

EXPORT Status fmi2SetupExperiment(Instance i, Boolean has, double tolerance, double begin, Boolean ends, double end)
{
    ((Model *)i)->time = begin;
    return OK;
}

EXPORT Status fmi2ExitInitializationMode(Instance i)
{
    ((Model *)i)->ready = true;
    return OK;
}

EXPORT Status fmi2Reset(Instance i)
{
    start(i);
    return OK;
}

/* Modes that need nothing here. */
#define NOTHING(name) EXPORT Status name(Instance i) { return OK; }
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2Terminate)
NOTHING(fmi2EnterEventMode)
NOTHING(fmi2EnterContinuousTimeMode)

EXPORT Status fmi2GetReal(Instance i, const Reference refs[], size_t n, double values[])
{
    return get(i, refs, n, values);
}

EXPORT Status fmi2SetReal(Instance i, const Reference refs[], size_t n, const double values[])
{
    return set(i, refs, n, values);
}

/* Types of variables that the model does not have: asking for none of them is right, for any an error. */
#define NO_TYPE(name, type) \
    EXPORT Status fmi2Get##name(Instance i, const Reference r[], size_t n, type v[]) \
    { return n ? complain(i, "the model has no variable of this type") : OK; } \
    EXPORT Status fmi2Set##name(Instance i, const Reference r[], size_t n, const type v[]) \
    { return n ? complain(i, "the model has no variable of this type") : OK; }
NO_TYPE(Integer, int)
NO_TYPE(Boolean, Boolean)
NO_TYPE(String, Text)

EXPORT Status fmi2GetFMUstate(Instance i, void **state) { return get_copy(i, state); }

EXPORT Status fmi2SetFMUstate(Instance i, void *state)
{
    memcpy(i, state, sizeof(Model));
    return OK;
}

EXPORT Status fmi2FreeFMUstate(Instance i, void **state)
{
    free(*state);
    *state = NULL;
    return OK;
}

/* What the model description declares as not supported. */
#define CANNOT(name, ...) \
    EXPORT Status name(Instance i, __VA_ARGS__) { return complain(i, #name ": not offered by this model"); }
CANNOT(fmi2SerializedFMUstateSize, void *state, size_t *size)
CANNOT(fmi2SerializeFMUstate, void *state, char bytes[], size_t size)
CANNOT(fmi2DeSerializeFMUstate, const char bytes[], size_t size, void **state)
CANNOT(fmi2GetDirectionalDerivative, const Reference u[], size_t a, const Reference k[], size_t b, const double s[],
       double out[])
CANNOT(fmi2SetRealInputDerivatives, const Reference r[], size_t n, const int o[], const double v[])
CANNOT(fmi2GetRealOutputDerivatives, const Reference r[], size_t n, const int o[], double v[])
CANNOT(fmi2GetStatus, int kind, Status *value)
CANNOT(fmi2GetRealStatus, int kind, double *value)
CANNOT(fmi2GetIntegerStatus, int kind, int *value)
CANNOT(fmi2GetBooleanStatus, int kind, Boolean *value)
CANNOT(fmi2GetStringStatus, int kind, Text *value)

EXPORT Status fmi2CancelStep(Instance i) { return complain(i, "fmi2CancelStep: a step ends before it returns"); }

EXPORT Status fmi2NewDiscreteStates(Instance i, Event *event)
{
    memset(event, 0, sizeof *event);
    return OK;
}

EXPORT Status fmi2CompletedIntegratorStep(Instance i, Boolean kept, Boolean *event, Boolean *terminate)
{
    *event = *terminate = 0;
    return OK;
}

EXPORT Status fmi2SetTime(Instance i, double time)
{
    ((Model *)i)->time = time;
    return OK;
}

EXPORT Status fmi2SetContinuousStates(Instance i, const double states[], size_t n) { return set_states(i, states, n); }
EXPORT Status fmi2GetContinuousStates(Instance i, double states[], size_t n) { return get_states(i, states, n); }
EXPORT Status fmi2GetDerivatives(Instance i, double rates[], size_t n) { return get_rates(i, rates, n); }
EXPORT Status fmi2GetEventIndicators(Instance i, double indicators[], size_t n) { return OK; }

EXPORT Status fmi2GetNominalsOfContinuousStates(Instance i, double nominals[], size_t n)
{
    for (size_t k = 0; k < n; ++k)
        nominals[k] = 1.0;
    return OK;
}

EXPORT Status fmi2DoStep(Instance i, double now, double size, Boolean kept) { return step(i, now, size); }
