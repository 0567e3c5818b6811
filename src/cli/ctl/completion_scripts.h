// SPDX-License-Identifier: Apache-2.0
// What shells need to complete nvsharectl and nvshare. Tenants and GPUs are asked of the daemon
// while the user types, through `nvsharectl completion tenants` and `gpus`.
#pragma once

namespace nvs::cli {

inline constexpr const char* kBashCompletion = R"script(# bash completion of nvsharectl and nvshare
# bash splits words at = and : as well (COMP_WORDBREAKS). What is up to the cursor goes to `words`,
# put together again, and what is being written to `current` and `previous`, which is the option for
# what comes after its =. Bash replaces `last`: `cut` is what an offer must not begin with, `lead`
# what it must.
_nvshare_words() {
  local line=$COMP_LINE piece gap i
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]} gap=${line%%[![:space:]]*}
    line=${line#"$gap"} line=${line#"$piece"}
    if ((i)) && [[ -z $gap && ($piece == [=:]* || ${COMP_WORDS[i-1]} == *[=:]) ]]; then
      words[-1]+=$piece
    else
      words+=("$piece")
    fi
  done
  cword=$((${#words[@]} - 1))
  current=${words[cword]} previous=${words[cword-1]} last=$piece lead="" is_value=0
  [[ $last == [=:]* ]] && last=""
  if [[ $current == --*=* ]]; then
    is_value=1
    [[ $last == --*=* ]] && lead=${last%%=*}= last=${last#*=}
    previous=${current%%=*} current=${current#*=}
  fi
  cut=${current%"$last"}
}

_nvsharectl() {
  local words cword current previous last cut lead is_value
  _nvshare_words
  local word command="" setting="" given=0 skip=0 folder=() i
  for ((i = 1; i < cword; i++)); do
    word=${words[i]}
    if ((skip)); then skip=0; continue; fi
    case $word in
      --folder) folder=(--folder "${words[i+1]}"); skip=1 ;;
      --folder=*) folder=("$word") ;;
      --gpu|-o|--output|--seconds) skip=1 ;;
      -*) ;;
      *)
        if [[ -z $command ]]; then command=$word
        elif [[ $command == set && -z $setting ]]; then setting=$word
        else ((given++)); fi ;;
    esac
  done
  COMPREPLY=()
  local IFS=$'\n' offers="" files=""
  case $previous in
    --folder) files=-d ;;
    --gpu) offers=$(nvsharectl "${folder[@]}" completion gpus 2>/dev/null) ;;
    --seconds) return ;;
    -o|--output)
      [[ $command == trace ]] && files=-f
      offers=$'table\njson' ;;
    *)
      case $command:$setting:$given in
        ::0)
          offers=$'status\ntop\nset\npause\nresume\ntrace\ncompletion'
          offers+=$'\n--folder\n--help\n--version' ;;
        status:*) offers=$'-o\n--folder' ;;
        trace:*) offers=$'-o\n--seconds\n--folder' ;;
        set::0) offers=$'mode\nturn\nwindow\npriority\nweight\nmemory\ncores' ;;
        set:mode:0) offers=$'auto\nserial\nconcurrent' ;;
        set:turn:0) offers=$'auto\n10s\n30s\n60s' ;;
        set:window:0) offers=$'10ms\n20ms\n50ms' ;;
        set:priority:0) offers=$'low\nnormal\nhigh' ;;
        set:weight:0) offers=$'50\n100\n200' ;;
        set:memory:0) offers=$'1Gi\n4Gi\n50%\nnone\ndefault' ;;
        set:cores:0) offers=$'25\n50\n75\nnone\ndefault' ;;
        set:priority:1|set:weight:1|set:memory:1|set:cores:1|pause::0|resume::0)
          offers=$(nvsharectl "${folder[@]}" completion tenants 2>/dev/null) ;;
        set:mode:1|set:turn:1|set:window:1) offers="--gpu" ;;
        completion::0) offers=$'bash\nzsh\nfish' ;;
      esac ;;
  esac
  if [[ -n $files ]]; then
    mapfile -t COMPREPLY < <(compgen "$files" -- "$current")
    COMPREPLY=("${COMPREPLY[@]#"$cut"}"); COMPREPLY=("${COMPREPLY[@]/#/$lead}"); return
  fi
  # Compared by hand: compgen would run what looks like a command in a tenant's name.
  while read -r word; do
    [[ -n $word && $word == "$current"* ]] && COMPREPLY+=("$(printf %q "$lead${word#"$cut"}")")
  done <<< "$offers"
}
complete -F _nvsharectl nvsharectl

_nvshare() {
  local words cword current previous last cut lead is_value i
  _nvshare_words
  COMPREPLY=()
  if ((cword == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "run --help --version" -- "$current"); return
  fi
  for ((i = 2; i < cword; i++)); do
    case ${words[i]} in
      --) ((i++)); break ;;
      --priority|--memory|--cores|--library|--debug-file) ((i++)) ;;
      -*) ;;
      *) break ;;
    esac
  done
  if ((i < cword)); then
    mapfile -t COMPREPLY < <(compgen -f -- "$last"); return
  elif ((i == cword && !is_value)) && [[ $previous == -- || $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$current")
  elif [[ $previous == --priority ]]; then
    mapfile -t COMPREPLY < <(compgen -W "low normal high" -- "$current")
  elif [[ $previous == --memory ]]; then
    mapfile -t COMPREPLY < <(compgen -W "1Gi 4Gi 50%" -- "$current")
  elif [[ $previous == --cores ]]; then
    mapfile -t COMPREPLY < <(compgen -W "25 50 75" -- "$current")
  elif ((!is_value)) && [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W \
      "--priority --memory --cores --no-daemon --debug --debug-file --disable --library --help --" \
      -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
  COMPREPLY=("${COMPREPLY[@]#"$cut"}"); COMPREPLY=("${COMPREPLY[@]/#/$lead}")
}
complete -o filenames -F _nvshare nvshare
)script";

inline constexpr const char* kZshCompletion = R"script(#compdef nvsharectl nvshare
# zsh completion of nvsharectl and nvshare
# Called with options for compadd before the word.
_nvsharectl_words() {
  local -a found
  found=("${(@f)$(nvsharectl $nvsharectl_folder completion ${@[-1]} 2>/dev/null)}")
  compadd "${@[1,-2]}" -a found
}

_nvsharectl_set() {
  local -a state
  _arguments -C '1:setting:(mode turn window priority weight memory cores)' '*::value:->value'
  case $words[1] in
    mode) _arguments '1:mode:(auto serial concurrent)' '--gpu=:GPU:_nvsharectl_words gpus' ;;
    turn) _arguments '1:time:(auto 10s 30s 60s)' '--gpu=:GPU:_nvsharectl_words gpus' ;;
    window) _arguments '1:time:(10ms 20ms 50ms)' '--gpu=:GPU:_nvsharectl_words gpus' ;;
    priority) _arguments '1:priority:(low normal high)' '2:tenant:_nvsharectl_words tenants' ;;
    weight) _arguments '1:weight:(50 100 200)' '2:tenant:_nvsharectl_words tenants' ;;
    memory)
      _arguments '1:size:(1Gi 4Gi 50% none default)' '2:tenant:_nvsharectl_words tenants' ;;
    cores)
      _arguments '1:percent:(25 50 75 none default)' '2:tenant:_nvsharectl_words tenants' ;;
  esac
}

