// Times Pinocchio's algorithms and casid's generated functions in one process, on the same robot, states and parameters.
//
//   dynamics_race ROBOT STATES REPEATS
//
// ROBOT: text, see read_robot. STATES: a multiple of 8. Prints one line a function: name, median and minimum time of one
// evaluation [ns], and the largest deviation from Pinocchio relative to the largest entry. Every state differs and every result is summed.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

extern "C" {
int casid_inverse_dynamics(const double *, const double *, const double *, const double *, double *);
int casid_inverse_dynamics_numeric(const double *, const double *, const double *, double *);
int casid_regressor(const double *, const double *, const double *, double *);
int casid_regressor_block(const double *, const double *, const double *, double *);
int casid_regressor_batch(long, const double *, long, const double *, long, const double *, long, double *);
int casid_mass_matrix(const double *, double *);
int casid_forward_dynamics(const double *, const double *, const double *, double *);
int casid_inverse_dynamics_derivatives(const double *, const double *, const double *, double *, double *, double *);
// Absent where its code is too large to compile: robots of many joints.
__attribute__((weak)) int casid_forward_dynamics_derivatives(const double *, const double *, const double *, double *,
                                                             double *, double *);
}

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
namespace pin = pinocchio;

// n, gravity; a line a joint: parent, type and axis letter (rx ry rz px py pz, or r u / p u), axis, placement (R by rows,
// p), mass, com, inertia about it (xx xy xz yy yz zz). Then the 10 n standard
// parameters of casid and the matrix, 10 n x 10 n, that turns them into Pinocchio's.
static pin::Model read_robot(std::istream &file, VectorXd &parameters, MatrixXd &to_pinocchio)
{
    pin::Model model;
    int n, count;
    Eigen::Vector3d gravity;
    file >> n >> gravity[0] >> gravity[1] >> gravity[2];
    model.gravity.linear() = gravity;
    for (int k = 0; k < n; ++k) {
        int parent;
        std::string type;
        Eigen::Vector3d axis, p, c;
        Eigen::Matrix3d R;
        double m, I[6];
        file >> parent >> type >> axis[0] >> axis[1] >> axis[2];
        for (int i = 0; i < 9; ++i) file >> R(i / 3, i % 3);
        file >> p[0] >> p[1] >> p[2] >> m >> c[0] >> c[1] >> c[2];
        for (double &value : I) file >> value;
        const pin::SE3 placement(R, p);
        const std::string name = "joint" + std::to_string(k + 1);
        pin::JointIndex id;
        if (type == "rx") id = model.addJoint(parent + 1, pin::JointModelRX(), placement, name);
        else if (type == "ry") id = model.addJoint(parent + 1, pin::JointModelRY(), placement, name);
        else if (type == "rz") id = model.addJoint(parent + 1, pin::JointModelRZ(), placement, name);
        else if (type == "px") id = model.addJoint(parent + 1, pin::JointModelPX(), placement, name);
        else if (type == "py") id = model.addJoint(parent + 1, pin::JointModelPY(), placement, name);
        else if (type == "pz") id = model.addJoint(parent + 1, pin::JointModelPZ(), placement, name);
        else if (type == "ru") id = model.addJoint(parent + 1, pin::JointModelRevoluteUnaligned(axis), placement, name);
        else id = model.addJoint(parent + 1, pin::JointModelPrismaticUnaligned(axis), placement, name);
        Eigen::Matrix3d inertia;
        inertia << I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5];
        model.appendBodyToJoint(id, pin::Inertia(m, c, inertia), pin::SE3::Identity());
    }
    file >> count;
    parameters.resize(count);
    for (int i = 0; i < count; ++i) file >> parameters[i];
    to_pinocchio.resize(10 * n, 10 * n);
    for (int i = 0; i < 100 * n * n; ++i) file >> to_pinocchio(i / (10 * n), i % (10 * n));
    return model;
}

struct Contender {
    std::string name;
    std::function<double()> run;  // all states once; a number that depends on every result
    double error;
    std::vector<double> times;
};

