/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_NIC_H
#define AUDIT_NIC_H

/* What only ioctls tell of a netdev.  A value the driver does not give is NIC_UNKNOWN. */

#include <stdint.h>

#define NIC_UNKNOWN (-1)

struct host_side;

struct nic {
	char driver[32], firmware[32];
	char address[64];				      /* of hardware: personal */
	int64_t gro, gso, tso, lro, rx_checksum, tx_checksum; /* 0, 1 */
	int64_t adaptive_rx, adaptive_tx, rx_usecs, rx_frames, tx_usecs, tx_frames;
	int64_t pause_rx, pause_tx;
	int64_t eee; /* energy-efficient Ethernet is active */
	int64_t rx_ring, tx_ring, rx_queues, tx_queues, combined_queues;
};

/*
 * Read netdev @ifname where @side lives (ETHTOOL_G* of include/uapi/linux/ethtool.h).  Cost: some
 * twenty ioctls on one socket.  What fails is unknown; negative only when there is no socket.
 */
int nic_read(const struct host_side *side, struct nic *ret);

#endif
