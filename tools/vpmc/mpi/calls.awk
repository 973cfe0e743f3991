# SPDX-License-Identifier: LGPL-2.1-or-later
# What the preprocessor makes of mpi.h becomes one line for each call that returns an error
# number and has the same call in the profiling interface:
#
#	CALL(Send, (const void *buf, int count, ...), (buf, count, ...))
#
# With -v fortran=1, one line for its name in Fortran: CALL(Send, send).
#
# MPI_Init(), MPI_Init_thread() and MPI_Finalize() are written by hand. MPI_Pcontrol() has a
# variable number of arguments, and MPI_T_* are no communication.
/^#/ { next }
{ text = text " " $0 }

# the names of PARAMETERS, as arguments
function arguments(parameters,   part, n, i, list, name)
{
	n = split(parameters, part, ",")
	for (i = 1; i <= n; i++) {
		name = part[i]
		gsub(/\[[^]]*\]/, "", name)
		sub(/ +$/, "", name)
		sub(/^.*[^A-Za-z0-9_]/, "", name)
		list = list (i > 1 ? ", " : "") name
	}
	return list == "void" ? "" : list
}

END {
	gsub(/[ \t]+/, " ", text)
	n = split(text, declaration, ";")
	for (i = 1; i <= n; i++) {
		if (!match(declaration[i], /[ )]int P?MPI_[A-Za-z0-9_]+ ?\(/))
			continue
		name = substr(declaration[i], RSTART + 1, RLENGTH - 1)
		rest = substr(declaration[i], RSTART + RLENGTH)
		gsub(/^int |[ (]+$/, "", name)
		if (name ~ /^PMPI_/)
			profiled[substr(name, 6)] = 1
		if (name !~ /^MPI_/)
			continue
		sub(/\)[^)]*$/, "", rest)
		order[++nr] = name = substr(name, 5)
		list[name] = rest
	}
	for (i = 1; i <= nr; i++) {
		name = order[i]
		if (!profiled[name] || name ~ /^(Init|Init_thread|Finalize|Pcontrol|T_.*)$/ || done[name]++)
			continue
		if (fortran)
			printf "CALL(%s, %s)\n", name, tolower(name)
		else
			printf "CALL(%s, (%s), (%s))\n", name, list[name], arguments(list[name])
	}
}
