"""The equations, each stated once in the words of the array API.

NumPy arrays in, NumPy arrays out; torch tensors in, gradients out; ndonnx arrays in, a graph out. What one of these
libraries needs help with is in `arrays.py`. Leading dimensions are free (`...`): a single task has none, tasks that are
trained together have [R, T], replicas and tasks. Weights have none or [R].
"""
