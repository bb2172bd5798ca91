#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the verdict does on recorded noise, beside the rules that people use today: false verdicts,
# coverage, power and machine time (NOISE=FILE, EXPERIMENTS=N; the default takes half an hour).
set -eu
cd "$(dirname "$0")/../.."
exec build/tests/bench/bench_verdict "${NOISE:-tests/known/noise.txt}" "${EXPERIMENTS:-4000}"
