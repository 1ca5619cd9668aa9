// The exported functions inside a callback with the signature that libfranka expects of a torque controller:
//
//     franka::Torques callback(const franka::RobotState &, franka::Duration)
//
// The three types below stand in for libfranka's, with the members used here; on the robot, include <franka/robot.h>,
// leave them out and pass the same callback to robot.control(...). libfranka's controllers compensate gravity themselves,
// so that the command is the torque without gravity.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "controller.h"
#include "plant.h"

namespace franka {
struct RobotState {
    std::array<double, 7> q{}, dq{};
};
struct Duration {
    double seconds;
    double toSec() const { return seconds; }
};
struct Torques {
    std::array<double, 7> tau_J;
    bool motion_finished = false;
};
}  // namespace franka

int main()
{
    double time = 0.0, largest = 0.0;
    const auto callback = [&](const franka::RobotState &state, franka::Duration period) -> franka::Torques {
        time += period.toSec();
        std::array<double, 7> acceleration, torque, gravity;
        for (int k = 0; k < 7; ++k) {
            const double a = 0.2, w = 2.0;
            const double q_d = a * (1 - std::cos(w * time)), dq_d = a * w * std::sin(w * time);
            acceleration[k] = a * w * w * std::cos(w * time) + 40.0 * (dq_d - state.dq[k]) + 400.0 * (q_d - state.q[k]);
            largest = std::max(largest, std::fabs(q_d - state.q[k]));
        }
        controller_inverse_dynamics(state.q.data(), state.dq.data(), acceleration.data(), torque.data());
        controller_gravity(state.q.data(), gravity.data());
        franka::Torques command{};
        for (int k = 0; k < 7; ++k) command.tau_J[k] = torque[k] - gravity[k];
        command.motion_finished = time >= 3.0;
        return command;
    };

    // In place of robot.control(callback): a simulated arm that compensates gravity, as the real one does.
    franka::RobotState state;
    const double period = 1e-3;
    for (bool finished = false; !finished;) {
        const franka::Torques command = callback(state, franka::Duration{period});
        finished = command.motion_finished;
        std::array<double, 7> total, gravity, acceleration;
        plant_gravity(state.q.data(), gravity.data());
        for (int k = 0; k < 7; ++k) total[k] = command.tau_J[k] + gravity[k];
        plant_forward_dynamics(state.q.data(), state.dq.data(), total.data(), acceleration.data());
        for (int k = 0; k < 7; ++k) {
            state.dq[k] += period * acceleration[k];
            state.q[k] += period * state.dq[k];
        }
    }
    std::printf("libfranka-style callback: %.1f s, largest error %.3e rad\n", time, largest);
    return largest < 0.02 ? 0 : 1;
}
