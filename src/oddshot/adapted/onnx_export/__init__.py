"""An adapted scorer as an ONNX file: its graph, built node by node, and the check with onnxruntime."""

from oddshot.adapted.onnx_export.writing import write_onnx

__all__ = ["write_onnx"]
