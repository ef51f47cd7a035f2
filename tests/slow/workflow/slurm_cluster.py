"""A private single-node Slurm: daemons of its own, beside whatever else runs on the machine."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "setpriv")

# One node of the size that the tests need, whatever the machine has; no accounting.
CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
"""


@dataclass(frozen=True)
class SlurmCluster:
    """A running cluster: where it lives, and the environment that its clients need."""

    folder: Path
    environment: dict[str, str]

    def client(self, *command: str) -> str:
        """What a Slurm client prints; CalledProcessError where it fails."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=30, check=True
        ).stdout

    def jobs(self, columns: str, *options: str) -> list[list[str]]:
        """The columns of squeue, such as "%i %T", of every job it lists."""
        lines = self.client("squeue", "--noheader", f"--format={columns}", *options).splitlines()
        return [line.split() for line in lines]


def missing() -> str | None:
    """What this machine lacks to run a cluster, as a reason to skip a test."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"no Slurm to start: {', '.join(absent)} not found (Debian: slurm-wlm)"
    if os.geteuid() != 0:
        return "no Slurm to start: only root can"
    return None


@contextmanager
def running() -> Iterator[SlurmCluster]:
    """Start a cluster; whatever happens inside, nothing of it is left running.

    RuntimeError with the daemons' logs where it does not come up.
    """
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        cluster = SlurmCluster(folder, _prepare(folder))
        stack.callback(_end_strays, cluster)
        controller = _start_daemon(stack, cluster, "slurmctld", "-D")
        node = _start_daemon(stack, cluster, "slurmd", "-D")
        stack.callback(_cancel_jobs, cluster)
        _wait(cluster, [controller, node])
        yield cluster


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _prepare(folder: Path) -> dict[str, str]:
    """Write the configuration; the environment that leads daemons and clients to it."""
    folder.chmod(0o755)
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir()
    config = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    ports = dict(zip(("controller_port", "node_port"), _free_ports(2), strict=True))
    config.write_text(CONFIG.format(folder=folder, host=host, **ports), encoding="utf-8")
    version = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True).stdout
    if int(re.search(r"\d+", version)[0]) >= 24:
        # They want control groups, which a container may lack; earlier ones do not know the word.
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n", encoding="utf-8")
    # Snakemake's plugin hides SLURM_CONF from srun, which would look for the machine's own Slurm.
    srun = folder / "bin" / "srun"
    srun.write_text(
        f'#!/bin/sh\nSLURM_CONF={config} exec {shutil.which("srun")} "$@"\n', encoding="utf-8"
    )
    srun.chmod(0o755)
    settings = ("SLURM", "SBATCH", "SRUN", "SQUEUE", "SINFO", "SNAKEMAKE")
    inherited = {name: os.environ[name] for name in os.environ if not name.startswith(settings)}
    return inherited | {
        "SLURM_CONF": str(config),
        "PATH": f"{srun.parent}{os.pathsep}{os.environ['PATH']}",
    }


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _start_daemon(stack: ExitStack, cluster: SlurmCluster, *command: str) -> subprocess.Popen:
    with (cluster.folder / f"{command[0]}.log").open("wb") as log:
        daemon = subprocess.Popen(
            # The kernel ends it with this process, should even that be killed.
            ["setpriv", "--pdeathsig=TERM", *command],
            env=cluster.environment,
            cwd=cluster.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    stack.callback(_end, daemon)
    return daemon


def _is_idle(cluster: SlurmCluster) -> bool:
    try:
        return cluster.client("sinfo", "--noheader", "--format=%T").strip() == "idle"
    except subprocess.CalledProcessError:
        return False


def _wait(cluster: SlurmCluster, daemons: list[subprocess.Popen]) -> None:
    def dead() -> bool:
        return any(daemon.poll() is not None for daemon in daemons)

    wait_until(lambda: dead() or _is_idle(cluster), seconds=30)
    if dead() or not _is_idle(cluster):
        logs = (f"{path.name}:\n{path.read_text()}" for path in cluster.folder.glob("*.log"))
        raise RuntimeError("\n".join(["Slurm did not start", *logs]))


def _cancel_jobs(cluster: SlurmCluster) -> None:
    """In the orderly way; what resists is ended by _end_strays."""
    try:
        if jobs := cluster.jobs("%i"):
            cluster.client("scancel", *(job for (job,) in jobs))
            wait_until(lambda: not cluster.jobs("%i"), seconds=10)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pass


def _end(daemon: subprocess.Popen) -> None:
    daemon.terminate()
    try:
        daemon.wait(timeout=10)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _end_strays(cluster: SlurmCluster) -> None:
    """Job steps outlive slurmd: kill every process that was told of this cluster's slurm.conf."""
    for process in psutil.process_iter():
        try:
            ours = process.environ().get("SLURM_CONF") == cluster.environment["SLURM_CONF"]
            if ours and process.pid != os.getpid():
                process.kill()
        except psutil.Error:
            continue
