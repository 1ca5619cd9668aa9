// Written by casid @version@: every part of the equation of motion from the core's two functions, without allocation.
#pragma once

#include "@core@.h"

namespace @package@
{

constexpr int kCoordinates = @n@;
constexpr double kOnes[1] = {1.0}, kNone[kCoordinates] = {};

/// Gravity torques g(q).
inline void gravity(const double * q, double * g) {@core@_rigid_torques(q, kNone, kNone, kOnes, g);}

/// Coriolis and centrifugal torques C(q, dq) dq.
inline void coriolis(const double * q, const double * dq, double * c)
{
  @core@_rigid_torques(q, dq, kNone, kNone, c);
}

/// Mass matrix M(q), symmetric: column k is the torque of the unit acceleration k.
inline void mass_matrix(const double * q, double * M)
{
  for (int k = 0; k < kCoordinates; ++k) {
    double unit[kCoordinates] = {}, column[kCoordinates];
    unit[k] = 1.0;
    @core@_rigid_torques(q, kNone, unit, kNone, column);
    for (int i = 0; i <= k; ++i) {
      M[kCoordinates * i + k] = M[kCoordinates * k + i] = column[i];
    }
  }
}

/// M(q) ddq + C(q, dq) dq + g(q) + friction, in one pass of Newton-Euler.
inline void inverse_dynamics(const double * q, const double * dq, const double * ddq, double * tau)
{
  double friction[kCoordinates];
  @core@_rigid_torques(q, dq, ddq, kOnes, tau);
  @core@_friction(dq, friction);
  for (int k = 0; k < kCoordinates; ++k) {
    tau[k] += friction[k];
  }
}

}  // namespace @package@
