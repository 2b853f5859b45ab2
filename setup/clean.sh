# Sourced first by scripts that root may start. With root's rights nothing of the environment is heard but what is listed
# here: no search path, no library, no settings of Python, pip, apt or OpenSSL, which would be code of somebody's.
unset CDPATH
if [ "$EUID" -eq 0 ]; then
    kept=(PATH=/usr/sbin:/usr/bin:/sbin:/bin) clean=yes
    while IFS= read -r -d '' entry; do
        case $entry in
            "${kept[0]}") ;;
            HOME=* | LANG=* | LC_*=* | TERM=* | TZ=* | SUDO_*=* | HEDERA_*=* | POX_DIR=*) kept+=("$entry") ;;
            http_proxy=* | https_proxy=* | ftp_proxy=* | no_proxy=* | HTTP_PROXY=* | HTTPS_PROXY=* | FTP_PROXY=* | NO_PROXY=*) kept+=("$entry") ;;
            *) clean= ;;
        esac
    done </proc/self/environ
    [ -n "$clean" ] || exec -c /usr/bin/env "${kept[@]}" /bin/bash -p "$0" "$@"
    export "${kept[0]}"
fi
# Else Python could not read a path with letters beyond ASCII.
case ${LC_ALL:-} in C | POSIX) export LC_ALL=C.UTF-8 ;; esac
