"""The task with FIGAROH: a subclass that reads the recording, and a configuration file."""

import pandas as pd
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.robot import load_robot


class Identification(BaseIdentification):
    """Reads the recording; velocities and accelerations are left to the pipeline."""

    def load_trajectory_data(self, data_source=None):
        """Arrays of a recording; that of the training where none is named."""
        table = pd.read_csv(data_source or "train.csv")
        joints = range(1, self.model.nv + 1)
        return {
            "timestamps": table["t"].to_numpy().reshape(-1, 1),
            "positions": table[[f"q{k}" for k in joints]].to_numpy(),
            "velocities": None,
            "accelerations": None,
            "torques": table[[f"tau{k}" for k in joints]].to_numpy(),
        }


identification = Identification(load_robot("robot.urdf", load_by_urdf=True), "by_figaroh.yaml")
settings, model = identification.identif_config, identification.model
joints = [model.joints[model.getJointId(name)] for name in settings["active_joints"]]
settings["act_idxq"] = [joint.idx_q for joint in joints]
settings["act_idxv"] = [joint.idx_v for joint in joints]
identification.initialize()
identification.solve(plotting=False, wls=True)
print(identification.verify(scope="prediction").status)
identification.export_urdf("robot.urdf", "identified.urdf", merged_bodies="subtract_fixed")
found = identification.selected
pd.Series(found.values, index=found.names).to_json("parameters.json")
