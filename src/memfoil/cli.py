"""The commands that make sense without Snakemake, and the edge where mistakes are shown once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from memfoil import __version__
from memfoil.errors import InvalidConfiguration, MemfoilError, one_line

Answer = tuple[str, int]
"""What a command prints, and its exit status."""
Command = Callable[[argparse.Namespace], Answer]

CALIBRATE = """\
Judge candidates by matched non-members (controls) at a fixed false-positive rate.

SCORES is a Parquet file, or a CSV file in UTF-8 whose name ends in .csv, with one row per
sequence and the columns
  role           candidate or control
  log_score      natural log of a probability, at most 0, -inf if impossible; or instead
  score          any other number where more means more memorized
  procedure, suffix_tokens, sequence_id   optional; each procedure and suffix length is judged
                 by its own controls
"""

JSON = """\
--json prints one object: n_controls, k, alpha, alpha_n, log_tau, in_sample_fpr, n_candidates,
n_claims, generation_rate, generation_interval, calibrated_rate, calibrated_interval (95%
intervals, [low, high]), alpha_star (mean, q025, q90, q95, q975, exceedance), alpha_dagger. JSON has
no infinity: log_tau is then the string "-inf" (or "inf"). With a column score, log_tau is on that
score's own scale. Several procedures or suffix lengths give a list of such objects, each with its
procedure and suffix_tokens.

A mistake in the input, or too few controls for alpha, ends with one line and exit status 2.
"""

TRACE = """\
Find which spans of generations occur in a corpus, and the documents that hold the rarest.

FILE of --generations is Parquet with the columns generation_id and token_ids (the continuation
alone), optional text, prompt_id, setting. --out receives the table traces (docs/tables.md): one row
for each span kept and each document found; with --spans maximal the table spans: every maximal
span, whatever its length, with its count.
"""

INDEX = """\
Build a suffix-array index of a corpus in infini-gram's own format.

FILE of --tokens is Parquet with the columns document_id and token_ids. The index gets its name when
it is complete and checked: every pointer, and the order of all suffixes.
"""

AUDIT = """\
Check every table under RESULTS: that it holds the bytes memfoil wrote, and that each of its inputs
(tables, documents, indexes, models) is still the one it was made from.

Exit status: 0 when the chain holds, 1 when a table or an input does not match (each is named, with
the command that rebuilds it), 2 for a mistake in the command.
"""

EXPORT = """\
Put a run's tables, figures, pages and environments into one file that holds none of its texts
(docs/audit.md). A run whose tables are damaged or stale is refused.
"""

VERIFY = """\
Compute the conclusions of an export again from the scores, spans and runs in it. No model, no GPU
and no text is needed; what only these could tell is checked by its digest alone, and listed.

