/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_KNOB_TABLES_H
#define VARIANT_KNOB_TABLES_H

/* The tables of knob_*.c, for whoever lists them all. */

struct knob_ops;

extern const struct knob_ops knob_channels;
extern const struct knob_ops knob_coalesce;
extern const struct knob_ops knob_command;
extern const struct knob_ops knob_cpuset;
extern const struct knob_ops knob_daemon;
extern const struct knob_ops knob_file;
extern const struct knob_ops knob_irq;
extern const struct knob_ops knob_napi;
extern const struct knob_ops knob_module;
extern const struct knob_ops knob_netdev;
extern const struct knob_ops knob_pause;
extern const struct knob_ops knob_qdisc;
extern const struct knob_ops knob_ring;
extern const struct knob_ops knob_power;
extern const struct knob_ops knob_scheduler;
extern const struct knob_ops knob_sysctl;
extern const struct knob_ops knob_thread;
extern const struct knob_ops knob_watchdog;

#endif
