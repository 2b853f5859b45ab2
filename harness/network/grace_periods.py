"""Short grace periods of the kernel's while a network is torn down.

ovs-vswitchd has a packet socket or two for every port, and the kernel closes them one after the other, each after a
grace period of RCU: of k = 4, two thirds of a second that nothing waits for but the next run. Expedited, they take a
few hundredths. Linux has that as one setting for the machine; it has it for as long as the tear-down takes.
"""

from __future__ import annotations

from pathlib import Path

from harness.network.settings import Setting

EXPEDITED = Setting(
    Path("/sys/kernel/rcu_expedited"),
    "a change of the kernel's rcu_expedited",
    lambda text: text in ("0", "1"),
)
