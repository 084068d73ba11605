"""What a text looks like, without any index: loops, symbols, code; and its normalized form."""

from __future__ import annotations

import re
import unicodedata
import zlib

import numpy as np

from memfoil.index.kernel import compiled

LONGEST_UNIT = 200

_CODE = re.compile(
    r"""\s*(?:
        (?:import|from|\#include|\#define|using|package|require|module)\b[^.!?]*[;>'"\w*)]?$
      | (?:export\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+)*
        (?:def|class|function|fn|func|struct|enum|interface|const|let|var|int|float|double|char
          |bool|void|return|if|for|while|switch|try|catch|else)\b.*[({=:;]\s*$
      | [^\w\s]*[{}\[\]()]+[;,)]*\s*$
      | .*[{};]\s*$
      | (?://|/\*|\*/|\*\s|<!--|\#!|\#\s|--\s|<[/\w][^>]*>)
    )""",
    re.VERBOSE,
)


def zlib_ratio(text: str) -> float:
    """Compressed size over size in UTF-8; 1 for an empty text.

    Source: Carlini et al. 2021, section 5.1.
    """
    raw = text.encode(errors="surrogatepass")
    return len(zlib.compress(raw)) / len(raw) if raw else 1.0


def is_degenerate(text: str) -> bool:
    """Whether a text is a loop of symbols: it shrinks below a tenth, and fewer than half of its
    characters other than space are letters.

    Source: PropMe 2026, section 4.3.
    """
    visible = "".join(text.split())
    return zlib_ratio(text) < 0.1 and 2 * _letters(visible) < len(visible)


def is_code_like(text: str) -> bool:
    """Whether at least three lines, and 30% of the lines, look like code, or fewer than half of
    all characters are letters. Empty lines do not count; an empty text is not code.

    Source: PropMe 2026, appendix K.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    code = sum(_CODE.match(line) is not None for line in lines)
    return (code >= 3 and 10 * code >= 3 * len(lines)) or 2 * _letters(text) < len(text)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def is_loop(text: str) -> bool:
    """Whether one unit of at most 200 characters is repeated throughout a text.

    White space is collapsed; for some period the text holds three units at least, and 90% of its
    characters equal the one a period later.

    Source: PropMe 2026, appendix K.
    """
    collapsed = " ".join(text.split()).encode("utf-32-le", errors="surrogatepass")
    return bool(_has_period(np.frombuffer(collapsed, np.uint32)))


@compiled
def _has_period(characters: np.ndarray) -> bool:
    n = characters.size
    for period in range(1, min(LONGEST_UNIT, n // 3) + 1):
        different, allowed = 0, (n - period) // 10
        for i in range(n - period):
            if characters[i] != characters[i + period]:
                different += 1
                if different > allowed:
                    break
        if different <= allowed:
            return True
    return False


def normalized(text: str) -> str:
    """Unicode compatibility form NFKC, with every run of white space one space.

    A match that only this brings about is a match of the text, not of its encoding.
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())
