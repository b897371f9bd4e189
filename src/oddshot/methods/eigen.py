"""`eigen`: the proposed method (Sec. 3.2), a task-specific embedding and a closed-form one-dimensional projection."""

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import device

from oddshot.methods.contract import Method, Score, Weight, mean_of_rows, network_weights
from oddshot.methods.hyperparameters import require_at_least, require_dropout, require_positive
from oddshot.methods.scores import Distance, fold_last_layer
from oddshot.score.arrays import Array, float64, namespace, over_tasks
from oddshot.score.networks import mlp
from oddshot.score.projection import fit_projection, to_unit_length
from oddshot.score.rows import LabelledRows


@dataclass(frozen=True)
class RepresentedConfig:
    """The paper's networks (Sec. 4.3). Layers are counted with the input: three layers are two weight matrices."""

    units: int = 256
    layers_f: int = 3
    layers_g: int = 3
    layers_phi: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, units=1, layers_f=2, layers_g=2, layers_phi=3)
        require_dropout(self)


class Represented(Method):
    """What the proposed method and its ablations share: f, g (Eq. 1), bias-free φ and the centre c."""

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """f, g, φ and c."""
        # NOTE[PAPER] whether "four-layered" counts the input is not stated; so it validates better.
        n_in, units = cls.n_inputs(n_attributes, config), config.units
        return {
            "center": Weight((cls.center_size(config),), 0.0, is_learned=False),
            **network_weights("f", [n_in + 1] + [units] * (config.layers_f - 1)),
            **network_weights("g", [units] + [units] * (config.layers_g - 1)),
            # φ has no biases, or it could map every row to the centre (hypersphere collapse).
            **network_weights("phi", [n_in + units] + [units] * (config.layers_phi - 1), bias=False),
        }

    @classmethod
    def n_inputs(cls, n_attributes: int, config: Any) -> int:
        """Numbers of a row that f and φ see."""
        return n_attributes

    @classmethod
    def center_size(cls, config: Any) -> int:
        """Of the space that the centre is in."""
        size: int = config.units
        return size

    def represent(self, support: LabelledRows) -> Array:
        """Task representation r (Eq. 1): [..., units]."""
        xp = namespace(support.normal)
        labelled = []
        for label, rows in enumerate(support):
            y = xp.full((*rows.shape[:-1], 1), float(label), dtype=rows.dtype, device=device(rows))
            labelled.append(xp.concat([rows, y], axis=-1))
        mean = xp.mean(mlp(xp.concat(labelled, axis=-2), self.layers("f"), drop=self.drop), axis=-2, keepdims=True)
        return mlp(mean, self.layers("g"), drop=self.drop)[..., 0, :]

    def embed(self, x: Array, r: Array) -> Array:
        """z = φ([x, r]) − c, the embedding relative to the centre. x: [..., n, M] -> [..., n, units]."""
        z = mlp(x, self.layers("phi"), r, self.drop)
        return z - over_tasks(self.weights["center"], z, 1)

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        # NOTE[PAPER] which support sets give r here is not stated: one episode's, of every training task.
        return mean_of_rows(mlp(normal, self.layers("phi"), self.represent(support)))


@dataclass(frozen=True)
class EigenConfig(RepresentedConfig):
    """The paper's values (Sec. 4.3); what it leaves open is marked in docs/PAPER.md."""

    eta: float = 1.0
    eta_floor: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "eta", "eta_floor")


@dataclass(frozen=True)
class ProjectedDistance(Distance):
    """The score of the proposed method, which knows the space that it projects. method: the one that adapted."""

    method: "Eigen | None" = None

    def embed(self, x: Array) -> Array | None:
        """Rows in the embedded space, relative to the centre (Fig. 2b): [..., n, J]."""
        assert self.method is not None
        assert self.r is not None
        return self.method.embed(x, self.r)


class Eigen(Represented):
    """f, g (Eq. 1), bias-free φ, the centre c and η, shared by all tasks; w is solved for each task (Eq. 3)."""

    name = "eigen"
    config_type = EigenConfig

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """Those of the networks, and η."""
        # NOTE[PAPER] how η > 0 is kept is not stated: η = floor + exp(log η).
        return {"log_eta": Weight((), math.log(config.eta)), **super().weights_of(n_attributes, config)}

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Solve Eq. 3 for each task; the number of anomalies may be any from 1 up."""
        self.check_support(support, anomaly=1)
        return self.solve(support)

    def solve(self, support: LabelledRows, default_anomaly: Array | None = None) -> Distance:
        """Eq. 3 for each task.

        default_anomaly: [..., J], an embedding to take for the anomaly where a support has none.
        """
        r = self.represent(support)
        z, n_normal = self.embed(support.joined(), r), support.n_normal
        z_anomaly = z[..., n_normal:, :]
        if default_anomaly is not None and support.n_anomaly == 0:
            one = over_tasks(default_anomaly[..., None, :], z, 2)
            z_anomaly = namespace(z).broadcast_to(one, (*z.shape[:-2], 1, z.shape[-1]))
        w = to_unit_length(fit_projection(z[..., :n_normal, :], z_anomaly, self.eta(r)))
        return self.projected(r, w)

    def projected(self, r: Array, w: Array) -> Distance:
        """The squared distance from the centre along w: [..., J]."""
        phi, center = self.layers("phi"), over_tasks(self.weights["center"], w, 1)
        offset = namespace(w).sum(w * center, axis=-1)[..., None, None]
        return ProjectedDistance(phi, r, fold_last_layer(phi, w), offset, self.drop, self)

    def eta(self, r: Array) -> Array:
        """η, above its floor, for tasks with these representations: [...]."""
        eta = self.config.eta_floor + namespace(r).exp(float64(self.weights["log_eta"]))
        return eta[..., None] if r.ndim > eta.ndim + 1 else eta
