"""Documents and passages of a few words, and draws from them."""

import pandas as pd

from memfoil.sampling import draws
from memfoil.sampling.passages import cut

CANDIDATE = {"role": "candidate", "passages": "all", "to": "1999-12-31"}
CONTROL = {"role": "control", "passages": "all", "from": "2000-01-01"}


def documents(texts, dates=None):
    return pd.DataFrame(
        {
            "document_id": [f"d{i}" for i in range(len(texts))],
            "text": texts,
            "date": pd.to_datetime(dates or ["2000-01-01"] * len(texts)).astype("datetime64[ms]"),
            "source": "s",
            "title": None,
            "author": None,
        }
    )


def passages(n_documents=30, each=5):
    """Passages of a few words from documents of 1995 to 2004, one source for even documents."""
    dates = [f"{1995 + i % 10}-06-01" for i in range(n_documents)]
    texts = [" ".join(f"w{i}.{j}" for j in range(3 * each)) for i in range(n_documents)]
    frame, _ = cut(documents(texts, dates), 3)
    even = frame["document_id"].str[1:].astype(int) % 2 == 0
    return frame.assign(source=even.map({True: "even", False: "odd"}))


def draw(frame, pools, seed=0, max_per_document=2, splits=None):
    return draws.draw(frame, pools, seed=seed, max_per_document=max_per_document, splits=splits)
