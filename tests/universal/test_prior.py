import pytest
import torch

from oddshot.score.auc import exact_auc
from oddshot.universal.prior import ANOMALY_KINDS, COLUMN_TRANSFORMATIONS, MAX_ABS_Z_SCORE, Contamination, Prior


def kurtosis(x):
    """Fourth standardised moment of each row; 3 for a normal distribution."""
    z = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
    return z.pow(4).mean(-1)


def prior(width=10, seed=0):
    return Prior(width, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("width", "anomaly", "unlabelled"), [(1, 0, 0), (2, 1, 7), (40, 3, 30)])
def test_episodes_have_the_asked_sizes_and_are_finite(width, anomaly, unlabelled):
    support, query, others, is_anomaly = prior(width).episodes(50, 5, anomaly, unlabelled, 6, 4)
    assert is_anomaly.shape == (50, unlabelled)
    assert [part.shape for part in support] == [(1, 50, 5, width), (1, 50, anomaly, width)]
    assert [part.shape for part in query] == [(1, 50, 6, width), (1, 50, 4, width)]
    assert (others is None) == (unlabelled == 0)
    parts = [*support, *query] if others is None else [*support, *query, others]
    for part in parts:
        assert torch.isfinite(part).all()
        assert (part.abs() <= MAX_ABS_Z_SCORE).all()
    if others is not None:
        assert others.shape == (1, 50, unlabelled, width)


def test_the_same_seed_gives_the_same_tasks_and_another_one_others():
    (first, *_), (again, *_), (other, *_) = (prior(seed=seed).episodes(3, 5, 1, 4, 6, 4) for seed in (0, 0, 1))
    assert torch.equal(first.normal, again.normal)
    assert not torch.equal(first.normal, other.normal)


def test_columns_that_do_not_exist_are_zero_in_all_rows():
    normal, anomaly, column_exists = prior(30).tasks(200, 20, 10)
    rows = torch.cat([normal, anomaly], dim=1)
    assert (rows * (1 - column_exists) == 0).all()
    widths = column_exists.sum(-1)
    assert widths.min() >= 2
    assert len(widths.unique()) > 10


def test_columns_are_near_unit_spread():
    support, query, others, _ = prior(8).episodes(400, 5, 1, 100, 40, 20)
    rows = torch.cat([support.normal, query.normal, others], dim=2)
    spread = rows.std(2)
    typical = spread[spread > 0].median()
    assert 0.7 < float(typical) < 1.2


@pytest.mark.parametrize("kind", ANOMALY_KINDS)
def test_every_kind_of_anomaly_can_be_told_from_normal_rows(kind, monkeypatch):
    """With many labelled rows: the distance to the nearest normal one, or how far towards the anomalies, tells."""
    monkeypatch.setattr("oddshot.universal.prior.ANOMALY_KINDS", {name: float(name == kind) for name in ANOMALY_KINDS})
    monkeypatch.setattr(
        "oddshot.universal.prior.TRANSFORMED_SHARE", 0.0
    )  # transformations of columns have tests of their own
    normal, anomaly, _ = prior(6, seed=2).tasks(200, 260, 60)
    spread = normal.std(1, keepdim=True) + 1e-3
    known, fresh, known_odd, odd = (
        part / spread for part in (normal[:, :200], normal[:, 200:], anomaly[:, :30], anomaly[:, 30:])
    )
    towards = (known_odd.mean(1) - known.mean(1)).unsqueeze(-1)
    distances = exact_auc(*(torch.cdist(part, known).amin(-1) for part in (fresh, odd))).mean()
    directions = exact_auc(*((part @ towards).squeeze(-1) for part in (fresh, odd))).mean()
    assert max(float(distances), float(directions)) > 0.57


@pytest.mark.parametrize("chosen", [name for name in COLUMN_TRANSFORMATIONS if name != "identity"])
def test_every_transformation_of_columns_shows(chosen, monkeypatch):
    monkeypatch.setattr(
        "oddshot.universal.prior.COLUMN_TRANSFORMATIONS",
        {name: float(name == chosen) for name in COLUMN_TRANSFORMATIONS},
    )
    monkeypatch.setattr("oddshot.universal.prior.TRANSFORMED_SHARE", 1.0)
    monkeypatch.setattr("oddshot.universal.prior.SAME_TRANSFORMATION_SHARE", 0.0)
    normal, _, column_exists = prior(4).tasks(50, 200, 2)
    column = normal[..., 0][column_exists[:, 0, 0] > 0]
    n_values = torch.tensor([len(row.unique()) for row in column]).float()
    expected = {
        "skewed": (column > 0).all(),
        "rounded": n_values.median() < 100,
        "binary": (n_values <= 2).all(),
        "heavy tails": (kurtosis(column) > 5).float().mean() > 0.5,
        "mostly zero": ((column == 0).float().mean() > 0.2) & (column >= 0).all(),
    }
    assert expected[chosen]


def test_unlabelled_rows_hold_some_anomalies_but_not_too_many():
    """Anomalies are marked by a value that no normal row has."""
    made = prior(3)
    normal, anomaly = torch.zeros(2000, 40, 3), torch.ones(2000, 20, 3)
    rows, is_anomaly = made._contaminated(normal, anomaly, Contamination())
    assert torch.equal(rows[..., 0] == 1, is_anomaly)
    share = is_anomaly.float().mean(-1)
    assert 0.35 / 2 * 0.85 * 0.9 < float(share.mean()) < 0.35 / 2 * 0.85 * 1.1
    assert float((share == 0).float().mean()) > 0.13
    assert float(share.max()) <= 0.5


def test_in_some_tasks_anomalies_are_repetitions_of_one_fault(monkeypatch):
    anomaly = torch.randn(1000, 8, 3, generator=torch.Generator().manual_seed(1))
    made = prior()._with_fault_clusters(anomaly)
    assert torch.equal(made[:, 0], anomaly[:, 0])
    is_cluster = (made != anomaly).any(-1).any(-1)
    assert 0.07 < float(is_cluster.float().mean()) < 0.13
    spread = ((made - made[:, :1]).norm(dim=-1)[:, 1:] / (anomaly - anomaly[:, :1]).norm(dim=-1)[:, 1:])[is_cluster]
    torch.testing.assert_close(spread.amax(1), spread.amin(1))  # one factor a task
    assert 0.029 < float(spread.min()) < float(spread.max()) < 0.61


@pytest.mark.parametrize("same_share", [0.0, 1.0])
def test_in_some_tasks_all_columns_have_the_same_transformation(same_share, monkeypatch):
    """Either all columns of a task are binary, or none."""
    monkeypatch.setattr("oddshot.universal.prior.TRANSFORMED_SHARE", 1.0)
    monkeypatch.setattr("oddshot.universal.prior.SAME_TRANSFORMATION_SHARE", same_share)
    normal, _, column_exists = prior(6).tasks(200, 200, 2)
    shares = []
    for rows, exists in zip(normal, column_exists[:, 0] > 0, strict=True):
        shares.append(torch.tensor([float(len(column.unique()) == 2) for column in rows[:, exists].T]).mean())
    found = torch.stack(shares)
    assert (((found < 0.01) | (found > 0.99)).float().mean() > 0.95) == (same_share == 1.0)
    assert float(found.mean()) == pytest.approx(
        1 / len(COLUMN_TRANSFORMATIONS) if same_share else COLUMN_TRANSFORMATIONS["binary"], abs=0.06
    )
