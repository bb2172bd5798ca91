// SPDX-License-Identifier: GPL-3.0-or-later
#include "registry.h"

#include <stddef.h>

#define KNOB(name) &knob_##name,
#define LOAD(name)
#define PROBE(name)
const struct knob_ops *const all_knobs[] = {
#include "plugins.def"
	NULL
};
#undef KNOB
#define KNOB(name) &knob_##name.plugin,
static const struct plugin *const plan_knob_list[] = {
#include "plugins.def"
	NULL
};
#undef KNOB
#undef LOAD

#define KNOB(name)
#define LOAD(name) &load_##name,
const struct load_ops *const all_loads[] = {
#include "plugins.def"
	NULL
};
#undef LOAD
#define LOAD(name) &load_##name.plugin,
static const struct plugin *const plan_load_list[] = {
#include "plugins.def"
	NULL
};
#undef LOAD
#undef PROBE

#define LOAD(name)
#define PROBE(name) &probe_##name,
const struct probe_ops *const all_probes[] = {
#include "plugins.def"
	NULL
};
#undef PROBE
#define PROBE(name) &probe_##name.plugin,
static const struct plugin *const plan_probe_list[] = {
#include "plugins.def"
	NULL
};
#undef PROBE

const struct trial_plugins all_plugins = { .knobs = all_knobs,
					   .loads = all_loads,
					   .probes = all_probes };
const struct plan_registry plan_plugins = { .knobs = plan_knob_list,
					    .loads = plan_load_list,
					    .probes = plan_probe_list };
