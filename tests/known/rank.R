#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# Known answers of the rank tests and of Holm's procedure, by R's own functions where R is exact
# (no ties) and by walking through all sign patterns or splits where it is not.
# Run in this folder: Rscript rank.R > rank.txt
#
# signrank  n d... shift p             signrank-ci n d... alpha estimate low high
# ranksum   n x... m y... shift p      ranksum-ci  n x... m y... alpha estimate low high
# holm      m p... adjusted...
#
# R keeps a shift whose p equals alpha, irqlab rejects it (p <= alpha): the levels here are such that
# no p equals them.
seed <- 20261130
set.seed(seed)
cat(sprintf("# SPDX-License-Identifier: GPL-3.0-or-later\n# %s, rank.R, seed %d\n", R.version.string, seed))

num <- function(x) paste(formatC(x, digits = 17, format = "g", width = 1), collapse = " ")
row <- function(kind, ...) cat(kind, ..., "\n", sep = " ")

# all sign patterns of the ranks of |d - shift|, zeros ranked and dropped
all_signs <- function(d, shift) {
	v <- d - shift
	r <- rank(abs(v))[v != 0]
	if (length(r) == 0) return(1)
	t <- sum(r[v[v != 0] > 0])
	all <- as.matrix(expand.grid(rep(list(0:1), length(r)))) %*% r
	min(1, 2 * min(mean(all <= t + 1e-9), mean(all >= t - 1e-9)))
}

all_splits <- function(x, y, shift) {
	r <- rank(c(x, y - shift))
	t <- sum(r[seq_along(x)])
	all <- combn(length(r), length(x), function(i) sum(r[i]))
	min(1, 2 * min(mean(all <= t + 1e-9), mean(all >= t - 1e-9)))
}

for (n in c(1:12, 15, 20, 33, 60, 200)) {
	d <- rnorm(n, 0.3)
	for (shift in c(0, -0.5, 0.25))
		row("signrank", n, num(d), num(shift),
		    num(wilcox.test(d, mu = shift, exact = TRUE)$p.value))
	for (alpha in c(0.05, 0.01, 0.3)) if (2 * 0.5^n <= alpha) {
		w <- wilcox.test(d, conf.int = TRUE, conf.level = 1 - alpha, exact = TRUE)
		row("signrank-ci", n, num(d), num(alpha), num(w$estimate), num(w$conf.int))
	}
}
d <- rnorm(1000, 0.03)
row("signrank", 1000, num(d), "0", num(wilcox.test(d, exact = TRUE)$p.value))

# ties and zeros: whole numbers and quarters, so that R's ranks are exact
for (n in 1:12) for (i in 1:6) {
	d <- sample(c(-3:4, -0.25, 0.5), n, replace = TRUE)
	for (shift in c(0, 0.5, d[1]))
		row("signrank", n, num(d), num(shift), num(all_signs(d, shift)))
}
row("signrank", 4, "0 0 0 0", "0", "1")

for (n in c(1:6, 10, 30)) for (m in c(1, 3, 7, 12, 25)) {
	x <- rnorm(n)
	y <- rnorm(m, 0.7)
	for (shift in c(0, 0.7))
		row("ranksum", n, num(x), m, num(y), num(shift),
		    num(wilcox.test(y, x, mu = shift, exact = TRUE)$p.value))
	for (alpha in c(0.05, 0.21)) if (2 / choose(n + m, n) <= alpha) {
		w <- wilcox.test(y, x, conf.int = TRUE, conf.level = 1 - alpha, exact = TRUE)
		row("ranksum-ci", n, num(x), m, num(y), num(alpha), num(w$estimate), num(w$conf.int))
	}
}
for (n in 1:7) for (m in c(1, 2, 5, 7)) for (i in 1:3) {
	x <- sample(0:4, n, replace = TRUE)
	y <- sample(0:5, m, replace = TRUE)
	for (shift in c(0, 1, 0.5))
		row("ranksum", n, num(x), m, num(y), num(shift), num(all_splits(x, y, shift)))
}
# too many for the exact null: R's normal approximation, corrected for ties and continuity
for (i in 1:4) {
	x <- round(rnorm(120), 1)
	y <- round(rnorm(90 + 10 * i, 0.1), 1)
	row("ranksum", length(x), num(x), length(y), num(y), "0",
	    num(wilcox.test(y, x, exact = FALSE, correct = TRUE)$p.value))
}

for (m in c(1, 2, 3, 5, 8)) for (i in 1:8) {
	p <- round(rbeta(m, 0.3, 5), 4)
	row("holm", m, num(p), num(p.adjust(p, "holm")))
}