Exit status: 0 when all agrees, 1 when something differs (the first row is named), 2 for a mistake
in the command.
"""

PLAN = """\
Say what a run costs before anything runs: for each stage the sequences, FLOPs, GPU-hours, disk and
memory. CONFIG is a run's configuration, such as config/experiments/population.yaml; call it in the
folder of the workflow. No model, no network is needed.
"""


INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    0 when it succeeds, 1 when an audit finds what does not match, 2 after a user's mistake or on
    a full disk or memory, 130 when it is interrupted: no file is then left half-written.
    """
    status = 0
    try:
        arguments = _parser().parse_args(argv)
        answer, status = arguments.run(arguments)
        print(answer, flush=True)  # noqa: T201
    except BrokenPipeError:  # whoever reads the output, such as `head`, has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("memfoil: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except MemoryError as error:
        print(f"memfoil: the memory does not hold this: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except (MemfoilError, OSError) as error:
        print(one_line(error), file=sys.stderr)  # noqa: T201
        return 2
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidConfiguration(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="memfoil", description="Calibrated verification of memorization.")
    parser.add_argument("--version", action="version", version=f"memfoil {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_calibrate(commands)
    index = commands.add_parser("index", help="build an index of a corpus")
    _add_build(index.add_subparsers(title="commands", required=True, metavar="COMMAND"))
    _add_trace(commands)
    _add_audit(commands)
    _add_plan(commands)
    return parser


def _command(
    commands: Any, name: str, run: Command, about: str, text: str = "", epilog: str = ""
) -> argparse.ArgumentParser:
    """A command that `run` answers: `about` in the list of commands, `text` on its own page."""
    command = commands.add_parser(
        name,
        help=about,
        description=text or f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_calibrate(commands: Any) -> None:
    about = "judge a table of scores at a fixed false-positive rate"
    calibrate = _command(commands, "calibrate", _calibrate, about, CALIBRATE, JSON)
    calibrate.add_argument("scores", metavar="SCORES", help="Parquet or CSV file")
    calibrate.add_argument(
        "--alpha",
        required=True,
        type=_rate,
        help="false-positive rate, such as 0.001 or 5/5001",
    )
    calibrate.add_argument(
        "--confidence",
        type=float,
        help="keep the realized rate at most alpha with this confidence over draws of the "
        "controls, not only on average",
    )
    calibrate.add_argument("--json", action="store_true", help="print JSON")


def _add_build(commands: Any) -> None:
    build = _command(commands, "build", _build_index, "from a table of token ids", INDEX)
    build.add_argument("--tokens", required=True, metavar="FILE", help="the corpus, Parquet")
    build.add_argument("--out", "--index", required=True, metavar="DIR", help="the index")
    build.add_argument(
        "--vocab-size",
        type=int,
        metavar="N",
        help="ids are below this; by default the tokenizer's, or as many as two bytes hold if "
        "they hold every id",
    )
    build.add_argument("--tokenizer", default="", help="its folder or its name, kept in the index")
    build.add_argument(
        "--shards", type=int, default=1, metavar="N", help="parts, built at a time: less memory"
    )


def _add_trace(commands: Any) -> None:
    about = "find the spans of generations that occur in an index"
    trace = _command(commands, "trace", _trace, about, TRACE)
    trace.add_argument(
        "--index",
        required=True,
        metavar="DIR",
        help="an index, or a YAML file that describes a hosted one (docs/tracing.md)",
    )
    trace.add_argument("--generations", required=True, metavar="FILE", help="Parquet")
    trace.add_argument("--out", required=True, metavar="FILE", help="the table written, Parquet")
    trace.add_argument(
        "--spans", choices=("selected", "maximal"), default="selected", help="selected: the rarest"
    )
    trace.add_argument("--mode", choices=("mixed", "text", "olmotrace"), default="mixed")
    trace.add_argument(
        "--tokenizer",
        default="",
        help="of the generations: its folder or its name, which must be the index' own. A folder "
        "makes the other modes, --page, and matches but for white space and Unicode form possible",
    )
    trace.add_argument(
        "--vocab-size",
        type=int,
        metavar="N",
        help="number of ids, for an index that infini-gram made; by default the tokenizer's",
    )
    trace.add_argument("--seed", type=int, default=1, help="for the documents of frequent spans")
    trace.add_argument("--page", metavar="FILE", help="also write an HTML page to look at")


def _add_audit(commands: Any) -> None:
    about = "check that tables are whole and made from the inputs that lie there"
    audit = _command(commands, "audit", _audit, about, AUDIT)
    audit.add_argument("results", metavar="RESULTS", help="a folder of results, or one table")
    audit.add_argument("--json", action="store_true", help="print JSON")
    about = "say what a table is, who made it from what, and how it begins"
    show = _command(commands, "show", _show, about)
    show.add_argument("table", metavar="TABLE", help="a Parquet file of a run")
    about = "put a run, without its texts, into one file"
    export = _command(commands, "export", _export, about, EXPORT)
    export.add_argument("run_folder", metavar="RUN", help="results/<run>")
    export.add_argument("--to", required=True, metavar="FILE", help="the zip file written")
    about = "compute the conclusions of an export again from what was measured"
    verify = _command(commands, "verify", _verify, about, VERIFY)
    verify.add_argument("archive", metavar="FILE", help="what memfoil export wrote")
    verify.add_argument("--json", action="store_true", help="print JSON")


def _add_plan(commands: Any) -> None:
    plan = _command(commands, "plan", _plan, "say what a run costs", PLAN)
    plan.add_argument("config", metavar="CONFIG", help="YAML file")
    plan.add_argument("--gpu", default="h100", help="a100, h100 (default), h200 or l40s")


def _rate(text: str) -> Fraction | float:
    try:
        return Fraction(text) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text} is not a number") from None


def _calibrate(arguments: argparse.Namespace) -> Answer:
    from memfoil import judge

    judgements = judge.judge(arguments.scores, arguments.alpha, arguments.confidence)
    if arguments.json:
        return json.dumps(judge.as_json(judgements), indent=2, allow_nan=False), 0
    return "\n\n".join(judge.as_text(each, arguments.scores) for each in judgements), 0


def _build_index(arguments: argparse.Namespace) -> Answer:
    from memfoil.build_index import build_index

    return build_index(**_options(arguments)), 0


def _trace(arguments: argparse.Namespace) -> Answer:
    from memfoil.trace_file import trace_file

    return trace_file(**_options(arguments)), 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(arguments).items() if name != "run"}


def _audit(arguments: argparse.Namespace) -> Answer:
    from memfoil.audit.chain import audit

    found = audit(arguments.results)
    text = json.dumps(found.as_json(), indent=2) if arguments.json else found.as_text()
    return text, int(not found.holds)


def _show(arguments: argparse.Namespace) -> Answer:
    from memfoil.audit.show import show

    return show(arguments.table), 0


def _export(arguments: argparse.Namespace) -> Answer:
    from memfoil.audit.export import export

    return export(arguments.run_folder, arguments.to), 0


def _verify(arguments: argparse.Namespace) -> Answer:
    from memfoil.audit.verify import verify

    found = verify(arguments.archive)
    if arguments.json:
        said = json.dumps({"holds": not found.problems, **found._asdict()}, indent=2)
    else:
        said = found.as_text()
    return said, int(bool(found.problems))


def _plan(arguments: argparse.Namespace) -> Answer:
    from memfoil.plan import plan

    return plan(arguments.config, arguments.gpu), 0
