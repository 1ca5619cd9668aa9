import gzip
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing, read_dataset
from casid.measurement._checks import check_against
from casid.testing._synthetic import motion, recording


def sine(rate=1000.0, seconds=10.0, n=2):
    t = np.arange(0.0, seconds, 1.0 / rate)
    phase = np.arange(1, n + 1) * 0.7
    q = np.sin(2 * np.pi * 0.3 * t[:, None] + phase)
    return Dataset(t, q, np.cos(t)[:, None] * np.ones(n), name="sine")


def test_processing_differentiates_without_phase():
    data = Processing(cutoff=10.0, trim=1.0, every=1).apply(sine())
    w = 2 * np.pi * 0.3
    np.testing.assert_allclose(data.dq[:, 0], w * np.cos(w * data.t + 0.7), atol=2e-4)
    np.testing.assert_allclose(data.ddq[:, 0], -(w**2) * np.sin(w * data.t + 0.7), atol=2e-3)
    assert data.t[0] == pytest.approx(1.0) and len(data) == 8000
    assert any("10 Hz" in step for step in data.steps)
    assert len(Processing(trim=1.0, every=10).apply(sine())) == 800


def test_irregular_and_repeated_time_stamps_are_put_on_a_grid_and_reported():
    rng = np.random.default_rng(0)
    regular = sine()
    t = regular.t + rng.uniform(-2e-4, 2e-4, len(regular))
    t[500] = t[499]
    t[5000:] += 0.5
    w = 2 * np.pi * 0.3
    phase = np.array([0.7, 1.4])
    data = Dataset(t, np.sin(w * t[:, None] + phase), regular.tau, name="jittery")
    made = Processing(trim=1.0, every=1).apply(data)
    assert made.period == pytest.approx(1e-3)
    text = " ".join((*made.steps, *made.notes))
    assert "linear interpolation to 1000 Hz" in text
    assert "dropped 1 repeated time stamps" in text
    assert "the clock jumps 1 times, most by 0.50" in text
    calm = (made.t < 4.0) | (made.t > 7.0)
    np.testing.assert_allclose(made.dq[calm, 1], w * np.cos(w * made.t[calm] + 1.4), atol=5e-3)


def test_masks_survive_interpolation():
    data = sine(rate=500.0)
    made = Processing(rate=1000.0, trim=0.0, every=1).apply(data.only([1]).between(0.0, 5.0))
    assert len(made) > 4000 and made.mask[:, 1].all() and not made.mask[:, 0].any()


def test_measured_velocity_is_used_where_asked():
    data = sine()
    w = 2 * np.pi * 0.3
    with_velocity = replace(data, dq=w * np.cos(w * data.t[:, None] + np.array([0.7, 1.4])))
    made = Processing(velocity="measured", cutoff=None, trim=0.1, every=1).apply(with_velocity)
    np.testing.assert_array_equal(made.dq, with_velocity.dq[100:-100])
    with pytest.raises(DatasetError, match="no measured velocity"):
        Processing(velocity="measured").apply(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros((5, 2))}, "time must have one entry a sample"),
        ({"t": np.arange(5.0), "q": np.zeros((5, 2)), "tau": np.zeros((5, 2))}, "5 samples are too few"),
        ({"tau": np.zeros((20, 3))}, r"tau has shape \(20, 3\); expected \(20, 2\)"),
        (
            {"q": np.where(np.arange(40).reshape(20, 2) == 7, np.nan, 0.0)},
            "q of joint 2, sample 3 is not a finite number",
        ),
        ({"t": np.r_[np.arange(10.0), np.arange(10.0)]}, "time goes back by 9 s after sample 9"),
    ],
)
def test_datasets_refuse_what_is_no_recording(change, message):
    good = {"t": np.arange(20.0), "q": np.zeros((20, 2)), "tau": np.zeros((20, 2))}
    with pytest.raises(DatasetError, match=message):
        Dataset(**{**good, **change})


def test_filter_and_trim_errors_say_what_to_do():
    with pytest.raises(DatasetError, match="below half the sampling rate, 500 Hz"):
        Processing(cutoff=600.0).apply(sine())
    with pytest.raises(DatasetError, match="leaves nothing"):
        Processing(trim=6.0).apply(sine())
    with pytest.raises(DatasetError, match="cutoff must be positive"):
        Processing(cutoff=0.0)


def test_masks():
    data = Processing(trim=0.5).apply(sine())
    assert data.only([1]).mask.sum() == len(data)
    slow = data.moving(0.5)
    assert np.array_equal(slow.mask, np.abs(data.dq) >= 0.5)
    assert data.moving(0.5, margin=0.1).mask.sum() < slow.mask.sum()


# ---------------------------------------------------------------------- readers


def test_npz_csv_mat_and_toml_give_the_same(tmp_path):
    data = sine(rate=100.0)
    np.savez(tmp_path / "r.npz", t_ms=1e3 * data.t, q=data.q, torque=data.tau)
    header = "time,q1,q2,tau_1,tau_2"
    table = np.column_stack([data.t, data.q, data.tau])
    text = header + "\n" + "\n".join(",".join(repr(float(x)) for x in row) for row in table)
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    savemat(tmp_path / "r.mat", {"t": data.t, "q": data.q, "tau": data.tau})
    (tmp_path / "r.toml").write_text('file = "r.npz"\ntime_scale = 0.001\n[columns]\nt = "t_ms"\n')
    for file in ("r.csv.gz", "r.mat", "r.toml"):
        read = read_dataset(tmp_path / file)
        np.testing.assert_allclose(read.t, data.t, atol=1e-12)
        np.testing.assert_allclose(read.q, data.q, atol=1e-15)
        np.testing.assert_allclose(read.tau, data.tau, atol=1e-15)