_nvsharectl() {
  local -a commands state nvsharectl_folder
  local -A opt_args
  commands=(
    'status:GPUs and tenants as a table'
    'top:the same, live'
    'set:change how a GPU is shared, or limits of a tenant'
    'pause:keep a tenant from running'
    'resume:let it run again'
    'trace:who ran when, as a file'
    'completion:a script for a shell'
  )
  _arguments -C '--folder=[the folder of the daemon]:folder:_files -/' '--help[help]' \
    '--version[version]' '1:command:->command' '*::argument:->argument'
  (( $+opt_args[--folder] )) && nvsharectl_folder=(--folder "${(Q)opt_args[--folder]}")
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
        status) _arguments '-o[format]:format:(table json)' ;;
        set) _nvsharectl_set ;;
        pause|resume) _arguments '1:tenant:_nvsharectl_words tenants' ;;
        trace) _arguments '-o[file]:file:_files' '--seconds=[how far back]:seconds:' ;;
        completion) _arguments '1:shell:(bash zsh fish)' ;;
      esac ;;
  esac
}

_nvshare() {
  _arguments -C '1:command:(run)' '*::argument:->argument'
  [[ $state == argument ]] && _arguments -S \
    '--priority=[who goes first]:priority:(low normal high)' \
    '--memory=[of each GPU]:size:(1Gi 4Gi 50%)' '--cores=[of each GPU]:percent:(25 50 75)' \
    '--no-daemon[start no daemon]' '--debug[log]' '--debug-file=[where to]:file:_files' \
    '--disable[switch the library off]' '--library=[the library]:file:_files' \
    '(-):command:_command_names -e' '*::argument:_normal'
}

