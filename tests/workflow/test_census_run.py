"""The census of the small run: its numbers follow from its tables, its mistakes stop it."""

import math

import pandas as pd
import pytest
import yaml

from memfoil import tables

pytestmark = pytest.mark.workflow
LN10 = math.log(10)


@pytest.fixture
def copy(finished, tmp_path):
    """The small run, to be spoilt."""
    return finished.copy(tmp_path / "copy")


def census(checkout):
    return checkout.folder / "results" / "small" / "census"


@pytest.fixture(scope="module")
def stored(finished):
    """Every stored table that the census rests on."""
    folder = census(finished)
    read = {
        "texts": tables.CENSUS_TEXTS.read(folder / "texts.parquet"),
        "windows": tables.CENSUS_WINDOWS.read(folder / "windows/testbed/bush.parquet"),
        "scores": tables.CENSUS_SCORES.read(folder / "scores/testbed/bush.parquet"),
        "near": tables.NEAR_VERBATIM.read(folder / "near_verbatim/testbed/bush.parquet"),
        "beams": tables.BEAM_SEARCHES.read(folder / "beam_searches/testbed/bush.parquet"),
    }
    for name in ("thresholds", "census", "curves", "recovery", "heat", "truth", "controls"):
        table = getattr(tables, name.upper() if name == "census" else f"CENSUS_{name.upper()}")
        read[name] = table.read(folder / "testbed" / f"{name}.parquet")
    leaving = folder.parent / "left_out/census/controls/testbed.parquet"
    read["leaving"] = tables.LEFT_OUT.read(leaving)
    return read


def log10_scores(stored, document, procedure):
    """(suffix start, suffix end, log10 score, window) of every window of a text."""
    scores = stored["scores"]
    decoding = "base" if procedure == "near-verbatim" else procedure
    found = dict(
        scores.loc[scores["procedure"] == decoding, ["window_id", "log_score"]].itertuples(
            index=False
        )
    )
    if procedure == "near-verbatim":
        near = stored["near"]
        for row in near[near["radius"] == near["radius"].max()].itertuples():
            found[row.window_id] = max(found[row.window_id], row.log_mass)
    windows = stored["windows"]
    return [
        (row.suffix_start_char, row.end_char, found[row.window_id] / LN10, row.window_id)
        for row in windows[windows["document_id"] == document].itertuples()
    ]


@pytest.mark.parametrize("procedure", ["base", "top-40", "near-verbatim"])
def test_every_number_of_the_census_table_follows_from_the_stored_tables(stored, procedure):
    gone = set(stored["leaving"]["item_id"])
    control = [s for *_, s, w in log10_scores(stored, "1992-Bush-1", procedure) if w not in gone]
    tau = max(control) if math.isinf(max(control)) else math.ceil(max(control) - 1e-9)
    text = stored["texts"].set_index("document_id").loc["1990-Bush-1", "text"]
    best = [-math.inf] * len(text)
    inside = [False] * len(text)
    above = 0
    for start, end, score, _ in log10_scores(stored, "1990-Bush-1", procedure):
        above += score > tau
        for char in range(start, end):
            inside[char] = True
            best[char] = max(best[char], score)
    rows = stored["census"].set_index(["procedure", "threshold"])
    memorized = [score > tau for score in best]
    reachable = [score > tau and -score <= 5 - math.log10(-math.log(0.05)) for score in best]
    for threshold in ("book", "global"):
        row = rows.loc[(procedure, threshold)]
        assert row["log10_tau"] == tau
        assert row["characters"] == len(text)
        assert row["suffix_chars"] == sum(inside)
        assert row["n_above"] == above
        assert row["memorized_chars"] == sum(memorized)
        assert row["coverage"] == pytest.approx(sum(memorized) / len(text))
        assert abs(row["reachable_chars"] - sum(reachable)) <= 0.001 * len(text)
        assert row["unreachable"] == pytest.approx(row["coverage"] - row["reachable"])


def test_a_planted_contaminant_is_found_and_taking_it_out_lowers_the_threshold(stored, finished):
    controls = stored["controls"]
    passages = tables.PASSAGES.read(census(finished).parent / "passages.parquet")
    splits = tables.SPLITS.read(census(finished).parent / "testbed/splits.parquet")
    planted = passages.merge(splits[splits["repetitions"] > 0], on="passage_id")
    (passage,) = planted[planted["document_id"] == "1992-Bush-1"].itertuples()
    members = controls[controls["member"]]
    assert len(members) > 0
    assert (members["verdict"] == "exact").any()
    # the first word of a passage is tokenized without the space that stands before it here
    assert members["passage_start_char"].min() <= passage.start_char + 15
    assert members["passage_end_char"].max() >= passage.end_char - 15
    assert passage.passage_id in set(members["found_document_id"].str.split("#").str[0])
    thresholds = stored["thresholds"].set_index(["procedure", "decontaminated"])
    before, after = (thresholds.loc[("base", clean), "log10_tau"] for clean in (False, True))
    assert after < before


