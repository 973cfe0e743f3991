# SPDX-License-Identifier: GPL-2.0
# scdoc begins paragraphs that are empty, by .P or, since 1.11.3, by .PP. mandoc warns of
# these. So each .P waits for what is in it. The first line of a page with tables asks for
# tbl, and scdoc leaves it out. man runs tbl by default; lintian runs only what is asked for.
# Cells are narrow. A line of one word cannot be stretched, so they are not adjusted.
function put(line) { text[++lines] = line }
/^\.TS/ { tables = 1 }
/^\.PP?$/ { waits = !heading; next }
/^\.(SH|SS|TH)/ { waits = 0; heading = 1; put($0); next }
/^\.RE/ { put($0); next }
{ if (waits) put(".P"); waits = heading = 0; put($0) }
/^(T}\t)?T{$/ { put(".na") }
END {
	if (tables)
		print "'\\\" t"
	for (i = 1; i <= lines; i++)
		print text[i]
}
