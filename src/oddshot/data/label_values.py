"""What labels are as numbers."""

NORMAL, ANOMALY, UNLABELLED = 0, 1, -1
