"""What we change of Linux, and its configuration."""

from __future__ import annotations

import hashlib
from functools import cache as once
from pathlib import Path

CONFIG = Path(__file__).with_name("linux.config")
CHANGES = (
    # The processes of a killed guest must not go on running on the host, with the host's system calls.
    (
        "arch/um/os-Linux/skas/process.c",
        r"\(void \*\) ?PTRACE_O_TRACESYSGOOD\)",
        "(void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))",
    ),
    # Random numbers start from the seed on the command line, not from the host's, so that a guest can be repeated.
    (
        "arch/um/kernel/um_arch.c",
        r"if \(os_getrandom\(rng_seed, sizeof\(rng_seed\), 0\) == sizeof\(rng_seed\)\) \{",
        """const char *given = strstr(boot_command_line, "random_seed=");
	size_t at;

	memset(rng_seed, 0, sizeof(rng_seed));
	for (at = 0; given && given[at] > ' ' && at < sizeof(rng_seed); at++)
		rng_seed[at] = given[at];
	{""",
    ),
    ("arch/um/include/asm/archrandom.h", r"ret = os_getrandom\(v, max_longs \* sizeof\(\*v\), 0\);", "ret = 0;"),
    # Nor do they change with the moments at which interrupts come: a microsecond early on would change all that is
    # drawn later, addresses and hashes among it.
    ("arch/um/include/asm/timex.h", r"#define CLOCK_TICK_RATE.*\n", "\\g<0>#define random_get_entropy() 0UL\n"),
    ("drivers/char/random.c", r"\tfast_mix\(fast_pool->pool, entropy,\n", "\treturn;\n\\g<0>"),
    # Nor do they depend on the paths of the guest's files on the host.
    ("init/main.c", r"random_init_early\(command_line\)", 'random_init_early("")'),
    # A packet that a network card has sent no longer belongs to its sender. Otherwise, with switches and hosts on one
    # machine, TCP small queues would count packets that wait in switches, and slow flows down.
    ("drivers/net/veth.c", r"skb_tx_timestamp\(skb\);", "skb_tx_timestamp(skb);\n\tskb_orphan(skb);"),
    # A port stores and forwards, as a switch's does: a packet leaves when its last bit has, also over an idle link. A
    # bucket, which tbf is made for, would let it pass there in no time.
    ("net/sched/sch_tbf.c", r"s64\tt_c;.*", "s64\tt_c;\n\tstruct sk_buff *sending; /* until t_c */"),
    (
        "net/sched/sch_tbf.c",
        r"(?s)(\nstatic struct sk_buff \*tbf_dequeue\(struct Qdisc \*sch\)\n).*?\n}\n",
        r"""\1{
	struct tbf_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = q->qdisc->ops->peek(q->qdisc);
	s64 now = ktime_get_ns();

	if (skb && !q->sending)
		q->t_c = now + psched_l2t_ns(&q->rate, qdisc_pkt_len(skb));
	q->sending = skb;
	if (!skb)
		return NULL;
	if (now < q->t_c) {
		qdisc_watchdog_schedule_ns(&q->watchdog, q->t_c);
		return NULL;
	}
	skb = qdisc_dequeue_peeked(q->qdisc);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	qdisc_bstats_update(sch, skb);
	q->sending = q->qdisc->ops->peek(q->qdisc);
	if (q->sending)
		q->t_c += psched_l2t_ns(&q->rate, qdisc_pkt_len(q->sending));
	return skb;
}
""",
    ),
    # A page fault of a process takes two switches to the host and back: one fault brings up to 16 pages of memory.
    (
        "arch/um/kernel/trap.c",
        r"(\} while \(!pte_present\(\*pte\)\);\n)\terr = 0;\n",
        r"""\1	err = 0;
	while (is_write && vma_is_anonymous(vma)) {
		address += PAGE_SIZE;
		if (!(address & 0xffff) || address >= vma->vm_end || !pte_none(*++pte))
			break;
		handle_mm_fault(vma, address, flags & ~(FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE), NULL);
	}
""",
    ),
    # A file of the host's is closed with its last user. A guest would keep each one that it has read open, which takes
    # some 1,400 descriptors where an ordinary login has 1,024.
    ("fs/hostfs/hostfs_kern.c", r"(?<=hostfs_inode_info \{\n)", "\tunsigned int users; /* under open_mutex */\n"),
    ("fs/hostfs/hostfs_kern.c", r"\n\thi->fd = -1;\n", "\\g<0>\thi->users = 0;\n"),
    (
        "fs/hostfs/hostfs_kern.c",
        r"(FMODE_WRITE\);\n)\tif \(\(mode & HOSTFS_I\(ino\)->mode\) == mode\)\n\t\treturn 0;\n",
        r"""\1	mutex_lock(&HOSTFS_I(ino)->open_mutex);
	if ((mode & HOSTFS_I(ino)->mode) == mode) {
		HOSTFS_I(ino)->users++;
		mutex_unlock(&HOSTFS_I(ino)->open_mutex);
		return 0;
	}
	mutex_unlock(&HOSTFS_I(ino)->open_mutex);
""",
    ),
    (
        "fs/hostfs/hostfs_kern.c",
        r"(somebody else had handled it first\? \*/\n.*\n)",
        r"\1\t\tHOSTFS_I(ino)->users++;\n",
    ),
    ("fs/hostfs/hostfs_kern.c", r"\tHOSTFS_I\(ino\)->mode = mode;\n", r"\g<0>\tHOSTFS_I(ino)->users++;\n"),
    (
        "fs/hostfs/hostfs_kern.c",
        r"(\n\tfilemap_write_and_wait\(inode->i_mapping\);\n)",
        r"""\1	mutex_lock(&HOSTFS_I(inode)->open_mutex);
	if (!--HOSTFS_I(inode)->users) {
		close_file(&HOSTFS_I(inode)->fd);
		HOSTFS_I(inode)->fd = -1;
		HOSTFS_I(inode)->mode = 0;
	}
	mutex_unlock(&HOSTFS_I(inode)->open_mutex);
""",
    ),
    (
        "fs/hostfs/hostfs_kern.c",
        r"(hostfs_dir_fops = \{(?:\n.*)*?)\n\t\.fsync",
        r"\1\n\t.release\t= hostfs_file_release,\n\t.fsync",
    ),
    # A process reads the clock without calling the kernel: from a page that has the time, and beside it, in a page that
    # it may write, how often that was done since it was in the kernel. Each reading takes as long as before, which the
    # kernel adds up when the process calls it, and after a hundred of them it must.
    (
        "arch/x86/um/vdso/um_vdso.c",
        r"#include <asm/unistd.h>\n",
        """#include <asm/unistd.h>

/* Below the code: time, what makes it monotonic and real, whether it travels, how long a reading takes, and how many
 * may be made; then the readings. */
extern volatile unsigned long clock_page[] __attribute__((visibility("hidden")));

static __always_inline int from_page(int real, long *s, long *ns)
{
	volatile unsigned int *readings = (void *)((char *)clock_page + 4096);
	unsigned long now;

	if (!clock_page[3] || *readings >= clock_page[5])
		return 0;
	*readings += 1;
	now = clock_page[0] + clock_page[real ? 2 : 1] + *readings * clock_page[4];
	*s = now / 1000000000;
	*ns = now % 1000000000;
	return 1;
}
""",
    ),
    (
        "arch/x86/um/vdso/um_vdso.c",
        r"(int __vdso_clock_gettime\(clockid_t clock, .*\n\{\n\tlong ret;\n)",
        r"""\1
	if ((clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) &&
		from_page(clock == CLOCK_REALTIME, (long *)ts, (long *)ts + 1))
		return 0;
""",
    ),
    (
        "arch/x86/um/vdso/um_vdso.c",
        r"(int __vdso_gettimeofday\(struct __kernel_old_timeval \*tv, .*\n\{\n\tlong ret;\n)",
        r"""\1
	if (tv && !tz && from_page(1, (long *)tv, (long *)tv + 1)) {
		((long *)tv)[1] /= 1000;
		return 0;
	}
""",
    ),
    (
        "arch/x86/um/vdso/vdso-layout.lds.S",
        r"\t\. = VDSO_PRELINK \+ SIZEOF_HEADERS;",
        "\tclock_page = VDSO_PRELINK - 8192;\n\\g<0>",
    ),
    ("arch/um/include/asm/processor-generic.h", r"\(TASK_SIZE - 2 \* PAGE_SIZE\)", "(TASK_SIZE - 4 * PAGE_SIZE)"),
    (
        "arch/x86/um/vdso/vma.c",
        r"(?s)static int __init init_vdso.*?copy_page\(page_address\(um_vdso\), vdso_start\);\n",
        r"""static unsigned long *um_clock;
static struct page *um_clock_pages[2][2]; /* each list ends with NULL */

static int timekeeping_changed(struct notifier_block *block, unsigned long stepped, void *data)
{
	struct timekeeper *tk = data;
	struct tk_read_base *base = &tk->tkr_mono;

	um_clock[1] = base->base + (base->xtime_nsec >> base->shift) - base->cycle_last * TIMER_MULTIPLIER;
	um_clock[2] = um_clock[1] + tk->offs_real;
	return NOTIFY_OK;
}

static struct notifier_block timekeeping = { .notifier_call = timekeeping_changed };

\g<0>
	um_clock_pages[0][0] = alloc_page(GFP_KERNEL | __GFP_ZERO);
	um_clock_pages[1][0] = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!um_clock_pages[0][0] || !um_clock_pages[1][0])
		panic("Cannot allocate the clock's pages");
	um_clock = page_address(um_clock_pages[0][0]);
	pvclock_gtod_register_notifier(&timekeeping);
	time_travel_show(um_clock, page_address(um_clock_pages[1][0]));
""",
    ),
    (
        "arch/x86/um/vdso/vma.c",
        r"#include <linux/init.h>\n",
        """\\g<0>#include <linux/pvclock_gtod.h>
#include <linux/timekeeper_internal.h>
#include <linux/time-internal.h>

void time_travel_show(unsigned long *clock, unsigned int *readings);
""",
    ),
    (
        "arch/x86/um/vdso/vma.c",
        r"\n\tif \(mmap_write_lock_killable\(mm\)\)\n\t\treturn -EINTR;\n",
        r"""	static struct vm_special_mapping mapping[2] = {
		{ .name = "[clock]", .pages = um_clock_pages[0] },
		{ .name = "[readings]", .pages = um_clock_pages[1] },
	};
	int i;
\g<0>
	for (i = 0; i < 2; i++) {
		unsigned long writable = i ? VM_WRITE | VM_MAYWRITE : 0;
		struct vm_area_struct *made = _install_special_mapping(mm, um_vdso_addr - (2 - i) * PAGE_SIZE, PAGE_SIZE,
			VM_READ | VM_MAYREAD | VM_SHARED | VM_MAYSHARE | writable, &mapping[i]);

		if (IS_ERR(made)) {
			mmap_write_unlock(mm);
			return PTR_ERR(made);
		}
	}
""",
    ),
    (
        "arch/um/kernel/time.c",
        r"\nstatic void time_travel_set_time\(",
        """
static unsigned long *shown_clock;
static unsigned int *shown_readings;
#define READINGS 100
\\g<0>""",
    ),
    (
        "arch/um/kernel/time.c",
        r"(going to sleep forever, aborting\"\);\n\n\ttime_travel_time = ns;\n)",
        r"""\1	if (shown_clock)
		shown_clock[0] = rounddown(ns, TIMER_MULTIPLIER);
""",
    ),
    (
        "arch/um/kernel/time.c",
        r"\nvoid time_travel_ndelay\(",
        """
void time_travel_show(unsigned long *clock, unsigned int *readings)
{
	shown_clock = clock;
	shown_readings = readings;
	clock[0] = rounddown(time_travel_time, TIMER_MULTIPLIER);
	clock[3] = time_travel_mode == TT_MODE_INFCPU;
	clock[4] = TIMER_MULTIPLIER;
	clock[5] = READINGS;
}

/* A process has entered the kernel: what its readings of the clock took passes now. */
void time_travel_readings(void)
{
	unsigned int readings = shown_readings ? min_t(unsigned int, *shown_readings, READINGS) : 0;

	if (!readings)
		return;
	*shown_readings = 0;
	time_travel_update_time_rel(readings * TIMER_MULTIPLIER);
}
\\g<0>""",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(UPT_SYSCALL_NR\(regs\) = -1; /\* Assume: It's not a syscall \*/\n)",
        r"""\1		time_travel_readings();
""",
    ),
    ("arch/um/os-Linux/skas/process.c", r"\nvoid userspace\(", "\nvoid time_travel_readings(void);\n\\g<0>"),
    # All switches share one table of flows, and so one cache of which mask a packet matched last. Without the port in
    # its key each switch on a path writes over what the one before it has learned, and all masks are tried again.
    ("net/openvswitch/flow_table.c", r"(#define MC_DEFAULT_HASH_ENTRIES\s+)256\n", r"\g<1>4096\n"),
    (
        "net/openvswitch/flow_table.c",
        r"\n\tce = NULL;\n\thash = skb_hash;\n",
        "\n\tskb_hash = jhash_1word(skb_hash, key->phy.in_port);\n\n\tce = NULL;\n\thash = skb_hash;\n",
    ),
    # Of the outputs of a packet that bears our mark, one is carried out: drawn anew by each flow where its last packet
    # came at least so many microseconds ago as the mark's lower 24 bits say (`controllers.rules`).
    (
        "net/openvswitch/actions.c",
        r"static void do_output\(struct datapath \*dp",
        """#include <linux/jhash.h>

static struct { u64 last; u32 number; } flowlets[1 << 18];

static int drawn(struct sk_buff *skb, const struct sw_flow_key *key, const struct nlattr *first, int rem)
{
	u32 ports = (__force u32)key->tp.src << 16 | (__force u32)key->tp.dst;
	u32 hash = jhash_3words((__force u32)key->ipv4.addr.src, (__force u32)key->ipv4.addr.dst, ports, key->phy.in_port);
	u32 at = hash % ARRAY_SIZE(flowlets), size = nla_total_size(sizeof(u32));
	u64 now = ktime_get_ns();

	if (now - flowlets[at].last >= (skb->mark & 0xffffff) * 1000ULL)
		flowlets[at].number++;
	flowlets[at].last = now;
	skb->mark = 0;
	hash = jhash_2words(hash, flowlets[at].number, 0);
	return nla_get_u32((const void *)first + reciprocal_scale(hash, rem / size) * size);
}

\\g<0>""",
    ),
    (
        "net/openvswitch/actions.c",
        r"\n\t\t\tif \(nla_is_last\(a, rem\)\) \{\n\t\t\t\tdo_output\(",
        "\n\t\t\tif (skb->mark >> 24 == 0x48) {\n\t\t\t\tdo_output(dp, skb, drawn(skb, key, a, rem), key);"
        "\n\t\t\t\treturn 0;\n\t\t\t}\\g<0>",
    ),
)
"""Our changes of the source: (file, expression, replacement)."""
FLOATING_POINT = (
    ("arch/x86/um/user-offsets.c", r"DEFINE_LONGS\(HOST_FP_SIZE, \d+\)", "DEFINE_LONGS(HOST_FP_SIZE, 12288)"),
)
FLOATING_POINT_CONFIG = "CONFIG_KERNEL_STACK_ORDER=3\n"
FLOATING_POINT_SINCE = (6, 13)
"""Linux before this version has 2,696 bytes for a process's floating-point state; with AMX it takes 11,008. The
larger buffer lies on the kernel's stacks, which must grow with it."""
FLAGS = "-mcmodel=small"
"""The kernel is linked below 2 GiB, and does not need the large code model that its makefile asks for."""
FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_USER": "hedera",
    "KBUILD_BUILD_HOST": "hedera",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
}
"""What would tell when and where a kernel was compiled."""


@once
def ours() -> str:
    added = repr((CHANGES, FLOATING_POINT, FLOATING_POINT_CONFIG, FLAGS, FIXED))
    return hashlib.sha256(CONFIG.read_bytes() + added.encode()).hexdigest()
