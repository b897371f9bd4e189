"""Anomalies in a new task from a handful of labels."""
