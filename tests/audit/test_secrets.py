"""A token for gated models is sent to the hub, and stands nowhere else."""

import http.server
import threading

import pytest
import yaml

pytestmark = pytest.mark.workflow

TOKEN = "hf_" + "Zq7" * 11
GATED = {"source": "secretive/gated", "revision": "a" * 40}


class Gated(http.server.BaseHTTPRequestHandler):
    """A hub on which everything is gated."""

    def do_GET(self):
        self.server.sent.append(self.headers.get("Authorization"))
        self.send_response(403)
        self.send_header("X-Error-Code", "GatedRepo")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - so named by http.server

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gated)
    server.sent = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kept", ["in the environment", "in the hub's token file"])
def test_a_stage_that_a_gated_model_stops_tells_no_token(finished, hub, tmp_path, kept):
    run = finished.copy(tmp_path / "copy")
    models = run.folder / "config" / "models.yaml"
    models.write_text(models.read_text() + yaml.safe_dump({"gated": GATED}))
    config = yaml.safe_load(run.configfile.read_text())
    config |= {"models": ["gated"], "census": None, "prompts": None, "propensity": None}
    changed = run.folder / "changed.yaml"
    changed.write_text(yaml.safe_dump(config))
    (tmp_path / "home").mkdir()
    where = {"HF_TOKEN": TOKEN} if kept == "in the environment" else {"HF_TOKEN": ""}
    if not where["HF_TOKEN"]:
        (tmp_path / "home" / "token").write_text(TOKEN)
    done = run.snakemake(
        "--cores",
        "1",
        "results/small/sequences/gated.parquet",
        configfile=changed,
        HF_HOME=str(tmp_path / "home"),
        HF_ENDPOINT=f"http://127.0.0.1:{hub.server_address[1]}",
        HF_HUB_OFFLINE="0",
        **where,
    )
    assert done.returncode != 0
    assert "the model is gated; accept its licence" in done.stderr
    assert f"Bearer {TOKEN}" in hub.sent
    assert TOKEN not in done.stdout + done.stderr
    for path in filter(lambda path: path.is_file(), run.folder.rglob("*")):
        assert TOKEN.encode() not in path.read_bytes(), path
