"""Names of the files and folders in a run folder."""

CHECKPOINTS = ".finished"  # folder of finished decisions; removed when the study is saved
CONFIG = "config.toml"
REPORT = "report.html"
SUMMARY = "summary.json"
