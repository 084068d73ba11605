"""What the decoding procedures make of the token scores, for every suffix length."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.policies import column_of, policy_of


def derive(
    token_scores: pd.DataFrame, *, procedures: Iterable[str], suffix_lengths: Iterable[int]
) -> pd.DataFrame:
    """Log-probability that a procedure generates the first n suffix tokens, for each n.

    `greedy`: 0 when each token is the only arg max, -inf otherwise. `base`: the sum of
    log-probabilities. `top-<k>`: the sum of log-probability less log-mass while each token is
    among the k likeliest, -inf otherwise. A token that ties at the edge is not among them. The name
    of a decoding policy with a temperature or a top-p: the sum of its log-probabilities.

    Parameters
    ----------
    token_scores : DataFrame
        TOKEN_SCORES table.
    procedures : names
    suffix_lengths : numbers of tokens, each at most the shortest suffix scored

    Returns
    -------
    DataFrame
        SCORES table: by procedure, then sequence in the order given, then suffix length.

    Raises
    ------
    InvalidConfiguration
        If a procedure is unknown, its log-mass was not scored, or a length was not.
    InvalidTable
        If positions of a sequence are missing.

    Source: Cooper et al. 2026, section 3.
    """
    lengths = np.array(sorted(set(suffix_lengths)))
    if not len(lengths) or lengths[0] < 1:
        raise InvalidConfiguration(f"suffix_lengths {lengths.tolist()}: give numbers from 1 on")
    tokens = _Matrices(token_scores, int(lengths[-1]))
    n_sequences, n_lengths = len(tokens.sequence_ids), len(lengths)
    blocks = [
        pd.DataFrame(
            {
                "sequence_id": tokens.sequence_ids.repeat(n_lengths),
                "procedure": procedure,
                "suffix_tokens": np.tile(lengths, n_sequences),
                "log_score": _log_scores(tokens, procedure)[:, lengths - 1].ravel(),
            }
        )
        for procedure in dict.fromkeys(procedures)
    ]
    if not blocks:
        raise InvalidConfiguration("procedures: name at least one")
    return pd.concat(blocks, ignore_index=True)


class _Matrices:
    """Columns of a token table as (sequences, positions) matrices, positions 1 to n."""

    def __init__(self, token_scores: pd.DataFrame, n: int) -> None:
        self.table = token_scores[token_scores["position"] <= n]
        self.row, names = pd.factorize(token_scores["sequence_id"])
        self.row = self.row[(token_scores["position"] <= n).to_numpy()]
        self.sequence_ids = pd.Index(names)
        self.column = self.table["position"].to_numpy() - 1
        self.shape = (len(names), n)
        there = np.zeros(self.shape, bool)
        there[self.row, self.column] = True
        if not there.all():
            self._refuse(token_scores, int(np.argmin(there.all(axis=1))))

    def _refuse(self, token_scores: pd.DataFrame, row: int) -> None:
        name = self.sequence_ids[row]
        positions = token_scores.loc[token_scores["sequence_id"] == name, "position"]
        if len(positions) < positions.max():
            raise InvalidTable(
                f"token_scores: sequence_id {name}: {len(positions)} positions up to "
                f"{positions.max()}; some are missing"
            )
        raise InvalidConfiguration(
            f"suffix_lengths: {self.shape[1]} tokens are asked for, but sequence {name} was scored "
            f"for {len(positions)}; ask for fewer, or score longer suffixes"
        )

    def matrix(self, name: str) -> np.ndarray:
        values = self.table[name].to_numpy()
        result = np.empty(self.shape, values.dtype)
        result[self.row, self.column] = values
        return result


def _log_scores(tokens: _Matrices, procedure: str) -> np.ndarray:
    """(sequences, positions): the score of the suffix that ends there."""
    if procedure == "base":
        return tokens.matrix("log_probability").cumsum(axis=1)
    worst_rank = np.maximum.accumulate(tokens.matrix("rank"), axis=1)
    if procedure == "greedy":
        return np.where(worst_rank == 1, 0.0, -np.inf)
    policy = policy_of(procedure)
    if not policy.plain:
        name = f"log_probability_{column_of(procedure)}"
        each = tokens.matrix(_scored(tokens, name, procedure, "scoring/policies"))
        # what is not known behind an impossible token changes nothing
        possible = np.logical_and.accumulate(each > -np.inf, axis=1)
        return np.where(possible, each.cumsum(axis=1), -np.inf)
    name = _scored(tokens, f"log_mass_top_{policy.top_k}", procedure, "scoring/top_k")
    kept = (tokens.matrix("log_probability") - tokens.matrix(name)).cumsum(axis=1)
    return np.where(worst_rank <= policy.top_k, np.minimum(kept, 0.0), -np.inf)


def _scored(tokens: _Matrices, column: str, procedure: str, key: str) -> str:
    """The column, if it was scored."""
    if column not in tokens.table:
        names = map(str, tokens.table)
        there = [name for name in names if re.match("log_(mass|probability)_", name)]
        raise InvalidConfiguration(
            f"procedure {procedure}: {column} was not scored (there are {', '.join(there) or 'no'} "
            f"such columns); add it to {key} and score again"
        )
    return column
