/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_LOCK_H
#define VARIANT_LOCK_H

/*
 * One run per machine: whoever changes settings holds a flock on @dir/lock.  The kernel releases
 * it when the last descriptor closes, so also when the owner is killed.  The file stays: removing
 * it would let two owners lock two files of one name.
 */

struct err;
struct lock;

/*
 * Never waits.  @dir is created (0700) when absent.
 * Return: 0; -EBUSY with the owner's pid, command and age (exit code 77).
 */
int lock_acquire(struct lock **ret, const char *dir, struct err *e);
void lock_release(struct lock *l);
void lock_releasep(struct lock **l);

#endif
