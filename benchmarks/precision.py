"""What narrow types and batches cost: the same sequences scored four ways by one model.

    python benchmarks/precision.py [--model FOLDER] [--sequences TABLE] [--per-pool 500]

By default the model and the sequences of the finished default run. Float32 in batches of 256 is
what the others are compared with: float32 alone, bfloat16 in batches of 256, bfloat16 alone.
Thresholds come from all controls that were scored. `claims changed` counts candidates claimed on
one side only: where thresholds are set with scores of the same kind, and where the controls stay in
float32 (a mistake that should show).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd
from tabulate import tabulate

from memfoil.models import load
from memfoil.scoring import derive, teacher_forced
from memfoil.stats.conformal import threshold
from memfoil.tables import SEQUENCES

WAYS = [("float32", 256), ("float32", 1), ("bfloat16", 256), ("bfloat16", 1)]
ALPHAS = (0.01, 0.1)
TOP_K = 40


def scored(folder: str, sequences: pd.DataFrame, dtype: str, batch: int) -> pd.DataFrame:
    model = load(folder, dtype=dtype)
    longest = int(sequences["token_ids"].map(len).max()) + len(model.start_of_text)
    model.batch_tokens = batch * longest
    return teacher_forced(model, sequences, top_k=(TOP_K,))


def per_sequence(tokens: pd.DataFrame, procedure: str) -> pd.Series:
    """Log-scores of whole suffixes, by sequence."""
    scores = derive(tokens, procedures=[procedure], suffix_lengths=[int(tokens["position"].max())])
    return scores.set_index("sequence_id")["log_score"]


def differences(one: pd.DataFrame, other: pd.DataFrame) -> list[str]:
    """How far token scores and the scores of sequences are apart."""
    apart = (per_sequence(one, "base") - per_sequence(other, "base")).abs()
    possible, before = (np.isfinite(per_sequence(table, f"top-{TOP_K}")) for table in (one, other))
    rank, base = one["rank"].to_numpy(), other["rank"].to_numpy()
    flips = [np.mean(rank != base), *(np.mean((rank <= k) != (base <= k)) for k in (1, TOP_K))]
    return [
        f"{apart.median():.2g}",
        f"{apart.max():.2g}",
        *(f"{100 * share:.2g}%" for share in flips),
        str((possible != before).sum()),
    ]


def claims(scores: pd.Series, roles: pd.Series, controls: pd.Series, alpha: float) -> set[str]:
    tau = threshold(controls[roles == "control"], alpha).log_tau
    return set(scores.index[(roles == "candidate") & (scores > tau)])


def verdicts(one: pd.DataFrame, other: pd.DataFrame, roles: pd.Series, alpha: float) -> list[str]:
    """Shift of the threshold, claims, and claims changed under two rules."""
    scores, base = (per_sequence(table, "base") for table in (one, other))
    shift = (
        threshold(scores[roles == "control"], alpha).log_tau
        - threshold(base[roles == "control"], alpha).log_tau
    )
    right, same, mixed = (
        claims(values, roles, controls, alpha)
        for values, controls in ((base, base), (scores, scores), (scores, base))
    )
    return [f"{shift:+.2g}", str(len(same)), str(len(same ^ right)), str(len(mixed ^ right))]


def drawn(path: str, per_pool: int) -> pd.DataFrame:
    sequences = SEQUENCES.read(path)
    chosen = sequences.sample(frac=1, random_state=0).groupby("pool").head(per_pool)
    return chosen.sort_values("sequence_id", ignore_index=True)


def tables(folder: str, sequences: pd.DataFrame) -> Sequence[str]:
    roles = sequences.set_index("sequence_id")["role"]
    found = {way: scored(folder, sequences, *way) for way in WAYS}
    base = found[WAYS[0]]
    rows, judged = [], []
    for way in WAYS[1:]:
        name = f"{way[0]}, batch {way[1]}"
        rows.append([name, *differences(found[way], base)])
        judged += [[name, f"{a:g}", *verdicts(found[way], base, roles, a)] for a in ALPHAS]
    headers = [
        "beside float32, batch 256", "log p apart: median", "maximum", "tokens of another rank",
        "in or out of rank 1", f"of rank {TOP_K}", f"top-{TOP_K}: zero on one side only",
    ]  # fmt: skip
    more = [
        "", "alpha", "threshold moves by", "claims", "claims changed", "with controls in float32",
    ]  # fmt: skip
    # as text: tabulate would trim signs and zeros
    return [
        tabulate(rows, headers, tablefmt="github", disable_numparse=True),
        tabulate(judged, more, tablefmt="github", disable_numparse=True),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="results/demo/testbed/model")
    parser.add_argument("--sequences", default="results/demo/sequences/testbed.parquet")
    parser.add_argument("--per-pool", type=int, default=500)
    options = parser.parse_args()
    sequences = drawn(options.sequences, options.per_pool)
    counts = sequences["role"].value_counts()
    print(f"{counts['candidate']} candidates, {counts['control']} controls\n")
    print("\n\n".join(tables(options.model, sequences)))


if __name__ == "__main__":
    main()
