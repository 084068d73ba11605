"""A model on the hub that cannot be had: one line that says what to do."""

import httpx2 as httpx
import pytest
from huggingface_hub import errors

from memfoil.errors import InvalidModel
from memfoil.models import folder

COMMIT = "a" * 40


def answer(status):
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/x/y"))


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        (errors.GatedRepoError, 403, "accept its licence at https://huggingface.co/x/y"),
        (errors.RepositoryNotFoundError, 404, "has no such model, or not for you; check the name"),
        (errors.RevisionNotFoundError, 404, "has no such revision"),
        (errors.HfHubHTTPError, 500, "not in the local cache"),
    ],
)
def test_what_the_hub_refuses_is_one_line(monkeypatch, kind, status, said):
    def refused(*arguments, **options):
        raise kind("a message\nof two lines", response=answer(status))

    monkeypatch.setattr(folder, "snapshot_download", refused)
    with pytest.raises(InvalidModel) as caught:
        folder.local_folder("x/y", COMMIT)
    assert str(caught.value).startswith(f"x/y at revision {COMMIT}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_network_it_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InvalidModel, match="x/y at revision main: not in the local cache"):
        folder.local_folder("x/y", "main")


def test_a_branch_is_warned_of_with_its_commit(monkeypatch, tmp_path, recwarn):
    snapshot = tmp_path / COMMIT
    monkeypatch.setattr(folder, "snapshot_download", lambda *arguments, **options: str(snapshot))
    assert folder.local_folder("x/y", COMMIT) == snapshot
    assert not recwarn
    with pytest.warns(UserWarning, match=f"revision main is no commit .* it is {COMMIT} now"):
        assert folder.local_folder("x/y", "main") == snapshot