compdef _nvsharectl nvsharectl
compdef _nvshare nvshare
)script";

inline constexpr const char* kFishCompletion = R"script(# fish completion of nvsharectl and nvshare
function __nvsharectl_ask
  set -l words (commandline -opc)
  set -l folder
  for i in (seq (count $words))
    switch $words[$i]
      case --folder
        set folder --folder $words[(math $i + 1)]
      case '--folder=*'
        set folder $words[$i]
    end
  end
  nvsharectl $folder completion $argv 2>/dev/null
end
set -l commands status top set pause resume trace completion
complete -c nvsharectl -f
complete -c nvsharectl -l folder -x -a '(__fish_complete_directories)' -d 'folder of the daemon'
complete -c nvsharectl -l help -d help
complete -c nvsharectl -l version -d version
complete -c nvsharectl -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c nvsharectl -n '__fish_seen_subcommand_from status' -s o -x -a 'table json'
complete -c nvsharectl -n '__fish_seen_subcommand_from trace' -s o -r -F
complete -c nvsharectl -n '__fish_seen_subcommand_from trace' -l seconds -x
complete -c nvsharectl -n '__fish_seen_subcommand_from pause resume' \
  -a '(__nvsharectl_ask tenants)'
complete -c nvsharectl -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
set -l settings mode turn window priority weight memory cores
complete -c nvsharectl -a "$settings" \
  -n "__fish_seen_subcommand_from set; and not __fish_seen_subcommand_from $settings"
complete -c nvsharectl -n '__fish_seen_subcommand_from mode' -a 'auto serial concurrent'
complete -c nvsharectl -n '__fish_seen_subcommand_from turn' -a 'auto 10s 30s 60s'
complete -c nvsharectl -n '__fish_seen_subcommand_from window' -a '10ms 20ms 50ms'
complete -c nvsharectl -n '__fish_seen_subcommand_from mode turn window' -l gpu -x \
  -a '(__nvsharectl_ask gpus)'
complete -c nvsharectl -n '__fish_seen_subcommand_from priority' \
  -a 'low normal high (__nvsharectl_ask tenants)'
complete -c nvsharectl -n '__fish_seen_subcommand_from weight' \
  -a '50 100 200 (__nvsharectl_ask tenants)'
complete -c nvsharectl -n '__fish_seen_subcommand_from memory' \
  -a '1Gi 4Gi 50% none default (__nvsharectl_ask tenants)'
complete -c nvsharectl -n '__fish_seen_subcommand_from cores' \
  -a '25 50 75 none default (__nvsharectl_ask tenants)'

complete -c nvshare -n '__fish_use_subcommand' -f -a run
complete -c nvshare -n '__fish_seen_subcommand_from run' -l priority -x -a 'low normal high'
complete -c nvshare -n '__fish_seen_subcommand_from run' -l memory -x -a '1Gi 4Gi 50%'
complete -c nvshare -n '__fish_seen_subcommand_from run' -l cores -x -a '25 50 75'
complete -c nvshare -n '__fish_seen_subcommand_from run' -l no-daemon -d 'start no daemon'
complete -c nvshare -n '__fish_seen_subcommand_from run' -l debug -d log
complete -c nvshare -n '__fish_seen_subcommand_from run' -l debug-file -r -F
complete -c nvshare -n '__fish_seen_subcommand_from run' -l disable -d 'switch the library off'
complete -c nvshare -n '__fish_seen_subcommand_from run' -l library -r -F
complete -c nvshare -n '__fish_seen_subcommand_from run' -f -a '(__fish_complete_subcommand)'
)script";

}  // namespace nvs::cli
