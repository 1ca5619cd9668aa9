/*
 * Computed-torque control of an exported robot against its exported forward dynamics, at 1 kHz.
 *
 *     tau = inverse_dynamics(q, dq, ddq_d + kd (dq_d - dq) + kp (q_d - q))
 *
 * The controller's model is CONTROLLER_..., the simulated robot PLANT_...: two exports, so that the plant can carry a
 * payload that the controller does not know. Joints follow q_d(t) = a (1 - cos(w t)) with different amplitudes and
 * frequencies. Prints the worst and the mean time of a control cycle and the largest tracking error; exits with 1 if the
 * error is above the limit given on the command line.
 *
 *     computed_torque SECONDS LARGEST_ERROR
 *
 * The loop allocates nothing and calls nothing but the exported functions and the clock.
 */
#define _POSIX_C_SOURCE 200809L

#include "controller.h"
#include "plant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef JOINTS
#error "compile with -DJOINTS=<number of joints>"
#endif

static const double PERIOD = 1e-3; /* s */
static const double STIFFNESS = 400.0, DAMPING = 40.0; /* 1/s^2, 1/s: critically damped at 20 rad/s */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void desired(double t, double q[JOINTS], double dq[JOINTS], double ddq[JOINTS])
{
    int k;
    for (k = 0; k < JOINTS; ++k) {
        const double a = 0.3 + 0.02 * k, w = 2.0 + 0.25 * k;
        q[k] = a * (1.0 - cos(w * t));
        dq[k] = a * w * sin(w * t);
        ddq[k] = a * w * w * cos(w * t);
    }
}

/* Acceleration of the plant; one step of the classical fourth-order Runge-Kutta method. */
static void simulate(double q[JOINTS], double dq[JOINTS], const double tau[JOINTS])
{
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    double rate[JOINTS] = {0.0}, acceleration[JOINTS] = {0.0}, dq_sum[JOINTS] = {0.0}, ddq_sum[JOINTS] = {0.0};
    int stage, k;
    for (stage = 0; stage < 4; ++stage) {
        double qs[JOINTS], dqs[JOINTS];
        for (k = 0; k < JOINTS; ++k) {
            qs[k] = q[k] + part[stage] * PERIOD * rate[k];
            dqs[k] = dq[k] + part[stage] * PERIOD * acceleration[k];
        }
        plant_forward_dynamics(qs, dqs, tau, acceleration);
        for (k = 0; k < JOINTS; ++k) {
            rate[k] = dqs[k];
            dq_sum[k] += weight[stage] * dqs[k];
            ddq_sum[k] += weight[stage] * acceleration[k];
        }
    }
    for (k = 0; k < JOINTS; ++k) {
        q[k] += PERIOD * dq_sum[k];
        dq[k] += PERIOD * ddq_sum[k];
    }
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 5.0, limit = argc > 2 ? atof(argv[2]) : 1.0;
    const long cycles = (long)(seconds / PERIOD + 0.5);
    double q[JOINTS] = {0.0}, dq[JOINTS] = {0.0}, tau[JOINTS] = {0.0};
    double worst = 0.0, total = 0.0, error = 0.0;
    long cycle;
    int k;
    for (cycle = 0; cycle < cycles; ++cycle) {
        double q_d[JOINTS], dq_d[JOINTS], ddq_d[JOINTS], command[JOINTS], begin, elapsed;
        desired((double)cycle * PERIOD, q_d, dq_d, ddq_d);
        begin = now_ns();
        for (k = 0; k < JOINTS; ++k)
            command[k] = ddq_d[k] + DAMPING * (dq_d[k] - dq[k]) + STIFFNESS * (q_d[k] - q[k]);
        controller_inverse_dynamics(q, dq, command, tau);
        elapsed = now_ns() - begin;
        total += elapsed;
        if (elapsed > worst)
            worst = elapsed;
        for (k = 0; k < JOINTS; ++k)
            if (!(fabs(q_d[k] - q[k]) <= error))
                error = fabs(q_d[k] - q[k]);
        simulate(q, dq, tau);
    }
    printf("cycles %ld at 1 kHz, control cycle: worst %.2f us, mean %.3f us (of 1000 us), largest error %.3e rad\n", cycles,
           1e-3 * worst, 1e-3 * total / (double)cycles, error);
    return error <= limit ? 0 : 1;
}