static double relative_error(const MatrixXd &value, const MatrixXd &expected)
{
    return (value - expected).cwiseAbs().maxCoeff() / std::max(expected.cwiseAbs().maxCoeff(), 1e-9);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    std::ifstream file(argv[1]);
    VectorXd pi;
    MatrixXd T;
    pin::Model model = read_robot(file, pi, T);
    pin::Data data(model);
    const int n = model.nv, states = std::atoi(argv[2]), repeats = std::atoi(argv[3]);
    MatrixXd q(n, states), dq(n, states), ddq(n, states), tau(n, states);
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (int s = 0; s < states; ++s)
        for (int k = 0; k < n; ++k) {
            q(k, s) = 3.0 * uniform(generator);
            dq(k, s) = 2.0 * uniform(generator);
            ddq(k, s) = 5.0 * uniform(generator);
        }
    const MatrixXd zero = MatrixXd::Zero(n, n);
    double worst_id = 0, worst_numeric = 0, worst_Y = 0, worst_block = 0, worst_batch = 0, worst_M = 0, worst_fd = 0,
           worst_did = 0, worst_dfd = 0;
    RowMatrix Y(n, 10 * n), M(n, n), D1(n, n), D2(n, n), D3(n, n);
    const int size = n * 10 * n, blocks = states / 8;
    std::vector<double> batch(states * size);
    const auto aligned = [](int count) { return static_cast<double *>(std::aligned_alloc(64, sizeof(double) * count)); };
    double *const bq = aligned(8 * n * blocks), *const bdq = aligned(8 * n * blocks), *const bddq = aligned(8 * n * blocks),
                  *const bY = aligned(8 * size * blocks);
    std::fill(bY, bY + 8 * size * blocks, 0.0);
    for (int s = 0; s < 8 * blocks; ++s)
        for (int k = 0; k < n; ++k) {
            const int at = (s / 8 * n + k) * 8 + s % 8;
            bq[at] = q(k, s);
            bdq[at] = dq(k, s);
            bddq[at] = ddq(k, s);
        }
    const auto run_block = [&](int b, double *result) {
        casid_regressor_block(bq + 8 * n * b, bdq + 8 * n * b, bddq + 8 * n * b, result);
    };
    // Like the functions of one sample, which all write to one Y: the results are used before the next ones come.
    const auto run_blocks = [&] {
        double sum = 0;
        for (int b = 0; b < blocks; ++b) {
            run_block(b, bY);
            sum += bY[8 * 5];
        }
        return sum;
    };
    const auto run_batch = [&] {
        casid_regressor_batch(states, q.data(), n, dq.data(), n, ddq.data(), n, batch.data());
        return batch[5];
    };
    for (int b = 0; b < blocks; ++b) run_block(b, bY + 8 * size * b);
    run_batch();
    const auto mirrored = [](const MatrixXd &upper) {
        return MatrixXd(upper.selfadjointView<Eigen::Upper>());
    };
    MatrixXd A(zero), B(zero), C(zero);
    VectorXd out(n);
    for (int s = 0; s < states; ++s) {
        const VectorXd qs = q.col(s), vs = dq.col(s), as = ddq.col(s);
        const VectorXd torque = pin::rnea(model, data, qs, vs, as);
        casid_inverse_dynamics(qs.data(), vs.data(), as.data(), pi.data(), out.data());
        worst_id = std::max(worst_id, relative_error(out, torque));
        casid_inverse_dynamics_numeric(qs.data(), vs.data(), as.data(), out.data());
        worst_numeric = std::max(worst_numeric, relative_error(out, torque));
        const MatrixXd regressor = pin::computeJointTorqueRegressor(model, data, qs, vs, as) * T;
        casid_regressor(qs.data(), vs.data(), as.data(), Y.data());
        worst_Y = std::max(worst_Y, relative_error(Y, regressor));
        worst_batch = std::max(worst_batch, relative_error(Eigen::Map<RowMatrix>(&batch[s * size], n, 10 * n), regressor));
        if (s < 8 * blocks) {
            for (int e = 0; e < size; ++e) Y.data()[e] = bY[(s / 8 * size + e) * 8 + s % 8];
            worst_block = std::max(worst_block, relative_error(Y, regressor));
        }
        pin::crba(model, data, qs, pin::Convention::WORLD);
        casid_mass_matrix(qs.data(), M.data());
        worst_M = std::max(worst_M, relative_error(M, mirrored(data.M)));
        const VectorXd acceleration = pin::aba(model, data, qs, vs, torque);
        casid_forward_dynamics(qs.data(), vs.data(), torque.data(), out.data());
        worst_fd = std::max(worst_fd, relative_error(out, acceleration));
        A = B = C = zero;
        pin::computeRNEADerivatives(model, data, qs, vs, as, A, B, C);
        casid_inverse_dynamics_derivatives(qs.data(), vs.data(), as.data(), D1.data(), D2.data(), D3.data());
        worst_did = std::max({worst_did, relative_error(D1, A), relative_error(D2, B), relative_error(D3, mirrored(C))});
        if (!casid_forward_dynamics_derivatives) continue;
        A = B = C = zero;
        pin::computeABADerivatives(model, data, qs, vs, torque, A, B, C);
        casid_forward_dynamics_derivatives(qs.data(), vs.data(), torque.data(), D1.data(), D2.data(), D3.data());
        worst_dfd = std::max({worst_dfd, relative_error(D1, A), relative_error(D2, B), relative_error(D3, mirrored(C))});
    }

    VectorXd qs(n), vs(n), as(n);
    const auto each = [&](auto &&evaluate) {
        return [&, evaluate] {
            double sum = 0;
            for (int s = 0; s < states; ++s) {
                qs = q.col(s);
                vs = dq.col(s);
                as = ddq.col(s);
                sum += evaluate();
            }
            return sum;
        };
    };
    std::vector<Contender> contenders;
    const auto add = [&](const char *name, std::function<double()> run, double error) {
        contenders.push_back({name, run, error, {}});
    };
    add("pinocchio rnea", each([&] { return pin::rnea(model, data, qs, vs, as)[0]; }), 0);
    add("inverse_dynamics", each([&] {
            casid_inverse_dynamics(qs.data(), vs.data(), as.data(), pi.data(), out.data());
            return out[0];
        }), worst_id);
    add("inverse_dynamics_numeric", each([&] {
            casid_inverse_dynamics_numeric(qs.data(), vs.data(), as.data(), out.data());
            return out[0];
        }), worst_numeric);
    add("pinocchio computeJointTorqueRegressor",
        each([&] { return pin::computeJointTorqueRegressor(model, data, qs, vs, as)(0, 0); }), 0);
    add("regressor", each([&] {
            casid_regressor(qs.data(), vs.data(), as.data(), Y.data());
            return Y(0, 5);
        }), worst_Y);
    add("regressor_block", run_blocks, worst_block);
    add("regressor_batch", run_batch, worst_batch);
    add("pinocchio crba", each([&] { return pin::crba(model, data, qs, pin::Convention::WORLD)(0, 0); }), 0);
    add("pinocchio crba local", each([&] { return pin::crba(model, data, qs, pin::Convention::LOCAL)(0, 0); }), 0);
    add("mass_matrix", each([&] {
            casid_mass_matrix(qs.data(), M.data());
            return M(0, 0);
        }), worst_M);
    add("pinocchio aba", each([&] { return pin::aba(model, data, qs, vs, as, pin::Convention::WORLD)[0]; }), 0);
    add("pinocchio aba local", each([&] { return pin::aba(model, data, qs, vs, as, pin::Convention::LOCAL)[0]; }), 0);
    add("forward_dynamics", each([&] {
            casid_forward_dynamics(qs.data(), vs.data(), as.data(), out.data());
            return out[0];
        }), worst_fd);
    add("pinocchio computeRNEADerivatives", each([&] {
            pin::computeRNEADerivatives(model, data, qs, vs, as, A, B, C);
            return A(0, 1);
        }), 0);
    add("inverse_dynamics_derivatives", each([&] {
            casid_inverse_dynamics_derivatives(qs.data(), vs.data(), as.data(), D1.data(), D2.data(), D3.data());
            return D1(0, 1);
        }), worst_did);
    if (casid_forward_dynamics_derivatives) add("pinocchio computeABADerivatives", each([&] {
            pin::computeABADerivatives(model, data, qs, vs, as, A, B, C);
            return A(0, 1);
        }), 0);
    if (casid_forward_dynamics_derivatives) add("forward_dynamics_derivatives", each([&] {
            casid_forward_dynamics_derivatives(qs.data(), vs.data(), as.data(), D1.data(), D2.data(), D3.data());
            return D1(0, 1);
        }), worst_dfd);

    volatile double sink = 0;
    for (int repeat = -20; repeat < repeats; ++repeat)
        for (Contender &contender : contenders) {
            // No run repeats the one before.
            q(0, 0) += 1e-9;
            bq[0] += 1e-9;
            const auto start = std::chrono::steady_clock::now();
            sink = sink + contender.run();
            const auto stop = std::chrono::steady_clock::now();
            if (repeat >= 0)
                contender.times.push_back(std::chrono::duration<double, std::nano>(stop - start).count() / states);
        }
    for (Contender &contender : contenders) {
        std::sort(contender.times.begin(), contender.times.end());
        std::printf("%s,%.3f,%.3f,%.3e\n", contender.name.c_str(), contender.times[contender.times.size() / 2],
                    contender.times.front(), contender.error);
    }
    return 0;
}
