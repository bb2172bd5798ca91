/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SAMPLE_OBSERVATION_H
#define SAMPLE_OBSERVATION_H

#include <stdbool.h>

enum trial_state {
	TRIAL_OK,
	TRIAL_VETOED, /* measured, but a rule says it cannot be used */
	TRIAL_FAILED, /* could not be measured */
};

/* One metric of one trial: what the store gives and the verdict takes. */
struct observation {
	unsigned int block;
	unsigned int variant; /* index; 0 is the baseline */
	enum trial_state state;
	const char *reason; /* of a veto or failure; NULL when ok */
	bool has_value;
	double value;
};

#endif
