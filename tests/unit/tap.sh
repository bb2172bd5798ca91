#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Run a cmocka test and mend its TAP: cmocka reports a skipped test as "not ok N # SKIP name", which
# counts as failed, and what a test prints is no comment.  Here it becomes "ok N # SKIP name: reason",
# the reason being the line printed before.
status=$({ { "$@"; echo $? >&3; } | awk '
	/^not ok [0-9]+ # SKIP/ { sub(/^not /, ""); print $0 (why == "" ? "" : ": " why); why = ""; next }
	/^(ok|not ok) / { why = "" }
	/^(ok |not ok |#|[0-9]+\.\.|TAP |Bail out)/ { print; next }
	{ why = $0; print "# " $0 }
' >&4; } 3>&1 4>&5) 5>&1
exit "$status"
