"""Laws of the drives in C: dry friction of all joints, springs with play, bristles, friction by load and speed."""

LAWS = r"""
/* A = L L' of the rows and columns in set; x = A^-1 b for the columns of b (rows of b: those of set). */
static int factor(const double H[N][N], const int *set, int m, double L[N][N])
{
    int i, j, k;
    for (i = 0; i < m; ++i)
        for (j = 0; j <= i; ++j) {
            double sum = H[set[i]][set[j]];
            for (k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
            if (i == j) {
                if (!(sum > 0.0)) return 1;
                L[i][i] = sqrt(sum);
            } else
                L[i][j] = sum / L[j][j];
        }
    return 0;
}

static void solve(double L[N][N], int m, double *x)
{
    int i, k;
    for (i = 0; i < m; ++i) {
        for (k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
    }
    for (i = m - 1; i >= 0; --i) {
        for (k = i + 1; k < m; ++k) x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
    }
}

/* Velocity after a step: modes are -1, 0 (sticks), 1; 0 without friction means that it slides without any. */
static int step_velocity(const double H[N][N], const double *r, const double *fc, double h, int *mode, int *sticks,
                         double L[N][N], int *set, int *size, double *v)
{
    int round, j, k, m = 0;
    for (round = 0; round < 40; ++round) {
        int changed = 0;
        double x[N];
        for (m = 0, j = 0; j < N; ++j)
            if (!sticks[j]) set[m++] = j;
        if (factor(H, set, m, L)) return 1;
        for (k = 0; k < m; ++k) x[k] = r[set[k]] - h * fc[set[k]] * mode[set[k]];
        solve(L, m, x);
        for (j = 0; j < N; ++j) v[j] = 0.0;
        for (k = 0; k < m; ++k) v[set[k]] = x[k];
        for (j = 0; j < N && !(round > 12 && changed); ++j) {
            if (fc[j] <= 0.0) continue;
            if (sticks[j]) {
                double f = r[j];
                for (k = 0; k < m; ++k) f -= H[j][set[k]] * x[k];
                f /= h;
                if (f > fc[j] || f < -fc[j]) { sticks[j] = 0; mode[j] = f > 0.0 ? 1 : -1; changed = 1; }
            } else if (v[j] * mode[j] <= 0.0) { sticks[j] = 1; mode[j] = 0; changed = 1; }
        }
        if (!changed) break;
    }
    *size = m;
    return 0;
}

#define PAR(i) (par + ((i) % LINKS) * KINDS) /* of a coordinate: links first, then drives, where a spring is between */
#define DRIVEN(i) ((i) >= N - LINKS)
#define SIGN(x) (((x) > 0.0) - ((x) < 0.0))

/* Torque of the spring and damper of a joint between drive and link, y = k x + A w+ + B w, passes a dead zone. */
typedef struct {
    double k, A, B, edge, y;
    int side;
} Spring;

static Spring spring_of(const double *p, double h, int side)
{
    Spring s;
    if (p[KJ] < STIFF) /* trapezoidal rule; beyond it, contact without rebound */
        s.k = p[KJ], s.A = 0.25 * h * p[KJ] + 0.5 * p[DJ], s.B = 0.5 * p[DJ] - 0.25 * h * p[KJ];
    else
        s.k = 1e4 * (p[IA] > 1e-6 ? p[IA] : 1e-6) / (h * h), s.A = s.k * h, s.B = 0.0;
    s.edge = 0.5 * s.k * p[GAP], s.y = 0.0, s.side = p[GAP] > 0.0 ? side : 1;
    return s;
}

/* Bristles: torque w + give (stiffness h (v+ - v) / 4 + damping (v + v+) / 2), give = 1 - sign(v) w / grip; the step of
   w' = stiffness (v - |v| w / grip) is that of a constant v. Slopes: of the torque in w, grip; of w+ in w, v+, grip. */
typedef struct {
    double w, grip, give, stiff, damp, torque_w, torque_grip, next_w, next_v, next_grip, next_stiff;
} Bristle;

static void bristle_set(Bristle *z, const double *p, double h, double v, double grip)
{
    z->grip = fmax(grip, 1e-9), z->give = fmax(1.0 - SIGN(v) * z->w / z->grip, 0.0);
    z->stiff = 0.25 * h * p[BRISTLE] * z->give, z->damp = 0.5 * p[MICRO] * z->give;
}

static void bristle_slopes(Bristle *z, const double *p, double h, double v, double vn)
{
    const double X = 0.25 * h * p[BRISTLE] * (vn - v) + 0.5 * p[MICRO] * (v + vn), s = SIGN(v), t = SIGN(vn);
    const double a = h * p[BRISTLE] * fabs(vn) / z->grip, e = exp(-a), left = z->w - t * z->grip;
    z->torque_w = 1.0 - s * X / z->grip, z->torque_grip = s * z->w * X / (z->grip * z->grip);
    z->next_w = e, z->next_v = h * p[BRISTLE] * e * (1.0 - t * z->w / z->grip);
    z->next_grip = t * (1.0 - e) + left * e * a / z->grip, z->next_stiff = -left * e * h * fabs(vn) / z->grip;
}

/* Viscous friction of the direction of motion, and its slopes in fv and fva; constant torque with its drift. */
typedef struct { double value, in_mean, in_half; } Viscous;
static Viscous viscous_of(const double *p, double v)
{
    const double c = p[FV] + SIGN(v) * p[FVA];
    const Viscous made = {c < 0.0 ? 0.0 : c, c < 0.0 ? 0.0 : 1.0, c < 0.0 ? 0.0 : SIGN(v)};
    return made;
}

static double constant_of(const double *p, double clock) { return p[FO] + p[FOD] * clock; }

typedef struct { double fade, warm, fe, value; } Level; /* dry friction of sliding, and what it is made of */
static Level level_of(const double *p, double load, double v, double clock, int warms)
{
    const double speed = p[FS] > 0.0 ? v / p[VS] : 0.0;
    Level l;
    l.fade = warms || p[WARM] != 0.0 ? exp(-clock / p[TW]) : 0.0, l.warm = 1.0 + p[WARM] * l.fade;
    l.fe = p[FS] > 0.0 ? exp(-speed * speed) : 0.0;
    l.value = fmax(l.warm * (p[FC] + p[FL] * fabs(load) + p[FS] * l.fe), 0.0);
    return l;
}
"""
