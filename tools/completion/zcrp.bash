# SPDX-License-Identifier: MIT
# Completion in bash for all programs of libzcrp: options as --help prints them, hosts where a program takes
# some, else files. `make install` puts it under each program's name; or read it with `.`.
_zcrp() {
    local word=$2 before=$3 options
    COMPREPLY=()
    case $word in
    -*)
        options=$("$1" --help 2>/dev/null | grep -oE -e '(^|[ ,[])--?[a-zA-Z][-a-zA-Z0-9]*' | tr -d ' ,[' | sort -u)
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
        ;;
    esac
    case ${1##*/}:$before in
    *:--keys | *:-k | *:--far-program | *:--rsh | *:-e | *:--json) ;;
    zcrp-cp:* | zcrp-tunnel:* | zcrp-bench:--connect)
        local user=
        [ "${word%@*}" = "$word" ] || user=${word%@*}@
        COMPREPLY=($(compgen -P "$user" -A hostname -- "${word#"$user"}"))
        ;;
    esac
}
complete -o default -F _zcrp zcrp-bench zcrp-cp zcrp-cpuload zcrp-keys zcrp-link zcrp-load zcrp-plot zcrp-top zcrp-tunnel
