"""PyTorch files and LeRobot datasets as recordings."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from benchmarks.soundness.fuzz_files import torch_file

from casid.errors import DatasetError
from casid.measurement import choose_signals, read_columns


def test_a_pytorch_file_is_read_without_pytorch(tmp_path):
    rng = np.random.default_rng(0)
    q, u = rng.normal(size=(2, 30, 3)).astype("f4")
    t = np.arange(30) * 0.0025
    names = ["hip", "thigh", "calf"]
    torch_file(tmp_path / "chirp.pt", {"time": t, "dof_pos": q, "des_dof_pos": u, "joint_names": names})
    columns = read_columns(tmp_path / "chirp.pt", None)
    assert np.array_equal(columns.arrays["dof_pos"], q) and np.array_equal(columns.arrays["time"], t)
    assert columns.joints["des_dof_pos"] == tuple(names)


@pytest.mark.claim("24: a .pt file is read without executing what it names")
def test_nothing_in_a_pytorch_file_is_executed(tmp_path):
    class Bad:
        def __reduce__(self):
            return (eval, ("open('/dev/null')",))

    with zipfile.ZipFile(tmp_path / "bad.pt", "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"time": Bad()}))
    with pytest.raises(DatasetError, match=r"eval.*only dictionaries of tensors"):
        read_columns(tmp_path / "bad.pt", None)
    (tmp_path / "old.pt").write_bytes(b"\x80\x02x")
    with pytest.raises(DatasetError, match="zip format"):
        read_columns(tmp_path / "old.pt", None)


def lerobot_folder(folder, names):
    arrow = pytest.importorskip("pyarrow", reason="needs the extra lerobot")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra lerobot")
    (folder / "meta").mkdir(parents=True)
    feature = {"dtype": "float32", "shape": [2], "names": names}
    info = {"fps": 30, "features": {"action": feature, "observation.state": feature}}
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    for episode in range(2):
        target = folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        count = 25
        rows = {
            "action": [[float(k), episode] for k in range(count)],
            "observation.state": [[k - 0.5, float(episode)] for k in range(count)],
            "timestamp": [k / 30 for k in range(count)],
            "episode_index": [episode] * count,
            "task": ["reach"] * count,
        }
        parquet.write_table(arrow.table(rows), target)


def test_a_lerobot_folder_is_one_recording_with_gaps_between_episodes(tmp_path):
    lerobot_folder(tmp_path / "set", {"motors": ["pan.pos", "lift.pos"]})
    columns = read_columns(tmp_path / "set", None)
    assert columns.arrays["action"].shape == (50, 2) and "task" not in columns.arrays
    assert columns.joints["action"] == ("pan", "lift")
    steps = np.diff(columns.arrays["timestamp"])
    assert (steps > 0).all() and np.argmax(steps) == 24 and steps[24] > 1.0


def test_commands_of_a_lerobot_folder_are_the_actions(tmp_path):
    lerobot_folder(tmp_path / "set", ["elbow.pos", "shoulder.pos"])
    found, joints = choose_signals(read_columns(tmp_path / "set", None), {}, "set", ("q", "q_des"))
    assert joints == ("elbow", "shoulder")
    assert found["q_des"][3, 0] == 3.0 and found["q"][3, 0] == 2.5
