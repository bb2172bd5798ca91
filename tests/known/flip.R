#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# Known answers of the sign-flip test of the mean by walking through all signs, of the sign test by
# binom.test, and of adjusted p-values by p.adjust.
# Run in this folder: Rscript flip.R > flip.txt
#
# flip n d... shift p       flip-ci n d... alpha mean low high
# sign plus minus p         adjust m p... holm... bh...
seed <- 20261130
set.seed(seed)
cat(sprintf("# SPDX-License-Identifier: GPL-3.0-or-later\n# %s, flip.R, seed %d\n", R.version.string, seed))
num <- function(x) paste(formatC(x, digits = 17, format = "g", width = 1), collapse = " ")
row <- function(kind, ...) cat(kind, ..., "\n", sep = " ")

signs <- function(n) as.matrix(expand.grid(rep(list(c(-1, 1)), n)))

flip <- function(d, shift) {
	v <- d - shift
	all <- signs(length(v)) %*% v
	mean(abs(all) >= abs(sum(v)) - 1e-9)
}

# p changes at means of subsets only: try them and the gaps between, keep the hull
flip_ci <- function(d, alpha) {
	n <- length(d)
	w <- (signs(n) + 1) / 2
	w <- w[rowSums(w) > 0, , drop = FALSE]
	m <- as.vector(w %*% d) / rowSums(w)
	m <- sort(m[!duplicated(round(m, 10))])
	gaps <- c(m[1] - 1, (head(m, -1) + tail(m, -1)) / 2, tail(m, 1) + 1)
	p_gap <- sapply(gaps, function(s) flip(d, s))
	k <- which(p_gap > alpha)
	if (length(k) == 0) return(NULL)
	edges <- c(-Inf, m, Inf)
	c(edges[min(k)], edges[max(k) + 1])
}

for (n in c(1:10, 13)) for (i in 1:4) {
	d <- if (i == 1) rnorm(n, 0.4) else sample(c(-3:5, 0, 0, 0.5), n, replace = TRUE)
	for (shift in c(0, 0.5, d[1])) row("flip", n, num(d), num(shift), num(flip(d, shift)))
	if (n <= 9) for (alpha in c(0.05, 0.13)) {
		ci <- flip_ci(d, alpha)
		if (!is.null(ci)) row("flip-ci", n, num(d), num(alpha), num(mean(d)),
				      gsub("Inf", "inf", num(ci)))
	}
}
for (plus in c(0:6, 40, 300)) for (minus in c(0, 1, 5, 60)) if (plus + minus > 0)
	row("sign", plus, minus, num(binom.test(plus, plus + minus)$p.value))
for (m in c(1, 2, 3, 5, 8, 20)) for (i in 1:4) {
	p <- round(rbeta(m, 0.4, 3), 3)
	row("adjust", m, num(p), num(p.adjust(p, "holm")), num(p.adjust(p, "BH")))
}
