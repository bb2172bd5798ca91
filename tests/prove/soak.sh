#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Half an hour of the wake-up probe beside hackbench and TCP; SOAK_SECONDS=N for another time.
set -eu
cd "$(dirname "$0")/../.."
SOAK_SECONDS=${SOAK_SECONDS:-1800} IRQLAB=$PWD/build/irqlab exec tests/e2e/soak.t
