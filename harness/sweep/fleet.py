"""A sweep on the workers of a cluster: which of them are fit, who makes which run, and what comes back.

The client decides, so that the runs of one pattern and trial stay on one machine, and shares of the control compare
like with like. A worker that is lost loses the run it was at, which is made again elsewhere; what it sent before is
kept. A worker that fails at anything a run does not is used no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import RunFailed, UnfitMachine, WorkerFailed
from harness.network.deadline import deadline
from harness.run.spec import RunSpec
from harness.sweep import remote
from harness.sweep.asked import Asked, Lost
from harness.sweep.groups import groups, left, maker_of
from harness.sweep.member import Member, Watcher, introduced, require_fit, require_same
from harness.sweep.parcel import unpack
from harness.sweep.plan import Job
from harness.sweep.source import ChangeWatch, Source, first_source
from harness.sweep.store import RESULT, new_run
from harness.sweep.tail import begun
from hedera.text import one_line
from results import record
from results.live import Now
from results.parts import Positive
from results.record import Run
from results.temporary import temporary_folder

LOOK_EVERY_S = 0.5
INTRODUCTION_S = 60.0
"""How long a worker may take to say what it is."""
NO_WORKER_S = 15.0
"""How long the first worker may take to join."""
SCHEDULER_S = 60.0
"""How long the scheduler may take to say who is there."""
LATE_S = 300.0
"""How long after the process that makes a run has to be done its worker may take to send it."""


class Fleet:
    """The workers of a cluster's ``client`` (a ``distributed.Client``)."""

    def __init__(self, client: Any, watcher: Watcher, code: Source | None = None) -> None:
        self._client = client
        self.watcher = watcher
        self._code = code or first_source()
        self._change = ChangeWatch()
        self._members: dict[str, Member] = {}
        self._live: dict[str, Now] = {}
        self._time = ""
        client.subscribe_topic(remote.TOPIC, self._hear)

    @property
    def fit(self) -> list[Member]:
        """Who can make runs, by name."""
        return sorted((one for one in self._members.values() if one.fit), key=lambda one: one.name)

    def gather(self, time_asked: str = "auto") -> None:
        """Wait until every worker that is there has introduced itself, and settle in which time runs are made.

        ``auto`` is real time where any of them is root. UnfitMachine when none is fit.
        """
        limit = time.monotonic() + NO_WORKER_S
        self._roll_call()
        while not self._members and time.monotonic() < limit:
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
        while any(one.told is None and one.unfit is None for one in self._members.values()):
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
        real = any(one.told.root for one in self.fit if one.told is not None)
        self._time = ("real" if real else "virtual") if time_asked == "auto" else time_asked
        for one in self.fit:
            self._require_fit(one)
        if not self.fit:
            raise UnfitMachine(
                "no worker of this cluster can make runs"
                if self._members
                else "this cluster has no workers: start some with hedera cluster worker"
            )

    def resolve(self, base: RunSpec) -> RunSpec:
        """The spec with what ``auto`` means on all workers. UnfitMachine when one cannot do what is asked."""
        here = {one.name: one.told for one in self.fit if one.told is not None}
        no_kernel = [name for name, told in here.items() if self._time == "real" and not told.kernel_datapath]
        no_pox = [name for name, told in here.items() if not told.pox]
        for asked, what, lacking in (
            (base.datapath == "kernel", "Open vSwitch's kernel module", no_kernel),
            (base.platform == "pox", "POX", no_pox),
        ):
            if asked and lacking:
                raise UnfitMachine(
                    f"{what} is missing on {', '.join(lacking)}: install it there, or leave the choice to auto"
                )
        return replace(
            base,
            time=self._time,
            datapath=("user" if no_kernel else "kernel") if base.datapath == "auto" else base.datapath,
            platform=("os-ken" if no_pox else "pox") if base.platform == "auto" else base.platform,
        )

    def least_rates(self, base: RunSpec, mtus: Sequence[int]) -> dict[int, float]:
        """The highest link rate, Mb/s, that every worker carries, for each of the packet sizes that all can do.

        Measured where it is not known. UnfitMachine when there is none.
        """
        self.watcher.warn("asking every worker which link rate it carries; a few minutes where that is not known")
        for one in self.fit:
            asked = remote.request("rates", base, one.name) | {"mtus": list(mtus)}
            what, seconds = "said which link rate it carries", remote.RATES_S + LATE_S
            one.asked = self._ask(remote.carried_rates, one, asked, what=what, seconds=seconds)
        while any(one.asked is not None and not one.asked.done() for one in self.fit):
            time.sleep(LOOK_EVERY_S)
            self._roll_call()
        found = []
        for one in self.fit:
            question, one.asked = one.asked, None
            if question is None:
                continue  # it has joined since, and is believed to be like the others
            try:
                rates = msgspec.convert(question.answer(), dict[int, Positive], strict=False)
            except Lost:
                continue
            except (WorkerFailed, msgspec.ValidationError) as error:
                self._dismiss(one, str(error))
                continue
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
        waiting = [group for group in groups(jobs) if left(group)]
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
        kept = "finished results are kept, and the same command goes on"
        try:
            with deadline(SCHEDULER_S, f"the cluster's scheduler does not answer; {kept}"):
                found = self._client.scheduler_info()["workers"]
        except (OSError, RuntimeError, LookupError):  # a closed client has no workers to tell of
            raise RunFailed(f"the cluster's scheduler is gone; {kept}") from None
        present = {address: one_line(worker["name"], 100) for address, worker in found.items()}
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
                member.asked = self._ask(
                    remote.introduce, member, what="said what it is", seconds=INTRODUCTION_S, alone=False
                )
        for member in self._members.values():
            if member.told is None and member.asked is not None and member.asked.done():
                self._meet(member)
        return back

    def _meet(self, member: Member) -> None:
        """What a worker said of itself."""
        question, member.asked = member.asked, None
        assert question is not None, "every worker is asked when it joins"
        try:
            member.told = introduced(question.answer(), self._code)
        except (Lost, WorkerFailed) as error:
            self._dismiss(member, str(error))
        else:
            self._require_fit(member)

    def _require_fit(self, member: Member) -> None:
        """Dismiss a worker that makes no runs of the kind that is asked for, once that is settled."""
        if self._time and member.told is not None:
            try:
                require_fit(member.told, self._time)
            except WorkerFailed as error:
                self._dismiss(member, str(error))

    def _dismiss(self, member: Member, reason: str, more: str = "") -> None:
        """It gets no runs from here on. What it, or Dask, says of why goes to the user's terminal."""
        member.unfit = one_line(reason)
        self.watcher.warn(f"worker {member.name} is not used{more}: {member.unfit}")

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
            member.folder, spec = folder, member.group[0].spec
            self._live[member.name] = begun(spec, "asked for", member.name)
            asked = remote.request("run", spec, member.name)
            seconds = remote.run_s(spec) + LATE_S
            member.asked = self._ask(remote.carry_out, member, asked, what="made its run", seconds=seconds)

    def _receive(self, member: Member) -> None:
        """Publish what a worker sent; what is wrong with it, or went wrong there, makes it unfit.

        RunFailed for what goes wrong here: no worker is to blame for a full disk of the client.
        """
        question, member.asked = member.asked, None
        job, folder = member.group[0], member.folder
        assert question is not None, "it was sent a run"
        assert folder is not None
        self._live.pop(member.name, None)
        try:
            run = self._publish(question.answer(), job, folder, member.name)
        except Lost:  # as the next roll call will find
            return
        except WorkerFailed as error:
            at = f" (it was {member.now.stage})" if member.now else ""
            self._dismiss(member, f"{error}{at}", " any more")
        else:
            self.watcher.done(job, run)

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

    def _ask(
        self,
        function: Callable[..., Any],
        member: Member,
        *arguments: Any,
        what: str,
        seconds: float,
        alone: bool = True,
    ) -> Asked:
        """``alone``: while it does nothing else for us."""
        there = {"workers": [member.address], "allow_other_workers": False}
        once = {"resources": remote.RESOURCE if alone else None, "pure": False, "retries": 0}
        return Asked(self._client.submit(function, *arguments, **there, **once), what, seconds)

    def _hear(self, event: tuple[float, Any]) -> None:
        """What a worker tells of the run it is at; called in the client's own thread."""
        try:
            now = msgspec.convert(event[1]["run"], Now)
        except (msgspec.ValidationError, LookupError, TypeError):
            return
        if now.worker in self._live:  # it was asked for a run
            self._live[now.worker] = now
