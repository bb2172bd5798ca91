#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of docs/method.md: what a number of blocks can decide, by R alone.
# Run anywhere: Rscript power.R
#
# n     blocks
# level attained by the exact signed-rank test at 0.05, and at 0.05/3
# half  mean half-width of the 95 % interval for normal log ratios, in their standard deviations
# see   effect seen in 80 % of experiments, in the same unit (at 0.05)
seed <- 20261130
set.seed(seed)
cat(sprintf("# %s, power.R, seed %d\n", R.version.string, seed))
runs <- 4000

attained <- function(n, alpha) {
	f <- 2 * psignrank(0:(n * (n + 1) / 2), n)
	if (any(f <= alpha)) max(f[f <= alpha]) else NA
}

ends <- function(d, alpha) {
	n <- length(d)
	k <- sum(2 * psignrank(0:(n * (n + 1) / 2), n) <= alpha)
	w <- outer(d, d, "+")[upper.tri(diag(n), TRUE)] / 2
	sort(w)[c(k, n * (n + 1) / 2 + 1 - k)]
}

cat("n level level/3 half see\n")
for (n in c(6, 7, 8, 10, 12, 16, 20, 30)) {
	e <- replicate(runs, ends(rnorm(n), 0.05))
	# an effect moves the interval: it is seen when the lower end clears zero
	see <- quantile(-e[1, ], 0.8)
	cat(n, formatC(c(attained(n, 0.05), attained(n, 0.05 / 3), mean(e[2, ] - e[1, ]) / 2, see),
		digits = 3, format = "f"), "\n")
}