def test_the_planted_stretch_is_set_beside_what_is_found(stored):
    truth = stored["truth"].set_index(["procedure", "repetitions"])
    assert set(truth.loc["base"].index) == {0, 1, 30}
    assert truth.loc["base", "share"].sum() == pytest.approx(1)
    memorized = stored["census"].set_index(["procedure", "threshold"])["memorized_chars"]
    assert truth.loc["base", "memorized_chars"].sum() == memorized["base", "book"]
    assert truth.loc[("base", 30), "found"] > truth.loc[("base", 1), "found"]


def test_near_verbatim_is_no_dearer_than_twenty_samples(stored):
    assert (stored["near"]["forward_tokens"] <= stored["near"]["sampling_tokens"]).all()


def test_the_page_and_the_sheet_are_there(finished):
    text = (census(finished) / "summary.md").read_text()
    assert "measured maximum, not a certified level" in text
    assert "Warning" not in text  # the control is kept out, whatever its date
    sheet = pd.read_csv(census(finished) / "testbed/controls.review.csv")
    assert {"sequence_id", "text", "log10_score", "review"} <= set(sheet)


def changed(checkout, **settings):
    config = yaml.safe_load(checkout.configfile.read_text())
    config["census"] |= settings
    path = checkout.folder / "changed.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def refused(checkout, *arguments, **settings):
    done = checkout.snakemake(*arguments, configfile=changed(checkout, **settings))
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    return output


def with_pairs(checkout, *lines):
    header = (checkout.folder / "pairs.tsv").read_text().splitlines()[0]
    path = checkout.folder / "other.tsv"
    path.write_text("\n".join([header, *("\t".join(line) for line in lines)]) + "\n")
    return "other.tsv"


def test_wrong_pairs_stop_before_anything_runs(fresh):
    line = ["a", "1990-Bush-1", "1990-Bush-1", "X", "1990-01-31", "1992-01-28", "testbed"]
    output = refused(fresh, "-n", "census", pairs=with_pairs(fresh, line))
    assert "other.tsv: line 2: column control: 1990-Bush-1 is the document itself" in output
    assert "pairs.tsv: cannot be read" in refused(fresh, "-n", "census", pairs="no/pairs.tsv")


def test_a_control_older_than_the_cutoff_is_warned_about_with_both_dates(fresh):
    line = ["a", "1990-Bush-1", "1991-Bush-1", "X", "1990-01-31", "1991-01-29", "testbed"]
    path = changed(fresh, pairs=with_pairs(fresh, line))
    done = fresh.snakemake("-n", "census", configfile=path)
    assert done.returncode == 0
    warning = (
        "memfoil: warning: pair a: the control 1991-Bush-1 is dated 1991-01-29, not after "
        "2022-12-31, the cutoff of testbed"
    )
    assert warning in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("café".encode("latin-1") * 100, "byte 3 (0xe9) is not UTF-8"),
        (None, "are the same text"),
    ],
)
def test_a_control_that_is_no_control_stops_with_one_line(copy, content, message):
    text = tables.DOCUMENTS.read(census(copy).parent / "documents.parquet")
    book = text.set_index("document_id").loc["1990-Bush-1", "text"]
    (copy.folder / "control.txt").write_bytes(book.encode() if content is None else content)
    line = ["a", "1990-Bush-1", "control.txt", "X", "1990-01-31", "2024-01-28", "testbed"]
    assert message in refused(copy, "census", pairs=with_pairs(copy, line))


def test_a_review_of_unknown_windows_stops_with_one_line(copy):
    (copy.folder / "review.csv").write_text(
        "sequence_id,review,reviewer,note\n1992-Bush-1:99999,member,Ada,\n"
    )
    controls = {"rank": 20, "references": [], "review": "review.csv"}
    output = refused(copy, "census", controls=controls)
    assert "review.csv: row 2: sequence_id '1992-Bush-1:99999' is not one of the controls" in output


def test_the_published_setting_passes_a_dry_run(fresh):
    done = fresh.snakemake("-n", "census", configfile="config/experiments/census.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "census_scores" in done.stdout + done.stderr
