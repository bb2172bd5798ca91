/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_DISCARD_H
#define TRIAL_DISCARD_H

/*
 * The plan's rules of which trials do not count ("discard:").  They come on top of what the agent
 * vetoes by itself: a setting without effect, a link that went down, a variant that did not hold.
 */

struct plan;
struct record_list;
struct trial_result;

/* Turn @result of a good trial into a veto when its @records break a rule; says which and by how
 * much. */
void discard_check(const struct plan *p, const struct record_list *records,
		   struct trial_result *result);

#endif
