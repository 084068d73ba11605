"""Published cases: Cooper et al. 2026."""

import math

import numpy as np
import pytest
from matched_scores import scores_of, sequences_of, verdicts

from memfoil import calibration


def wikipedia(candidates, controls, procedure):
    pools = {"members": 5000, "controls": 5000}
    sequences = sequences_of(pools, ("members",))
    values = np.concatenate([candidates, controls])
    return scores_of(sequences, values, procedure), sequences


def test_published_top_40_rate_of_50_tokens():
    log_tau = math.log(8.9e-6)
    controls = np.full(5000, -math.inf)
    controls[:520] = np.linspace(-5, -90, 520)
    controls[:5] = log_tau + np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    controls[5:520] = np.linspace(log_tau - 1, -90, 515)
    members = np.where(np.arange(5000) < 137, log_tau + 0.5, -math.inf)
    scores, sequences = wikipedia(members, controls, "top-40")
    thresholds = calibration.thresholds(scores, sequences, None, alphas=[0.001], confidence=0.9)
    row = thresholds.iloc[0]
    assert (row["k"], row["alpha_n"]) == (5, 5 / 5001)
    assert row["alpha_dagger"] == pytest.approx(0.104)
    assert math.exp(row["log_tau"]) == pytest.approx(8.9e-6)
    rate = calibration.rates(scores, sequences, thresholds).iloc[0]
    percent = [100 * rate[f"generation_{name}"] for name in ("rate", "low", "high")]
    assert percent == pytest.approx([2.74, 2.31, 3.23], abs=5e-3)
    assert 100 * rate["calibrated_rate"] == pytest.approx(2.64, abs=5e-3)


def test_taking_members_out_of_the_controls_lowers_the_threshold():
    """Twelve contaminants in 5,000: ten at the top, two at zero; N = 4988, K = 4."""
    controls = np.concatenate([-np.linspace(0.1, 1, 10), [-math.inf] * 2, -np.arange(20.0, 5008)])
    scores, sequences = wikipedia(np.full(5000, -19.5), controls, "base")
    contamination = verdicts(sequences, [f"controls:{i}" for i in range(12)])
    thresholds = calibration.thresholds(
        scores, sequences, contamination, alphas=[0.001], confidence=0.9
    ).set_index("decontaminated")
    assert thresholds["n_controls"].to_dict() == {False: 5000, True: 4988}
    assert thresholds["k"].to_dict() == {False: 5, True: 4}
    assert thresholds.loc[True, "alpha_n"] == 4 / 4989
    assert thresholds["log_tau"].to_dict() == {False: pytest.approx(-0.5), True: -23.0}
    rates = calibration.rates(scores, sequences, thresholds.reset_index())
    rates = rates[rates["stratum"] == "all"].set_index("decontaminated")
    assert rates["n_claims"].to_dict() == {False: 0, True: 5000}


def test_greedy_has_one_operating_point_at_its_floor():
    binary = [np.where(np.arange(5000) < matches, 0.0, -np.inf) for matches in (377, 91)]
    scores, sequences = wikipedia(*binary, "greedy")
    points = calibration.operating_points(scores, sequences, None, suffix_tokens=[50], points=60)
    points = points[points["stratum"] == "all"]
    point = points[points["n_claims"] > 0]
    assert len(point) == 1
    assert point["alpha_n"].item() == 92 / 5001
    assert point["generation_rate"].item() == pytest.approx(0.0754)
