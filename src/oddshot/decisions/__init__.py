"""What scores mean: support-score statistics, calibration, familiarity."""
