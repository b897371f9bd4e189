"""What the rows of one task make of a model: scores, reasons, suggestions, an ONNX file."""
