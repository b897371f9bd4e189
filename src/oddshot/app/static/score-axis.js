// The axis of scores, from position 0 to 1: linear for small scores, logarithmic for large ones (asinh).
// axis: { scale, low, high } as `ranking.axis` of the server has it.

export const scoreAt = (axis, position) => axis.scale * Math.sinh(axis.low + position * (axis.high - axis.low));

export const positionOf = (axis, score) =>
  Math.min(1, Math.max(0, (Math.asinh(score / axis.scale) - axis.low) / (axis.high - axis.low)));
