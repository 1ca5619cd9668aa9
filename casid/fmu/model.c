/* A robot's forward dynamics as a model of FMI 2 and 3: states q and dq, inputs tau. Written by casid.
 *
 * Value references: 0 time; then blocks of N: q, dq, tau, ddq (= der(dq)), der(q); last the step of co-simulation.
 * Co-simulation integrates with classical Runge-Kutta in equal steps no longer than that step, inputs held.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32 || defined __CYGWIN__
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *Instance;
typedef uint32_t Reference;
typedef const char *Text;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;

enum { TIME = 0, Q = 1, DQ = 1 + N, TAU = 1 + 2 * N, DDQ = 1 + 3 * N, RATE = 1 + 4 * N, STEP = 1 + 5 * N };

typedef struct {
    double time, step, state[2 * N], tau[N];
    bool ready;
    void *environment, *log; /* of the importing tool; a pointer to its function */
    void (*tell)(void *environment, void *log, Text message);
} Model;

static Status complain(const Model *m, Text message)
{
    if (m->log)
        m->tell(m->environment, m->log, message);
    return ERROR;
}

static void start(Model *m)
{
    static const double rest[N] = REST;
    m->time = 0.0;
    m->step = DEFAULT_STEP;
    memcpy(m->state, rest, sizeof rest);
    memset(m->state + N, 0, N * sizeof(double));
    memset(m->tau, 0, sizeof m->tau);
    m->ready = false;
}

static void slope(const double *state, const double *tau, double *rate)
{
    memcpy(rate, state + N, N * sizeof(double));
    FORWARD_DYNAMICS(state, state + N, tau, rate + N);
}

static void advance(Model *m, double h)
{
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double k[2 * N] = {0.0}, at[2 * N], sum[2 * N] = {0.0};
    for (int s = 0; s < 4; ++s) {
        for (int i = 0; i < 2 * N; ++i)
            at[i] = m->state[i] + part[s] * h * k[i];
        slope(at, m->tau, k);
        for (int i = 0; i < 2 * N; ++i)
            sum[i] += weight[s] * k[i];
    }
    for (int i = 0; i < 2 * N; ++i)
        m->state[i] += h * sum[i];
}

static Status get(Model *m, const Reference refs[], size_t n, double values[])
{
    double rate[2 * N];
    bool known = false;
    for (size_t k = 0; k < n; ++k) {
        const Reference r = refs[k];
        if (r >= DDQ && r < STEP && !known) {
            slope(m->state, m->tau, rate);
            known = true;
        }
        if (r == TIME)
            values[k] = m->time;
        else if (r < TAU)
            values[k] = m->state[r - Q];
        else if (r < DDQ)
            values[k] = m->tau[r - TAU];
        else if (r < RATE)
            values[k] = rate[N + r - DDQ];
        else if (r < STEP)
            values[k] = rate[r - RATE];
        else if (r == STEP)
            values[k] = m->step;
        else
            return complain(m, "there is no variable with this value reference");
    }
    return OK;
}

static Status set(Model *m, const Reference refs[], size_t n, const double values[])
{
    for (size_t k = 0; k < n; ++k) {
        const Reference r = refs[k];
        if (!isfinite(values[k]))
            return complain(m, "a value is not finite");
        if (r >= Q && r < TAU && !m->ready)
            m->state[r - Q] = values[k];
        else if (r >= TAU && r < DDQ)
            m->tau[r - TAU] = values[k];
        else if (r == STEP && values[k] > 0.0)
            m->step = values[k];
        else
            return complain(m, "this variable cannot be set now, or not to this value");
    }
    return OK;
}

static Status step(Model *m, double now, double size)
{
    const double count = ceil(size / m->step * (1.0 - 1e-9));
    if (!(size >= 0.0) || !isfinite(count))
        return complain(m, "the communication step is no length of time");
    for (double k = 0; k < count; ++k)
        advance(m, size / count);
    for (int k = 0; k < 2 * N; ++k)
        if (!isfinite(m->state[k]))
            return complain(m, "the motion diverged: a shorter step may help");
    m->time = now + size;
    return OK;
}

static Status get_copy(const Model *m, void **state)
{
    if (!*state)
        *state = malloc(sizeof(Model));
    if (!*state)
        return complain(m, "no memory for a copy of the state");
    memcpy(*state, m, sizeof(Model));
    return OK;
}

static Status set_states(Model *m, const double states[], size_t n)
{
    if (n != 2 * N)
        return complain(m, "wrong number of continuous states");
    memcpy(m->state, states, sizeof m->state);
    return OK;
}

static Status get_states(const Model *m, double states[], size_t n)
{
    if (n != 2 * N)
        return complain(m, "wrong number of continuous states");
    memcpy(states, m->state, sizeof m->state);
    return OK;
}

static Status get_rates(const Model *m, double rates[], size_t n)
{
    if (n != 2 * N)
        return complain(m, "wrong number of continuous states");
    slope(m->state, m->tau, rates);
    return OK;
}

#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

