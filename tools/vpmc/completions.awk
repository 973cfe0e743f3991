# SPDX-License-Identifier: GPL-2.0
# Makes the completion of the vpmc command for zsh or fish (-v shell=) from what
# "vpmc --help" and "vpmc COMMAND --help" print. A line "= COMMAND" precedes each of the
# latter, so the completion always has the options that there are.

# quoted TEXT: as a word in single quotes
function quoted(text) {
	gsub(/'/, shell == "fish" ? "\\'" : "'\\''", text)
	return "'" text "'"
}

# What the words of a command are that are no options, for zsh
function operands() {
	if (command == "stat" || command == "graph" || command == "record")
		return "*:: :_normal"
	if (command == "report")
		return "1:DIR or FILE:_files"
	if (command == "compare")
		return "*:FILE:_files"
	if (command == "ctl")
		return "1:what to do:(" CTL ")"
	if (command == "list")
		return "1:GLOB:_vpmc_events"
	return ""
}

# The formats of a command
function formats() {
	return command == "compare" ? "text json markdown" : "text json csv openmetrics markdown"
}

function say_option(    what, arguments) {
	if (!name)
		return
	if (shell == "fish") {
		what = "complete -c vpmc -n " quoted("__fish_seen_subcommand_from " command)
		printf "%s -l %s%s%s -d %s\n", what, name, letter ? " -s " letter : "",
		       !value ? "" : value ~ /^(FILE|DIR|BASE)$/ ? " -r -F" : value == "FORMAT" ? " -x -a " quoted(formats()) : value == "EVENTS" ? " -x -a '(vpmc list --names 2>/dev/null)'" : \
		       value == "GROUP" ? " -x -a '(vpmc list --groups --names 2>/dev/null)'" : " -x",
		       quoted(text)
	} else {
		gsub(/[\[\]:]/, "\\\\&", text)
		arguments = !value ? "" : value ~ /^(FILE|BASE)$/ ? ":" value ":_files" : \
			value == "DIR" ? ":DIR:_files -/" : value == "FORMAT" ? ":FORMAT:(" formats() ")" : \
			value == "EVENTS" ? ":EVENTS:_vpmc_events" : value == "GROUP" ? ":GROUP:_vpmc_groups" : value ~ /^[PT]ID$/ ? ":" value ":_pids" : ":" value ":"
		printf "\t\t%s \\\n", quoted("--" name (value ? "=" : "") "[" text "]" arguments)
		if (letter)
			printf "\t\t%s \\\n", quoted("-" letter (value ? "+" : "") "[" text "]" arguments)
	}
	name = ""
}

function end_command() {
	say_option()
	if (command && shell == "zsh")
		print (operands() ? "\t\t'" operands() "'" : "\t\t&& return") "\n\t;;"
	if (command == "ctl" && shell == "fish")
		say_words("ctl", CTL)
}

# The words that may follow a command, for fish
function say_words(command, words) {
	print "complete -c vpmc -n " quoted("__fish_seen_subcommand_from " command) " -f -a " quoted(words)
}

BEGIN {
	command = ""
	CTL = "start stop clear read"
	if (shell == "fish")
		print "# Completion of the vpmc command for fish"
	else
		print "#compdef vpmc\n# Completion of the vpmc command for zsh\n" \
		      "_vpmc_events() {\n\t_values -s , event ${(f)\"$(vpmc list --names 2>/dev/null | sed 's/:/\\\\:/g')\"}\n}\n" \
		      "_vpmc_groups() {\n\t_values -s , group ${(f)\"$(vpmc list --groups --names 2>/dev/null)\"}\n}\n" \
		      "_vpmc_commands() {"
	if (shell == "zsh")
		printf "\t_values command"
}

/^= / {
	if (!command && shell == "zsh")
		print "\n}\nif ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ $words[2] == help ]] }; then\n\t_vpmc_commands\n\treturn\nfi\nshift words\n((CURRENT--))\n" \
		      "# _arguments takes no -- that is the first word\n" \
		      "if ((CURRENT > 2)) && [[ $words[2] == -- ]]; then\n\tshift 2 words\n\t((CURRENT -= 2))\n\t_normal\n\treturn\nfi\ncase $words[1] in"
	end_command()
	command = $2
	if (shell == "zsh")
		printf "%s)\n\t_arguments -s -S \\\n", command
	next
}

# "  stat     counts a program" in the list of commands
!command && /^  [a-z]+ +[a-z]/ {
	word = $1
	text = $0
	sub(/^ +[a-z]+ +/, "", text)
	if (word != "help")
		commands = commands " " word
	if (shell == "fish")
		printf "complete -c vpmc -n __fish_use_subcommand -x -a %s -d %s\n", word, quoted(text)
	else {
		gsub(/[\[\]:]/, "\\\\&", text)
		printf " \\\n\t\t%s", quoted(word "[" text "]")
	}
	next
}

# "  -e, --event=EVENTS         What to count" and the lines that continue it
command && /^ +(-[a-zA-Z], +)?--[a-z]/ {
	say_option()
	line = $0
	letter = match(line, /-[a-zA-Z], /) ? substr(line, RSTART + 1, 1) : ""
	sub(/^ +(-[a-zA-Z], +)?--/, "", line)
	match(line, /^[a-z-]+/)
	name = substr(line, 1, RLENGTH)
	line = substr(line, RLENGTH + 1)
	value = match(line, /^=[A-Z]+/) ? substr(line, 2, RLENGTH - 1) : ""
	sub(/^(=[A-Z]+)? */, "", line)
	text = line
	next
}
command && name && /^                    +[^ ]/ {
	sub(/^ +/, "")
	text = text " " $0
	next
}
name && !NF { say_option() }

END {
	end_command()
	if (shell == "zsh")
		print "esac"
	else
		say_words("help", substr(commands, 2))
}
