# Process 1 of a guest, which has a folder of the host's at /tmp/in already (`virtual.guest.START`).
# The guest's root is the host's, read-only, below an overlay that keeps writes in the guest's memory; or it is empty but
# for the folders of a world of its own.
job=/proc/self/cwd # on the host: `in` is read, `out` is written
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
die() { echo "guest: $*" >/dev/console; read -r -t 1 <> <(:); kill -KILL $$; exit 1; } # the kernel panics without process 1
# If mount passes options one by one, as util-linux 2.39 does, Linux 6.10 and later takes the host's folder as a named
# option; otherwise it is an option without a name.
host_folder() { mount -t hostfs -o "hostfs=$1$3" host "$2" 2>/dev/null || mount -t hostfs -o "$1$3" host "$2"; }
. /tmp/in/told || die "no job" # arrays: out, python, folder, layers, places, links, environment, command
# No path of a clone, a home or a cache comes in here: all that is longer takes other memory, what is sorted by its
# place in memory gets another order, and TCP multiplies that.

cd /tmp && mkdir upper work root empty || die "no memory for an overlay"
lower=/
[ ${#places[@]} -eq 0 ] || lower=/tmp/empty
for layer in "${layers[@]}"; do # each in its own file system: an overlay refuses a folder below another of its folders
    mkdir "$layer" && host_folder "$job/in/$layer/." "$layer" ,ro || die "no $layer"
    lower=/tmp/$layer:$lower
done
mount -t overlay -o "lowerdir=$lower,upperdir=/tmp/upper,workdir=/tmp/work" root root || die "no overlay"
cd root
if [ ${#places[@]} -gt 0 ]; then
    mkdir -p run proc sys dev tmp root etc
    for ((i = 0; i < ${#places[@]}; i++)); do
        place=.${places[i]} host=$job/in/host$i/.
        if [ -n "${links[i]}" ]; then # into /usr, on a merged system
            [ -e "$place" ] || ln -s "${links[i]}" "$place"
        elif [ "$place" = ./usr ] && [ ${#layers[@]} -gt 0 ]; then
            mkdir -p "$place" /tmp/usr /tmp/upper-usr /tmp/work-usr && host_folder "$host" /tmp/usr ,ro || die "no /usr"
            above=
            for mounted in /tmp/layer*/usr; do above+=$mounted:; done
            mount -t overlay -o "lowerdir=$above/tmp/usr,upperdir=/tmp/upper-usr,workdir=/tmp/work-usr" usr "$place" || die "no /usr"
        else
            mkdir -p "$place" && host_folder "$host" "$place" ,ro || die "no ${places[i]}"
        fi
    done
    cp /etc/ld.so.cache etc/ || die "no ld.so.cache"
    printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/nonexistent:/bin/false >etc/passwd
    printf '%s\n' root:x:0: nogroup:x:65534: >etc/group
    echo '127.0.0.1 localhost' >etc/hosts
    echo 'hosts: files' >etc/nsswitch.conf
fi
mount -t tmpfs run run && mkdir ".$out" && host_folder "$job/out" ".$out" "" || die "no folder for results"
mount -t proc proc proc && mount -t sysfs sys sys && mount -t devtmpfs dev dev || die "no /proc"
mkdir -p dev/shm dev/pts
mount -t tmpfs shm dev/shm
mount -t devpts -o ptmxmode=666 pts dev/pts && ln -sf pts/ptmx dev/ptmx
ln -sf /proc/self/fd dev/fd; ln -sf /proc/self/fd/0 dev/stdin; ln -sf /proc/self/fd/1 dev/stdout; ln -sf /proc/self/fd/2 dev/stderr
mkdir run/lock
pivot_root . tmp && cd / && umount -l /tmp || die "no new root"
exec <dev/null >/dev/console 2>&1
ip link set lo up
echo guest >/proc/sys/kernel/hostname
echo 1 >/proc/sys/vm/panic_on_oom # which is told as the cause; a run without one of its programs would end in riddles
echo 100 >/proc/sys/vm/dirty_writeback_centisecs # so that what is written is seen outside after a second
echo 100 >/proc/sys/vm/dirty_expire_centisecs
cd "$out" || die "no folder for results"

# Whether computing takes time here, as it does with the host's clock.
before=${EPOCHREALTIME/./}
printf -v spaces %20000s
: "${spaces%%x*}" # tried at every place; no loop, whose rounds call the kernel
after=${EPOCHREALTIME/./}
printf '%s %s %s\n' "$((after - before))" "$(</sys/devices/system/clocksource/clocksource0/current_clocksource)" "$(</proc/sys/kernel/osrelease)" >facts

exec 9<> <(:) # nothing is ever written to it: reading from it is a sleep that starts no program
(
    while read -r up _ </proc/uptime; do
        printf '%s\n' "$up" >clock
        read -r -t 1 -u 9
    done
) &
(
    cd "$folder" || exit 127
    exec 9<&- env -i "${environment[@]}" "${command[@]}" >"$out/stdout" 2>"$out/stderr"
) &
wait $!
status=$?
read -r up _ </proc/uptime
printf '%s\n' "$up" >clock
# A status promises that everything written is outside. (Closing a file loses its last errors; this asks for them.)
{ sync -f . && printf '%s\n' "$status" >status && sync -f . ; } 2>/run/why ||
    { mapfile -t why </run/why; echo "guest: ${why[*]}"; : >unwritten; } # no program: there may be no file left for one
"$python" -ISc 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)' # RB_POWER_OFF: no program that every system has does that
