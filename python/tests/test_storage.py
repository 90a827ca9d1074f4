"""Campaigns whose results go to object storage: a server on the loopback interface that speaks the protocol of S3."""

from collections.abc import Iterator

import boto3
import obstore
import polars
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import from_url
from test_campaign import PLAN

import anabranch
from anabranch.campaign import main, slurm_script


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """A URL of object storage that only this test uses. All servers of a process share objects, so the URLs must differ."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    words = {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y", "REGION": "us-east-1", "ENDPOINT_URL": address, "ALLOW_HTTP": "true"}
    for name, value in words.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="campaigns")
    yield f"s3://campaigns/{request.node.name}/first"
    server.stop()


def names(place: str) -> list[str]:
    return sorted(each["path"] for batch in from_url(place).list() for each in batch)


def test_shares_make_up_a_campaign_in_object_storage(place: str) -> None:
    first = anabranch.campaign(PLAN, place, share=(0, 3))
    assert (first.done, repr(first)) == ([0, 3, 6, 9], f"<anabranch.Dataset '{place}': 4 of 12 runs>")
    dataset = anabranch.campaign(PLAN, place)
    assert dataset.missing == []
    assert list(dataset.digests.values()) == anabranch.run(PLAN).digests
    runs = polars.scan_parquet(f"{place}/task=*/runs.parquet", hive_partitioning=True).collect()
    assert sorted(runs["task"]) == list(range(12))
    with pytest.raises(ValueError, match=f"{place} holds another campaign"):
        anabranch.campaign(PLAN.replace("[1, 2]", "[3]"), place)


def test_a_run_that_is_half_there_is_not_there(place: str) -> None:
    store = from_url(place)
    dataset = anabranch.campaign(PLAN, place, share=(0, 3))
    before = obstore.head(store, "task=000003/runs.parquet")
    obstore.delete(store, "task=000000/runs.parquet")
    assert dataset.done == [3, 6, 9] and "task=000000/flows.parquet" in names(place)
    assert anabranch.campaign(PLAN, place, share=(0, 3)).done == [0, 3, 6, 9]
    after = obstore.head(store, "task=000003/runs.parquet")
    assert before["last_modified"] == after["last_modified"], "what is there is not written again"


def test_what_is_wrong_with_a_place_is_said(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="nonsense://x: .*; write s3://BUCKET/NAME"):
        anabranch.campaign(PLAN, "nonsense://x")
    with pytest.raises(OSError, match="s3://elsewhere/x: .*(?i:bucket|not found)"):
        anabranch.campaign(PLAN, "s3://elsewhere/x")
    assert main(["no-plan.toml", "--out", place]) == 1
    assert "no-plan.toml" in capsys.readouterr().err and names(place) == []
    assert f"--out {place} " in slurm_script("plan.toml", place, 2)
