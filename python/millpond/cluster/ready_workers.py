# SPDX-License-Identifier: BSL-1.0
"""The workers that are ready for one run: they have its files and its runner, and are quiet enough.

lives ─▶ of the right kind ─▶ has the files ─▶ can run them ─▶ quiet enough ─▶ ready
           └──────────────────────┴───────────────┴──────────────┴─▶ left out, by name, with the reason
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from statistics import median

from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster, percent
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import RunnerRecipe
from millpond.doctor.examination import PROBE
from millpond.rounds.trial_rounds import TRIAL
from millpond.system.errors import Failure, Status
from millpond.system.progress import say

# A worker may be this noisy, or three times as noisy as the median worker: a whole cluster may have no better ones.
_NOISE_MAX = 0.10
_NOISE_TIMES_MAX = 3.0


class ReadyWorkers:
    """The workers of a cluster that are ready for one run. Use it as a context; not thread-safe.

    `recipe`: of the runner of rounds; None for calls. `is_measured`: only machines of one kind, with a processor for
    each worker, examined for noise.
    """

    def __init__(
        self, cluster: Cluster, shipment: Shipment, recipe: RunnerRecipe | None = None, *, is_measured: bool = False
    ) -> None:
        self.session = secrets.token_hex(8)
        self.addresses: set[str] = set()
        self._cluster = cluster
        self._recipe = recipe
        self._is_measured = is_measured
        self._kind = cluster.machine.kind
        self._noise = cluster.noise
        self._shipment = shipment.with_programs((PROBE, TRIAL)) if is_measured else shipment

    def __enter__(self) -> ReadyWorkers:
        """Prepares all workers. Failure (status 4) if none can serve."""
        self.refresh()
        if not self.addresses:
            raise self.none_left()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves no process and no file on any worker that still answers."""
        for address in self.addresses if self._cluster.client.status == "running" else ():
            with suppress(Exception):  # a worker that has just gone has left, too
                self._cluster.call(address, worker_station.leave, self.session)

    def refresh(self) -> None:
        """Forgets workers that have gone, and prepares those that have come. Failure (status 4) without scheduler."""
        alive = self._cluster.refresh()
        self.addresses &= alive
        prepared = [address for address in sorted(alive - self.addresses) if self._prepare(address)]
        self.addresses |= self._quiet(prepared) if self._is_measured else set(prepared)

    def forget(self, address: str) -> None:
        """Forgets a worker that was lost. If its process lives, or lives again, it is prepared like a new one."""
        self.addresses.discard(address)
        self._cluster.facts.pop(address, None)

    def none_left(self) -> Failure:
        """The failure if no worker can serve."""
        reasons = self._cluster.left_out.values()
        why = f": {next(iter(reasons))}" if reasons else ""
        return Failure(Status.ENVIRONMENT, f"no worker of the cluster can serve{why}")

    def _prepare(self, address: str) -> bool:
        """True if the worker has its files and its runner. One that cannot serve is left out."""
        try:
            why = self._why_unfit(address) or self._why_without_files(address) or self._cluster.call(
                address, worker_station.settle, self.session, self._shipment, self._recipe,
                self._cluster.processors_of(address) if self._is_measured else (),
            )  # fmt: skip
        except Failure as failure:
            why = failure.message
        except OSError:
            return False  # it has just gone
        if why:
            self._cluster.leave_out(address, why)
        return not why

    def _why_unfit(self, address: str) -> str:
        if not self._is_measured:
            return ""
        machine = self._cluster.facts[address].machine
        if machine.kind != self._kind:
            return f"{machine} is another kind of machine, and measured rounds are never mixed: run there separately"
        if not self._cluster.processors_of(address):
            return "its machine has more workers than processors"
        return ""

    def _why_without_files(self, address: str) -> str:
        """Sends the files that the worker lacks."""
        wanted = self._cluster.call(address, worker_station.lacking, self.session, self._shipment)
        for file in self._shipment.require_sendable(wanted):
            for offset, data in file.chunks():
                self._cluster.call(address, worker_station.receive, self.session, file.digest, offset, data)
            if not self._cluster.call(address, worker_station.seal, self.session, file.digest):
                return f"{file.path} arrived with another digest: it changed meanwhile, or the connection is broken"
        return ""

    def _quiet(self, addresses: Sequence[str]) -> set[str]:
        """Measures the noise of new workers, all at once, as in the rounds. Leaves out the noisy ones."""
        futures = {a: self._cluster.submit(a, worker_station.noise, self.session) for a in addresses}
        for address, future in futures.items():
            try:
                self._noise[address] = future.result(timeout=worker_station.NOISE_SECONDS_MAX)
            except Failure as failure:
                self._cluster.leave_out(address, failure.message)
            except Exception as error:  # of Dask: the worker is gone
                say(f"the worker {address} did not measure its noise: {error}")
        measured = [address for address in addresses if address in self._noise]
        bound = max(_NOISE_MAX, _NOISE_TIMES_MAX * median(self._noise.values())) if self._noise else 0.0
        for address in measured:
            if self._noise[address] > bound:
                found = self._noise.pop(address)
                self._cluster.leave_out(
                    address,
                    f"two equal contenders differ by {percent(found)} there (at most {percent(bound)} may)",
                )
        return {address for address in measured if address in self._noise}
