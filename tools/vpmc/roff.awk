# SPDX-License-Identifier: GPL-2.0
# scdoc begins paragraphs that are empty, which mandoc warns of: each .P waits for
# what is in it.
/^\.P$/ { waits = !heading; next }
/^\.(SH|SS|TH)/ { waits = 0; heading = 1; print; next }
/^\.RE/ { print; next }
{ if (waits) print ".P"; waits = heading = 0; print }
