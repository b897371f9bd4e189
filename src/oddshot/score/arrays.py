"""What array libraries need help with; everything else is said in the array API's words.

Each operation here takes the arrays of any library, and takes a shorter way where one of them has it.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array

Array = Any  # of NumPy, torch or ndonnx

ROUNDING_SHARE = 1e-6  # a squared distance below this share of the squares it was computed from is rounding error
MAX_COMPARED = 32  # numbers, below which comparing a value with all of them takes less time than a search

_NAMESPACES: dict[type, Any] = {}


def namespace(array: Array) -> Any:
    """The array API's functions for an array. Found once for each type, as that takes longer than most of them."""
    found = _NAMESPACES.get(type(array))
    if found is None:
        found = _NAMESPACES[type(array)] = array_namespace(array)
    return found


def swap(x: Array) -> Array:
    """The last two dimensions swapped: [..., a, b] -> [..., b, a]."""
    return x.mT if not isinstance(x, np.ndarray) else x.swapaxes(-1, -2)


def contiguous(x: Array) -> Array:
    """The same numbers, adjacent in memory in the order of the dimensions."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x


def detach(x: Array) -> Array:
    """The same numbers without their gradient."""
    return x.detach() if is_torch_array(x) else x


def is_graph(x: Array) -> bool:
    """Whether it is not computed, but becomes part of a graph: an array of ndonnx."""
    return not (isinstance(x, np.ndarray) or is_torch_array(x))


def is_lazy(x: Array) -> bool:
    """Whether asking for a number would have to wait: for a GPU, or for a graph that is not run yet."""
    return is_graph(x) or (is_torch_array(x) and bool(x.is_cuda))


def has_gradient(x: Array) -> bool:
    """Whether what is computed from it is differentiated."""
    return is_torch_array(x) and bool(x.requires_grad)


def float64(x: Array) -> Array:
    """In double precision."""
    xp = namespace(x)
    return x if x.dtype == xp.float64 else xp.astype(x, xp.float64)


def over_tasks(weight: Array, x: Array, own: int) -> Array:
    """A weight [R, ...own] that is the same for all tasks, for rows [R, T, ...own]: with 1 in the place of T.

    own: how many dimensions both have after their leading ones.
    """
    n_missing = x.ndim - weight.ndim
    lead = weight.ndim - own
    return weight if n_missing <= 0 or lead == 0 else weight[(slice(None),) * lead + (None,) * n_missing]


def matmul(a: Array, b: Array) -> Array:
    """The matrix product; vectors are matrices of one row or column."""
    if not is_graph(a):
        return a @ b
    import ndonnx
    from spox.opset.ai.onnx.v21 import matmul as product  # type: ignore[attr-defined]

    # ndonnx's own product asks of every one whether an array is empty, in a graph within the graph.
    return ndonnx.asarray(product(a.unwrap_spox(), b.unwrap_spox()))


def affine(W: Array, x: Array, b: Array | None = None, *, rectified: bool = False) -> Array:
    """Wᵀ x + b, or its ReLU: W [..., in, out], x [..., in, n] -> [..., out, n]. b: anything that broadcasts to it."""
    out = matmul(swap(over_tasks(W, x, 2)), x)
    if isinstance(out, np.ndarray):  # in the memory that is there
        if b is not None:
            out += b
        return np.maximum(out, 0, out=out) if rectified else out
    out = out if b is None else out + b
    return relu(out) if rectified else out


def affine_rows(W: Array, x: Array, b: Array | None = None, *, rectified: bool = False) -> Array:
    """x W + b, or its ReLU, for rows: W [..., in, out], x [..., n, in] -> [..., n, out]; b: [..., 1, out]."""
    lead = W.ndim - 2
    if x.ndim > W.ndim:  # one product over the rows of all tasks, rather than a copy of W for each
        flat = x.reshape(*x.shape[:lead], -1, x.shape[-1])
        return affine_rows(W, flat, b, rectified=rectified).reshape(*x.shape[:-1], W.shape[-1])
    out = matmul(x, W)
    if isinstance(out, np.ndarray):
        if b is not None:
            out += b
        return np.maximum(out, 0, out=out) if rectified else out
    out = out if b is None else out + b
    return relu(out) if rectified else out


def relu(x: Array) -> Array:
    """The larger of x and 0."""
    if is_torch_array(x):
        return x.relu()
    xp = namespace(x)
    return xp.maximum(x, xp.asarray(0, dtype=x.dtype))


def rectify(x: Array) -> Array:
    """The same, in the memory of an array that nothing else needs."""
    return np.maximum(x, 0, out=x) if isinstance(x, np.ndarray) else relu(x)


def clip(x: Array, low: float, high: float) -> Array:
    """x within these bounds; NumPy's own clip takes several times as long for few numbers."""
    if isinstance(x, np.ndarray):
        found = np.maximum(x, x.dtype.type(low))
        return np.minimum(found, x.dtype.type(high), out=found if x.ndim else None)
    return namespace(x).clip(x, low, high)


def parted(x: Array, n: int, axis: int = -1) -> tuple[Array, Array]:
    """The first n along a dimension, counted from the last, and the others.

    torch joins their gradients, where those of two slices would be filled up with zeros and added.
    """
    size = x.shape[axis]
    if is_torch_array(x):
        first, others = x.split([n, size - n], dim=axis)
        return first, others
    after = (slice(None),) * (-1 - axis)
    return x[(..., slice(n), *after)], x[(..., slice(n, None), *after)]


