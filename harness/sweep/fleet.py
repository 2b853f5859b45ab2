"""A sweep on the workers of a cluster: which of them are fit, who makes which run, and what comes back.

The client decides, so that the runs of one pattern and trial stay on one machine, and shares of the control compare
like with like. A worker that is lost loses the run it was at, which is made again elsewhere; what it sent before is
kept. A worker that fails at anything a run does not is used no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from files.temporary import temporary_folder
from harness.errors import HarnessError, RunFailed, UnfitMachine, WorkerFailed
from harness.run.spec import RunSpec
from harness.sweep import remote
from harness.sweep.member import Member, Watcher, require_same, unfit
from harness.sweep.parcel import unpack
from harness.sweep.plan import Job
from harness.sweep.source import ChangeWatch, Source, first_source
from harness.sweep.store import RESULT, new_run
from results import record
from results.live import Now
from results.record import Run

LOOK_EVERY_S = 0.5
INTRODUCTION_S = 60.0
"""How long a worker may take to say what it is."""
NO_WORKER_S = 15.0
"""How long the first worker may take to join."""


class Fleet:
    """The workers of a cluster's ``client`` (a ``distributed.Client``)."""

    def __init__(self, client: Any, watcher: Watcher, code: Source | None = None) -> None:
        self._client = client
        self.watcher = watcher
        self._code = code or first_source()
        self._change = ChangeWatch()
        self._members: dict[str, Member] = {}
        self._live: dict[str, Now] = {}
        client.subscribe_topic(remote.TOPIC, self._hear)

    @property
    def fit(self) -> list[Member]:
        """Who can make runs, by name."""
        return sorted((one for one in self._members.values() if one.fit), key=lambda one: one.name)

    def gather(self) -> None:
        """Wait until every worker that is there has introduced itself. UnfitMachine when none is fit."""
        limit = time.monotonic() + NO_WORKER_S
        self._roll_call()
        while not self._members and time.monotonic() < limit:
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
        limit = time.monotonic() + INTRODUCTION_S
        while any(not one.told and one.unfit is None for one in self._members.values()):
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
            if time.monotonic() > limit and self.fit:
                break
        if not self.fit:
            raise UnfitMachine(
                "no worker of this cluster can make runs"
                if self._members
                else "this cluster has no workers: start some with hedera cluster worker"
            )

    def resolve(self, base: RunSpec) -> RunSpec:
        """The spec with what ``auto`` means on all workers. UnfitMachine when one cannot do what is asked."""
        kernel = all(one.told["kernel_datapath"] for one in self.fit)
        pox = all(one.told["pox"] for one in self.fit)
        if (base.datapath == "kernel" and not kernel) or (base.platform == "pox" and not pox):
            what = "Open vSwitch's kernel module" if base.datapath == "kernel" and not kernel else "POX"
            names = ", ".join(
                one.name for one in self.fit if not one.told["pox" if what == "POX" else "kernel_datapath"]
            )
            raise UnfitMachine(f"{what} is missing on {names}: install it there, or leave the choice to auto")
        return replace(
            base,
            datapath=("kernel" if kernel else "user") if base.datapath == "auto" else base.datapath,
            platform=("pox" if pox else "os-ken") if base.platform == "auto" else base.platform,
        )

    def least_rates(self, base: RunSpec, mtus: Sequence[int]) -> dict[int, float]:
        """The highest link rate, Mb/s, that every worker carries, for each of the packet sizes that all can do.

        Measured where it is not known. UnfitMachine when there is none.
        """
        self.watcher.warn(
            "asking every worker which link rate it carries; a few minutes where that is not known"
        )
        for one in self.fit:
            asked = remote.request("rates", base, one.name) | {"mtus": list(mtus)}
            one.asked = self._submit(remote.carried_rates, one, asked)
        while any(one.asked is not None and not one.asked.done() for one in self.fit):
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
        found = []
        for one in self.fit:
            future, one.asked = one.asked, None
            if future is None:
                continue  # it has joined since, and is believed to be like the others
            if future.status != "finished":
                one.unfit = str(future.exception())
                self.watcher.warn(f"worker {one.name} is not used: {one.unfit}")
                continue
            rates = {int(mtu): float(rate) for mtu, rate in future.result().items()}
            found.append(rates)
            words = ", ".join(f"{rate:g} Mb/s with packets of {mtu} bytes" for mtu, rate in rates.items())
            self.watcher.warn(f"worker {one.name} carries links of {words}")
        common = [mtu for mtu in mtus if found and all(mtu in rates for rates in found)]
        if not common:
            raise UnfitMachine("no link rate was found that every worker of this cluster carries")
        return {mtu: min(rates[mtu] for rates in found) for mtu in common}

    def carry_out(self, jobs: Sequence[Job]) -> None:
        """Make what is left of the jobs; an invalid run is tried once more, at once, by the same worker.

        Raises UnfitMachine when every worker has been found unfit, RunFailed when a run cannot be kept here, or the
        scheduler is gone. Waits while there is no worker.
        """
        waiting = [group for group in groups(jobs) if _left(group)]
        alone = False
        while waiting or any(one.group for one in self._members.values()):
            waiting = self._roll_call() + waiting
            for member in list(self._members.values()):
                if member.group and member.asked is not None and member.asked.done():
                    self._receive(member)
                    if member.unfit is not None:
                        waiting.insert(0, member.group)
                        member.group = []
                if member.fit and not member.group and (group := self._choose(waiting, member)) is not None:
                    waiting.remove(group)
                    member.group = group
                if member.group and member.asked is None:
                    self._send(member)
            if not self.fit and self._members and all(one.unfit for one in self._members.values()):
                raise UnfitMachine("no worker is left that can make runs; finished results are kept")
            if not self._members and not alone:
                self.watcher.warn("no worker is left; the sweep goes on when one joins")
            alone = not self._members
            for member in self._members.values():
                member.now = self._live.get(member.name) if member.group else None
            self.watcher.look(list(self._members.values()))
            time.sleep(LOOK_EVERY_S)

    def _roll_call(self) -> list[list[Job]]:
        """Let new workers introduce themselves, and drop lost ones; returns what these had not finished."""
        try:
            found = self._client.scheduler_info()["workers"]
        except (
            OSError,
            TimeoutError,
            RuntimeError,
            LookupError,
        ):  # a closed client has no workers to tell of
            raise RunFailed(
                "the cluster's scheduler is gone; finished results are kept, and the same command goes on"
            ) from None
        present = {address: str(worker["name"]) for address, worker in found.items()}
        back = []
        for address in [address for address in self._members if address not in present]:
            member = self._members.pop(address)
            if member.asked is not None:
                member.asked.cancel()
            if member.group:
                back.append(member.group)
                self.watcher.warn(f"worker {member.name} is lost: what it was at is made again elsewhere")
            self._live.pop(member.name, None)
        for address, name in present.items():
            if address not in self._members:
                member = self._members[address] = Member(address, name)
                member.asked = self._submit(remote.introduce, member, resources=None)
        for member in self._members.values():
            if not member.told and member.unfit is None and member.asked.done():
                self._meet(member)
        return back

    def _meet(self, member: Member) -> None:
        """What a worker said of itself."""
        future, member.asked = member.asked, None
        if future.status != "finished":
            member.unfit = (
                "it has no code of this project that could be asked: install the same revision there"
            )
        else:
            told = future.result()
            member.told = told if isinstance(told, dict) else {}
            member.unfit = unfit(told, self._code)
        if member.unfit is not None:
            self.watcher.warn(f"worker {member.name} is not used: {member.unfit}")

    def _choose(self, waiting: Sequence[list[Job]], member: Member) -> list[Job] | None:
        """The group that a worker takes next: the first one begun by itself, or by nobody who is here."""
        here = {one.name for one in self.fit}
        for group in waiting:
            maker = maker_of(group)
            if maker == member.name or maker not in here:
                return group
        return None

    def _send(self, member: Member) -> None:
        """Ask for the next run of the worker's group, if any is left."""
        while member.group and (folder := member.group[0].next_folder()) is None:
            member.group = member.group[1:]
        if member.group:
            if (change := self._change.sentence()) is not None:
                self.watcher.warn(change)
            member.folder = folder
            asked = remote.request("run", member.group[0].spec, member.name)
            member.asked = self._submit(remote.carry_out, member, asked)

    def _receive(self, member: Member) -> None:
        """Publish what a worker sent; what is wrong with it, or went wrong there, makes it unfit.

        RunFailed for what goes wrong here: no worker is to blame for a full disk of the client.
        """
        future, member.asked = member.asked, None
        job, folder = member.group[0], member.folder
        assert folder is not None, "it was sent with the run"
        self._live.pop(member.name, None)
        try:
            if future.status != "finished":
                if (error := future.exception()) is None or "KilledWorker" in type(error).__name__:
                    return  # lost, as the next roll call will find
                raise WorkerFailed(str(error) if isinstance(error, HarnessError) else f"it failed ({error})")
            run = self._publish(future.result(), job, folder, member.name)
        except WorkerFailed as error:
            member.unfit = str(error)
            self.watcher.warn(f"worker {member.name} is not used any more: {error}")
        else:
            self.watcher.done(job, run, member.name)

    def _publish(self, parcel: object, job: Job, folder: Path, worker: str) -> Run:
        with temporary_folder("parcel") as place:
            raw = place / "run"
            with new_run(folder, raw):
                unpack(parcel, raw)
                try:
                    run = record.read(raw / RESULT)
                except ValueError as error:
                    raise WorkerFailed(f"its run.json {error}") from None
                require_same(run, job.spec, worker, self._code)
        return run

    def _submit(
        self,
        function: Callable[..., Any],
        member: Member,
        *arguments: Any,
        resources: Mapping[str, float] | None = remote.RESOURCE,
    ) -> Any:
        return self._client.submit(
            function, *arguments, workers=[member.address], allow_other_workers=False, resources=resources,
            pure=False, retries=0,
        )  # fmt: skip

    def _hear(self, event: tuple[float, Any]) -> None:
        """What a worker tells of the run it is at; called in the client's own thread."""
        try:
            now = msgspec.convert(event[1]["run"], Now)
        except (msgspec.ValidationError, LookupError, TypeError):
            return
        self._live[now.worker] = now


def groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs by pattern and trial, in the order of their first ones."""
    found: dict[tuple[str, int], list[Job]] = {}
    for job in jobs:
        found.setdefault((str(job.folder.parent.parent), job.spec.trial), []).append(job)
    return list(found.values())


def maker_of(group: Sequence[Job]) -> str | None:
    """The worker that made the latest of a group's runs; None when there is none, or none says so."""
    for job in reversed(group):
        outcome = job.outcome()
        if outcome is not None and outcome.run is not None and "worker" in outcome.run.environment:
            return str(outcome.run.environment["worker"])
    return None


def _left(group: Sequence[Job]) -> list[Job]:
    return [job for job in group if job.next_folder() is not None]
