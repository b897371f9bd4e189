"""What scores mean: support-score statistics and calibration."""