def between(left: Array, right: Array, share: Array) -> Array:
    """On the line from left to right: left at 0, right at 1."""
    return left.lerp(right, share) if is_torch_array(left) else left + share * (right - left)


def broadcast_like(x: Array, other: Array) -> Array:
    """x in the shape of another array, which a graph knows only when it runs."""
    xp = namespace(x)
    return x + xp.zeros_like(other) if is_graph(x) else xp.broadcast_to(x, other.shape)


def with_sign_of(size: Array, x: Array) -> Array:
    """Numbers that are not negative, with the signs of others."""
    xp = namespace(x)
    return xp.where(x < 0, -size, size) if is_graph(x) else xp.copysign(size, x)


def lower_median(x: Array) -> Array:
    """Over the last dimension, the lower one of an even number: [..., n] -> [..., 1]."""
    middle = (x.shape[-1] - 1) // 2
    return namespace(x).sort(x, axis=-1)[..., middle : middle + 1]


def mean_of_smallest(x: Array, k: int) -> Array:
    """Mean of the k smallest numbers, which are not negative: [..., n] -> [...]."""
    n = x.shape[-1]
    xp = namespace(x)
    if k >= n:
        return xp.mean(x, axis=-1)
    if isinstance(x, np.ndarray):  # such numbers have the order of their bits, of which partition is faster
        bits = np.int32 if x.dtype == np.float32 else np.int64
        return np.partition(np.ascontiguousarray(x).view(bits), k - 1, axis=-1)[..., :k].view(x.dtype).mean(-1)
    if is_torch_array(x):
        return x.topk(k, dim=-1, largest=False, sorted=False).values.mean(-1)
    return xp.mean(xp.sort(x, axis=-1)[..., :k], axis=-1)


def squared_distances(products: Array, own: Array, other: Array, least: float = 0.0) -> Array:
    """|a|² + |b|² − 2 a·b − least, or `least` where that is what rounding leaves of the difference of large numbers.

    So equal rows are as near as can be. products: a·b; own, other: |a|² and |b|², which broadcast to it.
    """
    total = own + other
    squared = products * -2
    squared += total  # in place where arrays can be changed, as further down
    squared -= least
    total *= ROUNDING_SHARE
    if isinstance(squared, np.ndarray):
        np.copyto(squared, squared.dtype.type(least), where=squared < total)
        return squared
    xp = namespace(squared)
    return xp.where(squared < total, xp.asarray(least, dtype=squared.dtype), squared)


def rank_bounds(ordered: Array, values: Array) -> tuple[Array, Array]:
    """How many numbers lie below each value, and how many not above it: ordered [..., B], values [..., n] -> [..., n].

    They have the type of the values.
    """
    if is_torch_array(ordered):
        import torch

        ordered, values = ordered.contiguous(), values.contiguous()
        found = (torch.searchsorted(ordered, values, right=right) for right in (False, True))
        below, not_above = (count.to(values.dtype) for count in found)
        return below, not_above
    if ordered.shape[-1] <= MAX_COMPARED:
        return tuple(
            np.sum(is_there, axis=-1, dtype=values.dtype)
            for is_there in (ordered[..., None, :] < values[..., None], ordered[..., None, :] <= values[..., None])
        )
    out = np.empty((2, *values.shape), values.dtype)
    flat = values.reshape(-1, values.shape[-1]), ordered.reshape(-1, ordered.shape[-1])
    for k, (some, numbers) in enumerate(zip(*flat, strict=True)):
        for side, counts in zip(("left", "right"), out.reshape(2, -1, values.shape[-1]), strict=True):
            counts[k] = numbers.searchsorted(some, side=side)
    return out[0], out[1]


def signed_rank_count(ordered: Array, values: Array) -> Array:
    """How many numbers lie below a value minus how many lie above: ordered [..., B], values [..., n] -> [..., n]."""
    below, not_above = rank_bounds(ordered, values)
    return below + not_above - ordered.shape[-1]


def pool_table(table: Array, places: Array, share: Array, n_columns: int) -> Array:
    """Sums over the M columns of what each adds between two neighbouring rows of a table.

    table: [P, D]; places: [n, M], the row on the left of each value; share: [n, M], of the one on the right -> [n, D].
    """
    if isinstance(table, np.ndarray):
        from scipy.sparse import csr_array

        n, M = len(places), n_columns
        columns = np.stack([places, places + 1], axis=-1).astype(np.int32).reshape(-1)
        shares = np.stack([1 - share, share], axis=-1).reshape(-1)
        starts = np.arange(0, 2 * M * n + 1, 2 * M, dtype=np.int32)
        return csr_array((shares, columns, starts), shape=(n, len(table))) @ table
    xp = namespace(table)
    flat = xp.reshape(xp.astype(places, xp.int64), (-1,))
    left, right = (xp.take(table, flat + k, axis=0) for k in (0, 1))
    between = left + xp.reshape(share, (-1, 1)) * (right - left)
    return xp.sum(xp.reshape(between, (-1, n_columns, table.shape[1])), axis=1)


def solve_spd(matrix: Array, b: Array) -> Array:
    """matrix⁻¹ b for symmetric positive definite matrices: [..., n, n], [..., n, k] -> [..., n, k]."""
    if not is_torch_array(matrix):
        return namespace(matrix).linalg.solve(matrix, b)
    import torch

    # cholesky would wait for the GPU in every step to check for errors that cannot occur here, and cholesky_solve
    # cannot be captured in a CUDA graph.
    L = torch.linalg.cholesky_ex(matrix).L
    half = torch.linalg.solve_triangular(L, b, upper=False)
    return torch.linalg.solve_triangular(L.mT, half, upper=True)
