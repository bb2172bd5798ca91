/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_VARIANT_PARTS_H
#define VARIANT_VARIANT_PARTS_H

/* Inside of struct applied, shared by variant.c, undo.c, witness.c and refresh.c alone. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/variant.h"

struct journal;

/* One target with one value. */
struct item {
	const struct knob_ops *ops;
	size_t use; /* index of the use of a knob that it comes from */
	char *target;
	char *value;	 /* what must read back; NULL: it cannot be read */
	char *old;	 /* NULL: it cannot be read */
	uint64_t change; /* id in the journal; 0: nothing was changed */
	bool blind;
	bool settled;	/* read back as set once all was set: another value is not our doing */
	bool gone;	/* noted as such */
	bool refused;	/* appeared and could not be set: it was said */
	char *found;	/* by undo, what somebody else has set it to; NULL: nobody has */
	bool witnessed; /* @begin is filled */
	struct witness begin;
};

/* One use of a knob in the list that was applied. */
struct use {
	const struct knob_ops *ops;
	struct instance inst; /* a copy when it @appears, else empty */
	bool appears;
	bool again;    /* what appeared may have had no name yet: ask once more */
	bool failed;   /* it could not be asked again, and that was said */
	bool all_gone; /* nothing of it is left, and that was said */
	uint64_t stamp;
	char *note; /* how its settings were found, when that is worth telling; or NULL */
};

struct applied {
	const struct host *host;
	struct journal *journal;
	char *boot;
	char *netns;
	struct item *v;
	size_t nr;
	struct use *uses;
	size_t nr_uses;
	bool in_window; /* between the witness's edges */
};

/* Set @s as a part of use number @use; what is gone meanwhile is no failure where it @appears. */
int applied_set(struct applied *a, size_t use, const struct knob_setting *s, struct err *e);
/* Has a later setting the same target?  Then that one decides. */
bool applied_is_superseded(const struct applied *a, size_t item);
void applied_free(struct applied *a);
int witness_begin_item(const struct applied *a, struct item *it, struct err *why);
/* One note on what is gone since the last time, one warning for each use with nothing left. */
int applied_note_gone(struct applied *a, int64_t t_ns, struct sample_sink *sink, struct err *e);

#endif
