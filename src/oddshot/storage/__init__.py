"""Models and fitted detectors on disk: one sealed safetensors file each, no pickle."""