def test_reader_options(tmp_path):
    data = sine(rate=100.0)
    R = np.array([[10.0, 0.0], [5.0, 20.0]])
    np.savez(tmp_path / "motor.npz", q=data.q @ R.T, tau=np.linalg.solve(R.T, data.tau.T).T, unused=[1.0])
    read = read_dataset(tmp_path / "motor.npz", rate=100.0, transmission=R, position_offset=[1.0, 0.0], rows=(10, 500))
    np.testing.assert_allclose(read.q, data.q[10:500] + np.array([1.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(read.tau, data.tau[10:500], atol=1e-12)
    np.savez(tmp_path / "deg.npz", q=np.rad2deg(data.q), tau=data.tau)
    read = read_dataset(tmp_path / "deg.npz", rate=100.0, degrees=True, gains=[2.0, 3.0], between=(1.0, 2.0))
    np.testing.assert_allclose(read.tau, (data.tau * [2.0, 3.0])[100:200])
    np.testing.assert_allclose(read.q, data.q[100:200])


def test_reader_errors_name_file_and_column(tmp_path):
    np.savez(tmp_path / "hole.npz", t=np.arange(20.0), q=np.zeros((20, 2)), tau=np.diag(np.full(20, np.nan))[:, :2])
    for name in (None, "another name"):
        with pytest.raises(DatasetError, match=r"^hole\.npz: tau of joint 1, sample 0 is not a finite number"):
            read_dataset(tmp_path / "hole.npz", name=name)
    np.savez(tmp_path / "r.npz", t=np.arange(20.0), q=np.zeros((20, 2)), tau_sensor=np.zeros((20, 2)))
    with pytest.raises(
        DatasetError, match=r"no column 'tau_senzor'; did you mean 'tau_sensor'\?; it has t, q, tau_sensor"
    ):
        read_dataset(tmp_path / "r.npz", columns={"tau": "tau_senzor"})
    with pytest.raises(DatasetError, match="columns may name t, q, dq, ddq, tau, not 'taus'"):
        read_dataset(tmp_path / "r.npz", columns={"taus": "tau_sensor"})
    np.savez(tmp_path / "s.npz", q=np.zeros((20, 2)), tau=np.zeros((20, 2)))
    with pytest.raises(DatasetError, match="no time column"):
        read_dataset(tmp_path / "s.npz")
    with pytest.raises(DatasetError, match="cannot read recording"):
        read_dataset(tmp_path / "none.npz")
    (tmp_path / "r.txt").write_text("")
    with pytest.raises(DatasetError, match=r"recordings are \.npz"):
        read_dataset(tmp_path / "r.txt")
    (tmp_path / "r.toml").write_text('file = "r.npz"\nrates = 3\n')
    with pytest.raises(DatasetError, match=r"unknown key 'rates'; did you mean 'rate'"):
        read_dataset(tmp_path / "r.toml")
    (tmp_path / "r.csv").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(DatasetError, match="first line must name the columns"):
        read_dataset(tmp_path / "r.csv")


def test_joint_states_of_a_bag(tmp_path):
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs the extra 'rosbag'")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    types = store.types
    State, Header, Time = (
        types[f"{n}"] for n in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    with rosbags.Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/joint_states", State.__msgtype__, typestore=store)
        for k in range(30):
            header = Header(Time(sec=k // 10, nanosec=(k % 10) * 10**8), "")
            message = State(header, ["b", "a"], np.array([k, -1.0 * k]), np.zeros(2), np.array([0.5 * k, 0.25 * k]))
            writer.write(connection, k * 10**8, store.serialize_cdr(message, State.__msgtype__))
    data = read_dataset(tmp_path / "bag")
    np.testing.assert_allclose(data.q[:, 0], -np.arange(30.0))
    np.testing.assert_allclose(data.tau[:, 1], 0.5 * np.arange(30))
    np.testing.assert_allclose(data.t, 0.1 * np.arange(30))


# ---------------------------------------------------------------------- does it fit the robot


@pytest.fixture(scope="module")
def panda():
    return casid.load_robot("panda")


def test_joint_count_and_degrees(panda):
    t, q, *_ = motion(7, 200, 0)
    with pytest.raises(DatasetError, match="has 6 joints, robot 'panda' has 7"):
        check_against(Dataset(t, q[:, :6], q[:, :6]), panda)
    with pytest.raises(DatasetError, match="these look like degrees"):
        check_against(Dataset(t, np.rad2deg(q), q), panda)


def test_notes_on_channels(panda):
    model = Model(panda)
    data = recording(model, panda.standard_parameters(), noise=0.01)
    assert check_against(data, panda).notes == ()
    tau, q, dq = np.array(data.tau), np.array(data.q), np.array(data.dq)
    tau[:, 1] = -tau[:, 1]
    tau[:, 2] = 0.0
    tau[:, 3] = np.clip(tau[:, 3], -np.inf, np.quantile(tau[:, 3], 0.8))
    q[:, 6] = 0.3
    dq[:, 0] *= 57.3
    notes = " ".join(check_against(replace(data, tau=tau, q=q, dq=dq), panda).notes)
    for part in (
        "'joint2' goes against the gravity torque",
        "its sign seems reversed",
        "'joint3' is zero in every sample",
        "'joint4' equal their largest value",
        "the channel saturates",
        "'joint7' does not move",
        "velocity of joint 'joint1'",
    ):
        assert part in notes
    assert "joint5" not in notes
