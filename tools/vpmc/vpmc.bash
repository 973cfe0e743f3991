# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207 # words, one per line
# Completion of the vpmc command for bash.

# _vpmc_events LIST NAMES: completes the last event of the list that is being typed, also
# by NAMES. Adds no blank, because more can follow the name.
_vpmc_events()
{
	local list=$1 before=

	case $list in
	*,*)
		before=${list%,*},
		list=${list##*,}
		;;
	esac
	COMPREPLY=($(compgen -P "$before" -W "${2-} $(vpmc list --names 2>/dev/null)" -- "$list"))
	compopt -o nospace
}

# _vpmc_groups LIST: completes the last group of the list, or a file
_vpmc_groups()
{
	local list=$1 before=

	case $list in
	*,*)
		before=${list%,*},
		list=${list##*,}
		;;
	esac
	if [[ $list == */* ]]; then
		_filedir json
		return
	fi
	COMPREPLY=($(compgen -P "$before" -W "$(vpmc list --groups --names 2>/dev/null)" -- "$list"))
	compopt -o nospace
}

_vpmc()
{
	local cur prev words cword command='' i

	# a name such as EVENT:UMASK is one word
	_init_completion -n : || return
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		stat | info | list | ctl | bench | graph | record | report | compare | cpus | help)
			command=${words[i]}
			break
			;;
		esac
	done
	case $command in
	help)
		COMPREPLY=($(compgen -W "stat info list ctl bench graph record report compare cpus" -- "$cur"))
		;;
	'')
		COMPREPLY=($(compgen -W "stat info list ctl bench graph record report compare cpus help --help --usage --version" -- "$cur"))
		return
		;;
	stat)
		_vpmc_stat $((i + 1))
		;;
	graph)
		_vpmc_graph $((i + 1))
		;;
	record)
		_vpmc_record $((i + 1))
		;;
	report)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "-j -o --json --html --folded --symfs --output --help --usage --version" -- "$cur"))
		else
			_filedir
		fi
		;;
	compare)
		case $prev in
		--format) COMPREPLY=($(compgen -W "text json markdown" -- "$cur")) ;;
		--limit) ;;
		*)
			if [[ $cur == -* ]]; then
				COMPREPLY=($(compgen -W "-j -o --limit --other-cpu --json --format --output --help --usage --version" -- "$cur"))
			else
				_filedir
			fi
			;;
		esac
		;;
	info)
		COMPREPLY=($(compgen -W "-j -q --json --quiet --help --usage --version" -- "$cur"))
		;;
	list)
		COMPREPLY=($(compgen -W "-g -n --groups --names --help --usage --version $(vpmc list --names 2>/dev/null)" -- "$cur"))
		;;
	bench)
		COMPREPLY=($(compgen -W "-n -H -j --samples --histogram --json --help --usage --version" -- "$cur"))
		;;
	cpus)
		case $prev in
		-e | --event) _vpmc_events "$cur" ;;
		-C | --cpu | -d | --delay | -n | --rounds) ;;
		*) COMPREPLY=($(compgen -W "-C -e -d -n --cpu --event --delay --rounds --revoke --help --usage --version" -- "$cur")) ;;
		esac
		;;
	ctl)
		if [[ $prev == -[pt] || $prev == --[pt]id ]]; then
			_pids
		else
			COMPREPLY=($(compgen -W "start stop clear read -p -t -j --pid --tid --json --help --usage --version" -- "$cur"))
		fi
		;;
	esac
	__ltrim_colon_completions "$cur"
}

# _vpmc_command_began FIRST OPTIONS: completes COMMAND if a word from FIRST on is part
# of it, else returns 1. Each of OPTIONS is followed by a value.
_vpmc_command_began()
{
	local i

	for ((i = $1; i < cword; i++)); do
		case ${words[i]} in
		--)
			_command_offset $((i + 1))
			return 0
			;;
		-*) [[ " $2 " != *" ${words[i]} "* ]] || i=$((i + 1)) ;;
		*)
			_command_offset "$i"
			return 0
			;;
		esac
	done
	return 1
}

# _vpmc_stat FIRST: the options of stat from that word on, then COMMAND
_vpmc_stat()
{
	_vpmc_command_began "$1" "-C -D -e -I -M -r -x -o -p -t --cpu --delay --event --group --interval-print --timeout --repeat --csv --format --interval --output --pid --tid --warmup --compare --vs --limit" && return
	case $prev in
	-e | --event)
		_vpmc_events "$cur" "none task-clock context-switches cpu-migrations page-faults minor-faults major-faults user-time system-time max-rss duration_time"
		return
		;;
	-M | --group)
		_vpmc_groups "$cur"
		return
		;;
	-o | --output | --compare)
		_filedir
		return
		;;
	-p | --pid | -t | --tid)
		_pids
		return
		;;
	--format)
		COMPREPLY=($(compgen -W "text json csv openmetrics markdown" -- "$cur"))
		return
		;;
	-C | --cpu | -D | --delay | -I | --interval-print | --timeout | -r | --repeat | -x | --csv | --interval | --warmup | --vs | --limit)
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "-a -C -d -D -e -I -m -r -j -x -M -o -p -t -- --all-cpus --cpu --revoke --event --repeat --warmup --no-inherit --per-thread --marked --metrics --group --detailed --delay --timeout --interval-print --split --stopped --json --csv --format --interval --rank --output --pid --tid --compare --vs --limit --other-cpu --help --usage --version" -- "$cur"))
	else
		_command_offset "$cword"
	fi
}

# _vpmc_graph FIRST: likewise, of graph
_vpmc_graph()
{
	_vpmc_command "$1" "-e -o -- --event --output --help --usage --version"
}

# _vpmc_record FIRST: likewise, of record
_vpmc_record()
{
	_vpmc_command "$1" "-c -e -o -- --count --event --output --help --usage --version"
}

# _vpmc_command FIRST OPTIONS: completes a command that takes COMMAND and these options
_vpmc_command()
{
	_vpmc_command_began "$1" "-c -e -o --count --event --output" && return
	case $prev in
	-e | --event) _vpmc_events "$cur" ;;
	-o | --output) _filedir ;;
	-c | --count) ;;
	*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$2" -- "$cur"))
		else
			_command_offset "$cword"
		fi
		;;
	esac
}

complete -F _vpmc vpmc
