#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# Known answers about series: Kendall's test against time (cor.test), Sen's slope with the interval
# that inverts it, by trying shifts; Ljung-Box (Box.test); variance by level.
# Run in this folder: Rscript trend.R > trend.txt
#
# trend n x... s p     slope n x... alpha slope low high
# ljung n x... lags p p_of_ranks
# levels n levels x... labels... variances... degrees of freedom... (nan: not separable)
seed <- 20261130
set.seed(seed)
cat(sprintf("# SPDX-License-Identifier: GPL-3.0-or-later\n# %s, trend.R, seed %d\n", R.version.string, seed))
num <- function(x) gsub("Inf", "inf", gsub("NaN|NA", "nan",
	paste(formatC(x, digits = 17, format = "g", width = 1), collapse = " ")))
row <- function(kind, ...) cat(kind, ..., "\n", sep = " ")

score <- function(x) sum(sign(outer(x, x, "-")[lower.tri(diag(length(x)))]))
kendall <- function(x) {
	exact <- length(x) <= 50 && !any(duplicated(x))
	if (length(unique(x)) == 1) return(1)
	suppressWarnings(cor.test(seq_along(x), x, method = "kendall", exact = exact,
				  continuity = TRUE)$p.value)
}
slopes <- function(x) {
	ij <- combn(length(x), 2)
	sort((x[ij[2, ]] - x[ij[1, ]]) / (ij[2, ] - ij[1, ]))
}
# critical |s| of the series' own test, by making series of every s
ends <- function(x, alpha) {
	b <- slopes(x)
	n <- length(x)
	ties <- table(x)
	v <- (n * (n - 1) * (2 * n + 5) - sum(ties * (ties - 1) * (2 * ties + 5))) / 18
	exact <- n <= 50 && !any(duplicated(x))
	p <- function(s) {
		if (exact) {
			count <- 1
			for (i in 2:n) count <- rowSums(sapply(0:(i - 1), function(k)
				c(rep(0, k), count, rep(0, i - 1 - k))))
			falls <- (length(b) - abs(s)) / 2
			min(1, 2 * sum(count[0:falls + 1]) / sum(count))
		} else min(1, 2 * pnorm(-(abs(s) - 1) / sqrt(v)))
	}
	all <- seq(length(b) %% 2, length(b), 2)
	rejected <- all[sapply(all, p) <= alpha]
	if (length(rejected) == 0) return(c(-Inf, Inf))
	cut <- (length(b) - min(rejected)) / 2
	c(b[cut + 1], b[length(b) - cut])
}
for (n in c(3:9, 12, 30, 50, 51, 80)) for (i in 1:2) {
	x <- if (i == 1) rnorm(n) + 0.02 * seq_len(n) else sample(0:5, n, replace = TRUE)
	if (i == 1 || length(unique(x)) > 1) {
		row("trend", n, num(x), num(score(x)), num(kendall(x)))
		row("slope", n, num(x), "0.05", num(median(slopes(x))), num(ends(x, 0.05)))
	}
}
for (n in c(5, 20, 100)) for (lags in c(1, 3, 10)) if (lags < n) {
	x <- as.vector(arima.sim(list(ar = 0.4), n))
	x[2] <- x[1]
	row("ljung", n, num(x), lags, num(Box.test(x, lags, "Ljung-Box")$p.value),
	    num(Box.test(rank(x), lags, "Ljung-Box")$p.value))
}

# variance by level: the sums of squares of nested groups set equal to their expectations, which
# are traces of projections times the covariance of each level
levels_of <- function(x, g) {
	n <- length(x)
	l <- ncol(g)
	id <- lapply(0:(l + 1), function(k) if (k == 0) rep("", n) else if (k > l) as.character(1:n)
		else do.call(paste, c(lapply(1:k, function(j) g[, j]), sep = "/")))
	same <- lapply(id, function(v) outer(v, v, "==") * 1)
	proj <- lapply(same, function(m) m / rowSums(m))
	a <- lapply(1:(l + 1), function(k) proj[[k + 1]] - proj[[k]])
	df <- sapply(a, function(m) round(sum(diag(m))))
	ss <- sapply(a, function(m) drop(t(x) %*% m %*% x))
	e <- sapply(1:(l + 1), function(j) sapply(a, function(m) sum(m * same[[j + 1]])))
	e <- matrix(e, l + 1)
	ok <- df > 0
	v <- rep(NA, l + 1)
	v[ok] <- solve(e[ok, ok], ss[ok])
	list(v = v, df = df)
}
show <- function(x, g) {
	r <- levels_of(x, g)
	row("levels", length(x), ncol(g), num(x), num(as.vector(t(g))), num(r$v), num(r$df))
}
balanced <- expand.grid(trial = 1:3, boot = 1:4, build = 1:3)[, 3:1]
x <- rnorm(3, 0, 3)[balanced$build] + rnorm(12)[(balanced$build - 1) * 4 + balanced$boot] + rnorm(36, 10)
show(x, balanced[, 1:2])
# the same by the classical table: mean squares of aov, divided by how often a group is repeated
m <- summary(aov(x ~ factor(build) / factor(boot), balanced))[[1]][, "Mean Sq"]
r <- levels_of(x, balanced[, 1:2])
stopifnot(isTRUE(all.equal(r$v, c((m[1] - m[2]) / 12, (m[2] - m[3]) / 3, m[3]))))
for (i in 1:6) {
	g <- cbind(sample(1:3, 20, TRUE), sample(1:3, 20, TRUE), sample(1:2, 20, TRUE))[, 1:(1 + i %% 3), drop = FALSE]
	show(rnorm(20) + g[, 1], g)
}
show(c(1, 2, 3, 5), cbind(c(1, 1, 1, 1), c(1, 1, 2, 2)))	# one outer group
show(c(1, 2, 3, 5), cbind(c(1, 1, 2, 2), c(1, 1, 2, 2)))	# boots that are their builds
show(c(1, 2, 3, 5), cbind(1:4))				# nothing inside
show(rep(2, 6), cbind(c(1, 1, 1, 2, 2, 2)))
