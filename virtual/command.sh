# In a guest: bash FILE UNTIL KEEP... -- COMMAND...: carries out a user's command, for UNTIL seconds at most. What it
# writes goes out over serial lines as it is written; Open vSwitch starts when it is first asked for; KEEP, below the
# folder one stands in, go into results, as does in `waited` what still ran after UNTIL.
until=$1 keep=()
shift
while [ "$1" != -- ]; do keep+=("$1"); shift; done
shift
here=/run/guest
export OUT=$here/results/out
mkdir -p "$OUT" /run/ours
# In the first 10 s after boot Open vSwitch counts no processors. A person waits for them when it starts, see below;
# otherwise they cost nothing before the command, and virtual/command.py leaves them out of its time.
[ -e $here/files/terminal ] || sleep 11

# An address of this machine's own, which leads nowhere (RFC 5737): where there is none but the loopback's, the C library
# finds no localhost for those who ask for addresses that can be used (AI_ADDRCONFIG), as getent does and Mininet's
# cluster edition.
ip address add 192.0.2.1/32 dev dummy0 && ip link set dummy0 up

# What packages' own scripts do, which do not run where these are only unpacked (virtual/apt.py); and Mininet's
# Controller starts Stanford's `controller`, which no distribution has any more.
if [ ! -e /etc/ssh/sshd_config ] && command -v sshd >/dev/null; then
    mkdir -p /run/sshd /etc/ssh && cp /usr/share/openssh/sshd_config /etc/ssh/ && ssh-keygen -A >/dev/null
    grep -q ^sshd: /etc/passwd || echo sshd:x:106:65534::/run/sshd:/usr/sbin/nologin >>/etc/passwd
fi
if ! command -v controller >/dev/null && command -v ovs-testcontroller >/dev/null; then
    cat >/usr/local/bin/controller <<'CONTROLLER'
#!/bin/bash
words=("$@")
for i in "${!words[@]}"; do [ "${words[i]}" != ptcp: ] || words[i]=ptcp:6633; done # where Stanford's listens, which speaks 1.0
mkdir -p /run/openvswitch
exec chrt --fifo 1 ovs-testcontroller --protocols=OpenFlow10 "${words[@]}"
CONTROLLER
    chmod +x /usr/local/bin/controller
fi

if ! command -v ofdatapath >/dev/null; then # Stanford's, too: `--switch user`
    for name in ofdatapath ofprotocol dpctl; do cp "${BASH_SOURCE%/*}/user_switch.sh" /usr/local/bin/$name && chmod +x /usr/local/bin/$name; done
fi

# Control groups where Mininet 2.3.0 and libcgroup look for them: those of version 1, each controller by itself.
if mount -t tmpfs cgroup /sys/fs/cgroup; then
    for controller in cpu cpuacct cpuset pids; do
        mkdir /sys/fs/cgroup/$controller && mount -t cgroup -o $controller $controller /sys/fs/cgroup/$controller
    done
fi
if asked=$(command -v cgset); then # which takes limits; they slow nobody here, and that is told
    cp "$asked" /run/ours/cgset && rm "$asked"
    cat >"$asked" <<'CGSET'
#!/bin/bash
[[ "$*" != *_us=[1-9]* || "$*" == *period_us=* ]] || : >/run/ours/limited
exec -a cgset /run/ours/cgset "$@"
CGSET
    chmod +x "$asked"
fi

# Mininet 2.3.0 waits for two reports of an iperf server, of which 2.1 makes one: on any machine net.iperf() never ends.
for folder in ${PYTHONPATH//:/ } /usr/lib/python3/dist-packages /usr/local/lib/python3*/dist-packages; do
    net=$folder/mininet/net.py waits="count = 2 if l4Type == 'TCP' else 1"
    if grep -qs "$waits" $net && [[ $(iperf -v 2>&1) == *"version 2.1."* ]]; then sed -i "s/$waits/count = 1/" $net; fi
done

if asked=$(command -v ovs-vsctl); then
    cp "$asked" /run/ours/ovs-vsctl && rm "$asked"
    cat >"$asked" <<'OVS'
#!/bin/bash
if [ ! -S /run/openvswitch/db.sock ]; then
    mkdir -p /run/openvswitch /var/log/openvswitch
    (
        ovsdb-tool create /run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
        ovsdb-server /run/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock --pidfile --detach --no-chdir
        /run/ours/ovs-vsctl --no-wait init
        read -r up _ </proc/uptime
        [ "${up%.*}" -ge 11 ] || sleep $((11 - ${up%.*}))
        chrt --fifo 1 ovs-vswitchd --pidfile --detach --no-chdir --log-file=/dev/null
    ) >/dev/null 2>&1 </dev/null
fi
# What it takes to start a program on a machine, in which the controller that a script has just started comes to listen.
# Else the switch finds nobody, tries again after a second, and drops meanwhile, and later, what hosts send.
read -r -t 0.01 <> <(:)
exec /run/ours/ovs-vsctl "$@"
OVS
    chmod +x "$asked"
fi

# Of hosts' shells, whose complaints Mininet's cmd() hands to a script that often drops them.
command_not_found_handle() {
    echo "$1" >>/run/ours/missing
    echo "bash: $1: command not found" >&2
    return 127
}
export -f command_not_found_handle

if [ -e $here/files/terminal ]; then # a person's: a line that goes both ways, and signals of its keys
    read -r rows columns <$here/files/terminal
    stty -F /dev/ttyS0 sane rows "$rows" columns "$columns"
    setsid --ctty --wait "$@" <>/dev/ttyS0 >&0 2>&0
    status=$?
else
    mkfifo /run/ours/1 /run/ours/2
    for i in 0 1; do
        stty -F /dev/ttyS$i raw -echo
        cat </run/ours/$((i + 1)) >/dev/ttyS$i &
    done
    export PYTHONUNBUFFERED=${PYTHONUNBUFFERED-1} # nothing that it has written is lost with it
    (
        sleep "$until"
        read -r asked </run/ours/asked
        running=("$asked") # and all that it has started: parents have smaller numbers
        for stat in $(printf '%s\n' /proc/[0-9]*/stat | sort -V); do
            read -r line <"$stat"
            read -r _ parent _ <<<"${line##*) }"
            [[ " ${running[*]} " != *" $parent "* ]] || running+=("${line%% *}")
        done
        for pid in "${running[@]}"; do
            mapfile -d '' words <"/proc/$pid/cmdline"
            words=${words[*]}
            [[ $words == *mininet:* ]] || echo "${words//$'\n'/ }"
        done >$here/results/waited
        kill "${running[@]}"
        sleep 1
        kill -KILL "${running[@]}"
    ) 2>/dev/null &
    (echo "$BASHPID" >/run/ours/asked && exec "$@") <$here/files/stdin >/run/ours/1 2>/run/ours/2
    status=$?
    sleep 0.1 # in which all that was written goes out; something may still hold the pipes
fi
{
    for count in waited mean mean_mtu; do echo "$count=$(</sys/module/veth/parameters/$count)"; done
    [ ! -e /run/ours/limited ] || echo limited=1
} >$here/results/links 2>/dev/null
[ ! -e /run/ours/missing ] || sort -u /run/ours/missing | head -100 >$here/results/missing
for path in "${keep[@]}"; do
    mkdir -p "$here/results/keep" && cp -rL --parents -- "$path" "$here/results/keep/" 2>/dev/null || echo "$path" >>"$here/results/lost"
done
exit $status
