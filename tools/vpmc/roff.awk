# SPDX-License-Identifier: GPL-2.0
# scdoc begins paragraphs that are empty, by .P or, since 1.11.3, by .PP. mandoc warns of
# these. So each .P waits for what is in it.
/^\.PP?$/ { waits = !heading; next }
/^\.(SH|SS|TH)/ { waits = 0; heading = 1; print; next }
/^\.RE/ { print; next }
{ if (waits) print ".P"; waits = heading = 0; print }
