"""What the values of a label mean where they are others than 1, 0 and -1."""

from collections.abc import Iterable
from dataclasses import dataclass

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.parsing import MISSING_VALUES
from oddshot.errors import InputError, as_list

INVALID = 2  # in the place of a label, of a value that is none
_LABELS_BY_TEXT = {"1": ANOMALY, "0": NORMAL, "-1": UNLABELLED, "true": ANOMALY, "false": NORMAL}
_SIDES = {ANOMALY: "anomalies", NORMAL: "normal rows"}


@dataclass(frozen=True)
class LabelMeaning:
    """The values that mean anomaly, or those that mean normal; every other value then means the opposite.

    named: these values as `label_text` writes them; without any, labels are 1, 0, -1, true and false. label: what they
    mean, ANOMALY or NORMAL. arguments: what the values of anomalies and of normal rows are called where they are given,
    for messages.
    """

    named: tuple[str, ...] = ()
    label: int = ANOMALY
    arguments: tuple[str, str] = ("anomaly_value", "normal_value")

    @classmethod
    def of(
        cls, anomaly_value: object, normal_value: object, arguments: tuple[str, str] = ("anomaly_value", "normal_value")
    ) -> "LabelMeaning":
        """The meaning that a person gives: one value or several of one side, None for those of the other."""
        if anomaly_value is not None and normal_value is not None:
            raise InputError(
                f"{' and '.join(arguments)} exclude each other: where the values of one side are named, every other "
                "value is of the other side"
            )
        label = ANOMALY if normal_value is None else NORMAL
        given, argument = (anomaly_value, arguments[0]) if label == ANOMALY else (normal_value, arguments[1])
        return cls(() if given is None else _texts(given, argument, _SIDES[label]), label, arguments)

    def label_of(self, value: object) -> int:
        """What a cell means: 1, 0, -1, or INVALID."""
        text = label_text(value)
        if text in MISSING_VALUES:
            return UNLABELLED
        if not self.named:
            return _LABELS_BY_TEXT.get(text, INVALID)
        return self.label if text in self.named else self.opposite

    @property
    def opposite(self) -> int:
        """What values mean that are not named."""
        return NORMAL if self.label == ANOMALY else ANOMALY

    @property
    def advice(self) -> str:
        """What a person can do about labels that are others than 1, 0 and -1."""
        anomalies, normals = self.arguments
        return f"name the values of anomalies with {anomalies}, or those of normal rows with {normals}"


CONVENTION = LabelMeaning()


def label_text(value: object) -> str:
    """Return the same text for 1, 1.0 and " 1", and for True and "true"; an empty one for None."""
    text = "" if value is None else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _texts(given: object, argument: str, side: str) -> tuple[str, ...]:
    """The values of one side as text, each once."""
    is_one = isinstance(given, str | bytes) or not isinstance(given, Iterable)
    values = [given] if is_one else as_list(argument, given, f"one value of {side}, or a list of them")
    texts = tuple(dict.fromkeys(map(label_text, values)))
    if not texts:
        raise InputError(f"{argument} is empty; expected one value of {side}, or several")
    missing = [text for text in texts if text in MISSING_VALUES]
    if missing:
        raise InputError(
            f"{argument}: {format_names(missing)} is how a missing label is written, and a row without a label is "
            f"unlabelled; expected values of {side}"
        )
    return texts
