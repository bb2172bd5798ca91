/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REGISTRY_H
#define REGISTRY_H

/* The plug-ins of this build, from plugins.def. */

#include "plan/plan.h"
#include "trial/trial.h"

#define KNOB(name) extern const struct knob_ops knob_##name;
#define LOAD(name) extern const struct load_ops load_##name;
#define PROBE(name) extern const struct probe_ops probe_##name;
#include "plugins.def"
#undef KNOB
#undef LOAD
#undef PROBE

extern const struct knob_ops *const all_knobs[];
extern const struct load_ops *const all_loads[];
extern const struct probe_ops *const all_probes[];
extern const struct trial_plugins all_plugins;
/* The same as the plan parser wants them. */
extern const struct plan_registry plan_plugins;

#endif
