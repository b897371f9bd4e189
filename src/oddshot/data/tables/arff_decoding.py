"""A decoder of ARFF files that takes time in proportion to their length."""

import re
from typing import Any

import arff

_DECLARATION = re.compile(r"""(\S+)\s++("[^"]*+"|'[^']*+'|[^{}%,\s]*+)\s++(.+)""", re.DOTALL)


class Decoder(arff.ArffDecoder):  # type: ignore[misc]
    """The library's, but for the declarations of attributes.

    To see whether one declares values, as in {a,b,c}, the library tries all ways to divide them where the end is wrong.
    """

    def _decode_attribute(self, line: str) -> tuple[str, Any]:
        found = _DECLARATION.fullmatch(line)
        if found is None:
            raise arff.BadAttributeFormat
        keyword, name, declared = found.groups()
        if "{" not in declared:
            decoded: tuple[str, Any] = super()._decode_attribute(f"{keyword} {name} {declared}")
            return decoded
        if not declared.startswith("{") or not declared.endswith("}"):
            raise arff.BadAttributeType
        try:
            values = arff._parse_values(declared[1:-1].strip())
        except (arff.ArffException, ValueError) as error:
            raise arff.BadAttributeType from error
        if isinstance(values, dict):
            raise arff.BadAttributeType
        return super()._decode_attribute(f"{keyword} {name} STRING")[0], values
