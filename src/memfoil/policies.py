"""How the next token is drawn, and the names by which configuration and tables know it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memfoil.errors import InvalidConfiguration

# One spelling for each number, so that a policy has one name.
_NAME = re.compile(
    r"(?=.)(?:temperature-(?P<temperature>0\.\d*[1-9]|[1-9]\d*(?:\.\d*[1-9])?))?"
    r"(?:(?:^|(?<=\d)\+)top-(?P<top_k>[1-9]\d*))?"
    r"(?:(?:^|(?<=\d)\+)top-p-(?P<top_p>0\.\d*[1-9]))?"
)


@dataclass(frozen=True)
class Policy:
    """How the next token is drawn: temperature, then top-k, then top-p of what is left.

    The top-p tokens are the fewest likeliest whose probabilities sum to at least `top_p`.
    """

    temperature: float
    top_p: float
    top_k: int | None

    def __post_init__(self) -> None:
        self._require(
            ("temperature", self.temperature > 0, "it must be above 0"),
            ("top_p", 0 < self.top_p <= 1, "it must be above 0 and at most 1"),
            ("top_k", self.top_k is None or self.top_k >= 1, "it must be at least 1, or null"),
        )

    @property
    def plain(self) -> bool:
        """Is it top-k alone, whose scores come from ranks and the log-mass of the k likeliest?"""
        return self.temperature == self.top_p == 1

    def _require(self, *rules: tuple[str, bool, str]) -> None:
        for name, right, rule in rules:
            if not right:
                raise InvalidConfiguration(f"decoding/{name} is {getattr(self, name)}; {rule}")


def policy_of(name: str) -> Policy:
    """The policy that a name stands for, such as `temperature-0.7+top-40+top-p-0.95`.

    Any of the three parts may be left out. Numbers have no trailing zeros.

    Raises
    ------
    InvalidConfiguration
        If it is no name of a policy.
    """
    match = _NAME.fullmatch(name)
    if not match:
        raise InvalidConfiguration(
            f"decoding policy {name!r} is unknown; write temperature-<T>, top-<k> and top-p-<p>, "
            "in this order, with + between them: temperature-0.7+top-40+top-p-0.95"
        )
    temperature, top_k, top_p = match["temperature"], match["top_k"], match["top_p"]
    return Policy(float(temperature or 1), float(top_p or 1), int(top_k) if top_k else None)


def column_of(name: str) -> str:
    """What stands for a policy in the names of columns."""
    return re.sub(r"[-+]", "_", name)
