"""What the rows of one task make of a model: scores, decisions, reasons, suggestions, pictures, an ONNX file."""

from oddshot.adapted.result import ScoredRows
from oddshot.adapted.task import AdaptedTask

__all__ = ["AdaptedTask", "ScoredRows"]
