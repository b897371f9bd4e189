"""The one `device` option."""

import torch

from oddshot.errors import InputError


def resolve_device(device: str) -> torch.device:
    """`auto` is CUDA where there is one, else the CPU; anything else is torch's own name."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        resolved = torch.device(device)
        torch.zeros(1, device=resolved).item()  # torch knows devices that hold no numbers, such as meta
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r} cannot be used: {reason} (take 'cpu', 'cuda' or 'auto')") from None
    return resolved
