/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_TRAFFIC_H
#define CMD_TRAFFIC_H

struct err;

/*
 * "irqlab traffic": the traffic engine alone, with iperf3's options and its output.  argv[0] is
 * the command's name.  Returns the exit code, or negative errno with @e set.
 */
int cmd_traffic(int argc, char **argv, struct err *e);

#endif
