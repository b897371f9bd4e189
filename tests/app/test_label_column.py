"""Labels that `oddshot app TABLE --label COLUMN` takes from a table of the command line."""

import warnings

import pytest

from oddshot.app.uploads import open_labelled
from oddshot.app.workspace import Workspace
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal

STATES = ["ok", "idle", "bearing", "leak", "", "ok"] * 5
WORDS = ("--anomaly-value", "--normal-value")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "states.csv").write_text("x,state\n" + "".join(f"{k % 7},{s}\n" for k, s in enumerate(STATES)))
    return tmp_path / "states.csv"


def opened(path, column="state", anomaly_value=None, normal_value=None, folder=None):
    """The labels of the table, and what was said of them."""
    workspace = Workspace(load_universal(), folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = open_labelled(workspace, path, column, LabelMeaning.of(anomaly_value, normal_value, WORDS))
    labels = [session.current.labels.get(row) for row in range(6)]
    workspace.close()
    return labels, [str(warning.message) for warning in caught]


def test_several_values_of_anomalies_or_of_normal_rows(path):
    expected = [0, 0, 1, 1, None, 0]
    assert opened(path, anomaly_value=["bearing", "leak"]) == (expected, [])
    assert opened(path, normal_value=["ok", "idle"]) == (expected, [])


def test_values_that_nobody_has_named_stay_unlabelled_with_a_notice(path):
    labels, notices = opened(path)
    assert labels == [0, None, None, None, None, 0]
    advice = "name the values of anomalies with --anomaly-value, or those of normal rows with --normal-value"
    assert notices == [f"states.csv: rows with 'idle', 'bearing', 'leak' in column 'state' stay unlabelled; {advice}"]


def test_labels_of_the_last_time_are_kept_and_other_ones_are_not_dropped_silently(path, tmp_path):
    first = opened(path, normal_value=["ok", "idle"], folder=tmp_path)
    assert opened(path, normal_value=["ok", "idle"], folder=tmp_path) == first
    assert opened(path, folder=tmp_path) == first
    labels, notices = opened(path, anomaly_value="leak", folder=tmp_path)
    assert labels == first[0]
    assert notices == ["states.csv: the labels of the last time are kept; they are others than column 'state' has now"]


def test_more_values_than_a_list_can_show_are_labels_where_those_of_one_side_are_named(tmp_path):
    (tmp_path / "codes.csv").write_text("x,code\n" + "".join(f"{k},{max(k - 20, 0)}\n" for k in range(100)))
    with pytest.raises(InputError, match="80 different values; labels have at most 50"):
        opened(tmp_path / "codes.csv", "code")
    assert opened(tmp_path / "codes.csv", "code", normal_value=0)[0] == [0] * 6


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("state", "leek", "states.csv: no row has 'state' = 'leek'; values seen: 'ok', 'idle', 'bearing', 'leak'"),
        ("stat", None, "states.csv: no column 'stat'; its columns are 'x', 'state'"),
        ("x", None, "states.csv: column 'x' has '2', '3', '4', none of which is known; name the values of"),
    ],
)
def test_messages_end_with_what_was_expected(path, column, value, message):
    if column == "x":
        path.write_text("x,state\n" + "".join(f"{k % 3 + 2},ok\n" for k in range(20)))
    with pytest.raises(InputError) as caught:
        opened(path, column, value)
    assert str(caught.value).startswith(message)
