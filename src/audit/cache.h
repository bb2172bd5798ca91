/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_CACHE_H
#define AUDIT_CACHE_H

#include "audit/kconfig.h"
#include "audit/threads.h"

/* What several checks of one audit read. */
struct look_cache {
	struct kconfig config;
	char option[128];
	struct rt_threads threads;
	bool threads_there;
};

#endif
