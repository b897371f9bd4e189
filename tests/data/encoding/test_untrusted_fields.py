import copy
import json
import math
from typing import Any

import pytest

from oddshot.data.encoding import Encoding
from oddshot.errors import InputError
from tests.data.encoding.references import KNOWN


def good() -> dict[str, Any]:
    table = {**KNOWN, "gaps": [1.0, None], "none": [None, None]}
    return json.loads(json.dumps(Encoding.fit([table]).to_dict()))  # type: ignore[no-any-return]


def test_the_good_one_loads() -> None:
    assert Encoding.from_dict(good()).n_attributes == 10


WRONG: list[tuple[tuple[Any, ...], Any]] = [
    ((), None),
    ((), []),
    (("more",), 1),
    (("columns",), "temp"),
    (("columns",), ["temp"]),
    (("columns", 0), 1),
    (("columns", 0), "on"),
    (("encoders",), []),
    (("encoders",), {}),
    (("encoders", 0), None),
    (("encoders", 0, "kind"), "pickle"),
    (("encoders", 0, "kind"), "date"),
    (("encoders", 0, "kind"), ["number"]),
    (("encoders", 0, "name"), "other"),
    (("encoders", 0, "name"), 5),
    (("encoders", 0, "mean"), "0"),
    (("encoders", 0, "mean"), math.nan),
    (("encoders", 0, "mean"), 1e19),
    (("encoders", 0, "mean"), True),
    (("encoders", 0, "mean"), [0.0]),
    (("encoders", 0, "scale"), 0.0),
    (("encoders", 0, "scale"), -1.0),
    (("encoders", 0, "scale"), math.inf),
    (("encoders", 0, "missing"), 1),
    (("encoders", 0, "more"), 1),
    (("encoders", 0, "constant"), 1),
    (("encoders", 0, "notation"), [".", ",", ""]),
    (("encoders", 0, "notation"), [".", ".", "", ""]),
    (("encoders", 0, "notation"), [".", ",", "", 1]),
    (("encoders", 2, "absolute"), 1),
    (("encoders", 2, "month"), None),
    (("encoders", 2, "order"), "ydm"),
    (("encoders", 2, "order"), ["iso"]),
    (("encoders", 2, "hour"), None),
    (("encoders", 2, "weekday"), "yes"),
    (("encoders", 3, "categories"), []),
    (("encoders", 3, "categories"), ["red", "red"]),
    (("encoders", 3, "categories"), ["red", 1]),
    (("encoders", 3, "categories"), "rb"),
    (("encoders", 3, "categories"), [str(i) for i in range(33)]),
    (("encoders", 3, "other"), True),
    (("encoders", 3, "other"), "no"),
    (("encoders", 3, "shares"), [0.5]),
    (("encoders", 3, "shares"), [0.5, 0.0]),
    (("encoders", 3, "shares"), [0.5, math.nan]),
    (("encoders", 3, "shares"), [0.5, 2.0]),
    (("dropped",), {}),
    (("dropped",), ["none"]),
    (("dropped",), {"none": 1}),
    (("dropped",), {"none": "x", "temp": "y"}),
    (("dropped",), {"none": "x", "more": "y"}),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_hostile_fields_are_refused(path: tuple[Any, ...], value: Any) -> None:
    data: Any = good()
    if path:
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = copy.deepcopy(value)
    else:
        data = value
    with pytest.raises(InputError, match=r"^encoding") as caught:
        Encoding.from_dict(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["columns", "encoders", "dropped"])
def test_absent_fields_are_refused(key: str) -> None:
    data = good()
    del data[key]
    with pytest.raises(InputError, match=r"^encoding"):
        Encoding.from_dict(data)
    for field in good()["encoders"][3]:
        data = good()
        del data["encoders"][3][field]
        with pytest.raises(InputError, match=r"^encoding"):
            Encoding.from_dict(data)


def test_encoders_of_earlier_versions_load() -> None:
    data = good()
    for encoder in data["encoders"]:
        for field in ("constant", "notation", "absolute", "month", "order"):
            encoder.pop(field, None)
    encoding = Encoding.from_dict(data)
    assert "when" in encoding.attribute_names  # absolute time, as it was
    gaps = encoding.attribute_names.index("gaps")
    assert encoding.transform({**KNOWN, "gaps": [5.0, None]})[0, gaps] == 4.0  # a constant column had the scale 1
