"""Scores per suffix token, once, and the procedures' scores derived from them."""

from memfoil.scoring.procedures import derive
from memfoil.scoring.teacher_forcing import (
    require_own_tokens,
    teacher_forced,
    write_token_scores,
)

__all__ = ["derive", "require_own_tokens", "teacher_forced", "write_token_scores"]
