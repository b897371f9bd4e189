"""The `device` option of all functions and commands that have one."""

import torch

from oddshot.errors import InputError, require_type


def resolve_device(device: str) -> torch.device:
    """The torch device of this name; `auto` is CUDA if it is available, else the CPU."""
    require_type("device", device, (str, torch.device), "'cpu', 'cuda' or 'auto'")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        resolved = torch.device(device)
        if resolved.type != "cpu":
            torch.zeros(1, device=resolved).item()  # fails for devices that hold no numbers, such as meta
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r} cannot be used: {reason} (take 'cpu', 'cuda' or 'auto')") from None
    return resolved
