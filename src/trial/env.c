// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>

#include "audit/machine.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trial/trial.h"

struct json_object *host_env(const struct host *h)
{
	_cleanup_(audit_goal_release) struct audit_goal any = {};
	_cleanup_(audit_release) struct audit a = {};
	const struct audit_scope scope = { .host = h, .root_fd = -1, .goal = &any };
	struct err ignored = {};

	if (audit_goal_any(&any, &ignored) < 0 || machine_audit(&scope, &a, &ignored) < 0)
		return NULL;
	return audit_env(&a);
}
