"""Campaigns on a real Ray cluster and on a real Slurm of one node. They run if `ANABRANCH_LONG` is set: `make test-long`."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch import _campaign
from anabranch.campaign import slurm_script

pytestmark = pytest.mark.skipif(not os.environ.get("ANABRANCH_LONG"), reason="long: set ANABRANCH_LONG")

#: A thousand runs of some 10 ms each: 2 schemes, 5 sizes and 100 seeds.
PLAN = """
schemes = ["reps", "ecmp"]
topology = { kind = "fat-tree", hosts = 32, link = "100Gbps" }
workload = { kind = "permutation", bytes = "64KB" }
seeds = [%s]
[sweep]
"workload.bytes" = ["16KB", "64KB", "128KB", "192KB", "256KB"]
""" % ", ".join(map(str, range(1, 101)))


#: Seconds that may pass without progress before a test fails. The limit is generous, so that slow machines pass too.
PATIENCE = 300


def until(what: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> None:
    """Waits until `what` returns true. Fails if `progress` returns the same value for `PATIENCE` seconds."""
    before, end = progress(), time.monotonic() + PATIENCE
    while not what():
        if (now := progress()) != before:
            before, end = now, time.monotonic() + PATIENCE
        assert time.monotonic() < end, f"nothing new in {PATIENCE} s, after {now}"
        time.sleep(0.2)


@pytest.fixture
def ray_of_two() -> Iterator[Any]:
    """A Ray cluster of two workers with a core each."""
    # On a busy machine, a node may take longer to start than Ray waits by default. Ray reads these variables when it is
    # imported.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", str(PATIENCE))
    os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", str(PATIENCE))
    ray: Any = pytest.importorskip("ray", reason="Ray is not installed")
    cluster_utils: Any = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
    try:
        cluster.wait_for_nodes()
        yield cluster, workers
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_thousand_runs_on_ray_with_a_worker_killed(tmp_path: Path, ray_of_two: Any) -> None:
    cluster, workers = ray_of_two
    ended: list[anabranch.Dataset | BaseException] = []
    told: list[int] = []
    out = tmp_path / "ray"

    def work() -> None:
        try:
            progress = lambda done, runs, hops: told.append(done)  # noqa: E731
            ended.append(anabranch.campaign(PLAN, out, ray=cluster.address, progress=progress))
        except BaseException as error:
            ended.append(error)

    begin = time.monotonic()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    dataset = anabranch.Dataset(out, 1000)

    def done() -> int:
        return len(dataset.done)

    until(lambda: done() > 20 or bool(ended), done)
    raylet = workers[0].all_processes["raylet"][0].process
    os.kill(raylet.pid, signal.SIGKILL)
    killed_at = done()
    until(lambda: bool(ended), done)
    on_ray = time.monotonic() - begin
    assert isinstance(ended[0], anabranch.Dataset), ended
    assert ended[0].missing == [] and killed_at < 1000 and told[-1] == 1000
    begin = time.monotonic()
    here = anabranch.campaign(PLAN, tmp_path / "here", threads=1)
    on_one_core = time.monotonic() - begin
    assert ended[0].digests == here.digests
    print(f"ray, one of two workers killed at {killed_at}: {on_ray:.1f} s; one core: {on_one_core:.1f} s")


def test_a_run_that_ends_its_worker_on_ray_is_named_and_the_others_are_there(tmp_path: Path, ray_of_two: Any) -> None:
    cluster, _ = ray_of_two

    # A function within a function is sent to workers by value, so they need not import this file.
    def on_a_worker(source: Any, out: Any, numbers: Any, threads: int) -> Any:
        import os

        from anabranch import _campaign

        for number in numbers:
            if number == 3:
                os._exit(1)
            _campaign._task(source, out, [number], threads)
        return [], 0

    few = PLAN.replace(PLAN[PLAN.index("seeds") : PLAN.index("[sweep]")], "seeds = [1]\n")
    job = anabranch._read(few, (), (), None)
    dataset = anabranch.Dataset(tmp_path / "out", job.actual())
    dataset._place.claim(job)
    source = anabranch._text(few)
    failed = _campaign._on_ray(cluster.address, source, dataset, range(10), job.name, task=on_a_worker)
    assert [name for name, _ in failed] == [job.name(3)], failed
    assert dataset.missing == [3]


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Path]:
    """A Slurm of one node, with folders and ports that no other Slurm uses. The value is the path of its configuration."""
    if not all(shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("slurmctld", "slurmd", "munged")):
        pytest.skip("slurmctld, slurmd or munge is not installed")
    if os.geteuid() != 0:
        pytest.skip("slurmd wants to be root")
    folder = Path("/tmp") / f"anabranch-slurm-{os.getpid()}"
    folder.mkdir(mode=0o755)
    host = socket.gethostname().split(".")[0]
    key, sock = folder / "munge.key", folder / "munge.socket"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    configuration.write_text(textwrap.dedent(f"""
        ClusterName=anabranch
        SlurmctldHost={host}(127.0.0.1)
        SlurmUser=root
        SlurmdUser=root
        AuthType=auth/munge
        AuthInfo=socket={sock}
        CredType=cred/munge
        SlurmctldPort=26817
        SlurmdPort=26818
        StateSaveLocation={folder}/state
        SlurmdSpoolDir={folder}/spool
        SlurmctldPidFile={folder}/slurmctld.pid
        SlurmdPidFile={folder}/slurmd.pid
        SlurmctldLogFile={folder}/slurmctld.log
        SlurmdLogFile={folder}/slurmd.log
        ProctrackType=proctrack/linuxproc
        TaskPlugin=task/none
        SelectType=select/cons_tres
        SelectTypeParameters=CR_Core
        ReturnToService=2
        NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
        PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
    """))
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={sock}"]
    munge += [f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]
    environment = {**os.environ, "SLURM_CONF": str(configuration), "PATH": f"/usr/sbin:{os.environ['PATH']}"}
    daemons = [subprocess.Popen(munge, env=environment)]
    try:
        until(sock.exists)
        for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            daemons.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))

        def idle() -> bool:
            told = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True)
            return told.stdout.strip() == "idle"

        until(idle)
        yield configuration
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def test_an_array_of_eight_on_slurm(tmp_path: Path, slurm: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "slurm"
    plan.write_text(PLAN)
    script = tmp_path / "job.sh"
    script.write_text(slurm_script(plan, out, 8, f"--output={tmp_path}/%a.log"))
    environment = {**os.environ, "SLURM_CONF": str(slurm)}
    begin = time.monotonic()
    sbatch = subprocess.Popen(["sbatch", "--wait", str(script)], env=environment, cwd=tmp_path)
    under_way = anabranch.Dataset(out, 1000)
    until(lambda: sbatch.poll() is not None, lambda: len(under_way.done))
    assert sbatch.returncode == 0
    took = time.monotonic() - begin
    dataset = anabranch.campaign(plan, out)
    logs = [(tmp_path / f"{number}.log").read_text() for number in range(8)]
    assert all(" of 1000 runs in " in log for log in logs), logs
    assert dataset.missing == []
    here = anabranch.campaign(plan, tmp_path / "here")
    assert dataset.digests == here.digests
    print(f"slurm, an array of 8: {took:.1f} s")
    assert sys.executable in script.read_text()
