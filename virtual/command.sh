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
        ovs-vswitchd --pidfile --detach --no-chdir --log-file=/dev/null
    ) >/dev/null 2>&1 </dev/null
fi
exec /run/ours/ovs-vsctl "$@"
OVS
    chmod +x "$asked"
fi

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
for path in "${keep[@]}"; do
    mkdir -p "$here/results/keep" && cp -rL --parents -- "$path" "$here/results/keep/" 2>/dev/null || echo "$path" >>"$here/results/lost"
done
exit $status
