"""All kinds of files that casid reads, in the order of the table."""

from __future__ import annotations

from benchmarks.soundness import fuzz_commands as commands
from benchmarks.soundness import fuzz_kinds as files
from benchmarks.soundness import fuzz_recordings as recordings
from benchmarks.soundness import fuzz_results as results
from benchmarks.soundness import fuzz_robots as robots
from benchmarks.soundness.fuzz_kinds import Kind

KINDS: tuple[Kind, ...] = (
    files.RobotToml(), files.Urdf(), files.Trajectory(), recordings.Npz(), recordings.Csv(), recordings.CsvGz(),
    recordings.Mat(), recordings.Bag(), recordings.RecordingToml(), results.SolutionJson(),
    results.IdentificationJson(), results.ParameterCsv(), results.ParameterJson(), results.ParameterNpy(),
    results.StudyFile(), results.ConstraintFile(), results.ExportJson(), robots.Mjcf(), robots.Sdf(), robots.Sidecar(),
    robots.Convert(), recordings.Parquet(), recordings.Torch(), commands.CommandRecording(), commands.Check(),
    commands.View(), commands.Payload(), commands.Gains(), commands.Import(),
)  # fmt: skip
