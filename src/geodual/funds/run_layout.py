"""Names of the files and folders in a run folder."""

CHECKPOINTS = ".finished"  # a folder of finished decisions, there until the study is saved
CONFIG = "config.toml"
REPORT = "report.html"
SUMMARY = "summary.json"
