#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The stored runs: found, named, noted, tagged, removed; stores of an older irqlab.
. "$(dirname "$0")/tap.sh"
plan 20
STORED=${STORED:-$src/build/tests/e2e/stored}

check "no store is no run" 1 "$IRQLAB" list
ok "and looking makes none" test ! -e "$IRQLAB_DB"
check "nor does a note" 1 "$IRQLAB" note last hello
ok "which makes none either" test ! -e "$IRQLAB_DB"
for _ in 1 2 3; do
	"$STORED" "$IRQLAB_DB" || skip_all "a run cannot be stored here"
done

ids() {
	"$IRQLAB" list --json "$@" | python3 -c "
import json, sys
print(*[r['run'] for r in json.load(sys.stdin)])"
}

ok "newest first" test "$(ids)" = "3 2 1"
ok "so many as asked for" test "$(ids -n 2)" = "3 2"
"$IRQLAB" tag 1 baseline v6.12-rt && "$IRQLAB" tag 2 baseline
ok "by tag" test "$(ids --tag baseline)" = "2 1"
"$IRQLAB" note 1 "the NEW firmware
and a second line"
ok "by words of the note, whatever their case" test "$(ids --search 'new firm')" = "1"
ok "the list keeps to a line a run" test "$("$IRQLAB" list | wc -l)" = 4
ok "a tag is a run: the newest that has it" sh -c "'$IRQLAB' show baseline | grep -q '^run  *2\$'"
"$IRQLAB" tag --remove 2 baseline
ok "until it is taken away" sh -c "'$IRQLAB' show baseline | grep -q '^run  *1\$'"
ok "notes and tags are printed" sh -c "'$IRQLAB' note 1 | grep -q '^and a second line\$' && test \"\$('$IRQLAB' tag 1)\" = 'baseline v6.12-rt'"
ok "reports take a tag" sh -c "'$IRQLAB' report v6.12-rt --json | python3 -c 'import json, sys; assert json.load(sys.stdin)[\"run\"][\"id\"] == 1'"
check "what is no tag is refused" 1 "$IRQLAB" tag 1 "two words"
"$IRQLAB" rename 3 "second board"
ok "a renamed run is found by its new name" sh -c "'$IRQLAB' show 'second board' | grep -q '^run  *3\$'"
"$IRQLAB" show 3 --plan >"$work/plan.yaml"
ok "its plan comes back as it was" sh -c "'$IRQLAB' plan '$work/plan.yaml' | grep -q 'blocks'"
ok "rm takes several, and all that is theirs" sh -c "
	'$IRQLAB' rm 2 last && python3 -c \"
import sqlite3
c = sqlite3.connect('$IRQLAB_DB')
assert [r[0] for r in c.execute('SELECT id FROM run')] == [1]
assert {r[0] for r in c.execute('SELECT run FROM trial')} == {1}
assert c.execute('SELECT COUNT(*) FROM scalar WHERE trial NOT IN (SELECT id FROM trial)').fetchone()[0] == 0\""

set_state() {
	python3 -c "
import sqlite3
c = sqlite3.connect('$IRQLAB_DB')
c.execute('UPDATE run SET state = $1')
c.commit()"
}
set_state 0
check "a run that may be under way is not removed" 1 "$IRQLAB" rm 1
set_state 1

# the schema of the first release that had no notes: what newer steps added is taken away
python3 -c "
import sqlite3
c = sqlite3.connect('$IRQLAB_DB')
c.executescript('DROP TABLE tag; ALTER TABLE run DROP COLUMN note; PRAGMA user_version = 2')"
ok "a store of an older irqlab is brought up to date by reading" test "$(ids)" = 1
check "one of a newer irqlab is refused" 1 sh -c "
	python3 -c \"
import sqlite3
sqlite3.connect('$IRQLAB_DB').executescript('PRAGMA user_version = 99')\" && '$IRQLAB' list"
