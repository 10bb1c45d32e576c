# bash completion of skep, made by `rake completions`
_skep_swarms() {
  local dir=${SKEP_RUN_DIR:-}
  if [ -z "$dir" ]; then
    if [ "$(id -u)" = 0 ]; then dir=/run/skep
    elif [ -n "${XDG_RUNTIME_DIR:-}" ]; then dir=$XDG_RUNTIME_DIR/skep
    else dir=/tmp/skep-$(id -u); fi
  fi

  local socket name
  for socket in "$dir"/*.sock; do
    [ -S "$socket" ] || continue
    name=${socket##*/}; name=${name%.sock}
    [[ $name == "$1"* ]] && COMPREPLY+=("$name")
  done
  return 0
}

_skep() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "run check status top events kafka web restart reload scale quiet resume stop doctor profile chaos help" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run)
      options="--nodes --control --metrics --log --log-level --log-format --boot-timeout --stop-timeout --pidfile --inline --work -h --help" words=""
      case $prev in --nodes|--control|--metrics|--log|--log-level|--log-format|--boot-timeout|--stop-timeout|--pidfile|--work) return ;; esac ;;
    check)
      options="-h --help" words=""
       ;;
    status)
      options="--control --json --partitions --exit-status -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    top)
      options="--control --once -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    events)
      options="--control --since --level --follow --json -h --help" words=":swarm"
      case $prev in --control|--since|--level) return ;; esac ;;
    kafka)
      options="--brokers --config --set --file --timeout --json -h --help --error --letter --from --key --limit --rate --to --max-replays --dry-run --yes --unknown" words="lag dead broker"
      case $prev in --brokers|--config|--set|--file|--timeout|--error|--letter|--from|--key|--limit|--rate|--to|--max-replays) return ;; esac ;;
    web)
      options="--control --port --bind --host --proxy --user --password-file --file -h --help" words=":swarm"
      case $prev in --control|--port|--bind|--host|--proxy|--user|--password-file|--file) return ;; esac ;;
    restart)
      options="--control --no-wait --node --work -h --help" words=":swarm"
      case $prev in --control|--node|--work) return ;; esac ;;
    reload)
      options="--control --no-wait -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    scale)
      options="--control -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    quiet)
      options="--control -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    resume)
      options="--control -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    stop)
      options="--control --no-wait -h --help" words=":swarm"
      case $prev in --control) return ;; esac ;;
    doctor)
      options="--json --timeout -h --help" words=""
      case $prev in --timeout) return ;; esac ;;
    profile)
      options="--control --output --state --work --node --thread --topic --json -h --help" words=":swarm"
      case $prev in --control|--output|--state|--work|--node|--thread|--topic) return ;; esac ;;
    chaos)
      options="--control --seconds --kill-rate --stop-rate --mold-rate --helper-rate --scale-rate --storm-rate --hang-rate --leak-rate --recovery-timeout --seed --json -h --help" words=":swarm"
      case $prev in --control|--seconds|--kill-rate|--stop-rate|--mold-rate|--helper-rate|--scale-rate|--storm-rate|--hang-rate|--leak-rate|--recovery-timeout|--seed) return ;; esac ;;
    help) words="run check status top events kafka web restart reload scale quiet resume stop doctor profile chaos help" ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [ "$words" = :swarm ]; then
    _skep_swarms "$cur"
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _skep skep
