"""Candidates and controls with made-up scores, as calibration takes them."""

import numpy as np
import pandas as pd

from memfoil import calibration

POOLS = {"planted": 30, "seen once": 50, "held-out": 60, "post-cutoff": 40}
CANDIDATE_POOLS = ("planted", "seen once")


def sequences_of(pools, candidate_pools=CANDIDATE_POOLS):
    names = [f"{pool}:{i}" for pool, n in pools.items() for i in range(n)]
    pool = [name.split(":")[0] for name in names]
    return pd.DataFrame(
        {
            "sequence_id": names,
            "document_id": [name[-1] for name in names],
            "pool": pool,
            "role": ["candidate" if p in candidate_pools else "control" for p in pool],
            "date": pd.Timestamp("1950-01-01"),
            "source": "made",
            "token_ids": [np.zeros(2, dtype=np.int32)] * len(names),
            "prefix_tokens": 1,
            "text": "words",
        }
    )


def scores_of(sequences, values, procedure="base", suffix_tokens=50):
    return pd.DataFrame(
        {
            "sequence_id": sequences["sequence_id"],
            "procedure": procedure,
            "suffix_tokens": suffix_tokens,
            "log_score": values,
        }
    )


def verdicts(sequences, members):
    controls = sequences.loc[sequences["role"] == "control", "sequence_id"]
    return pd.DataFrame({"sequence_id": controls, "member": controls.isin(members)})


def blind(auc):
    pools = [p for p in POOLS if p not in CANDIDATE_POOLS]
    return pd.DataFrame({"control_pool": pools, "quantity": "blind AUC", "candidates": auc})


def claims_of(scores, sequences, contamination, thresholds, **changes):
    settings = {"suffix_tokens": [50], "queries": 1e5, "success": 0.95, "seed": 1} | changes
    return calibration.claims(scores, sequences, contamination, thresholds, **settings)
