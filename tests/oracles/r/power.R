# Golden numbers for tests/oracles/test_power.py: power.t.test and power.anova.test of R's stats package.
# Run: Rscript power.R > power.csv
cat("# R", as.character(getRversion()), "stats power.t.test (strict=TRUE) and power.anova.test\n")
cat("test,topics,systems,difference,sd,alpha,sides,power\n")
out <- function(...) cat(paste(..., sep = ","), "\n", sep = "")
for (n in c(5, 20, 50, 200, 1000)) for (d in c(0.02, 0.05, 0.2)) for (s in c(0.1, 0.25)) for (a in c(0.01, 0.05)) {
  for (sides in 1:2) {
    alternative <- if (sides == 1) "one.sided" else "two.sided"
    for (type in c("paired", "two.sample")) {
      p <- power.t.test(n = n, delta = d, sd = s, sig.level = a, type = type, alternative = alternative, strict = TRUE)
      out(type, n, 2, d, s, a, sides, format(p$power, digits = 15))
    }
  }
}
for (n in c(5, 20, 50, 200, 1000)) for (m in c(2, 3, 10, 100)) for (d in c(0.05, 0.2)) for (a in c(0.01, 0.05)) {
  # Two systems at +-d/2, the others at 0: the variance of the means that gives lambda = n d^2 / (2 sigma^2).
  means <- c(-d / 2, d / 2, rep(0, m - 2))
  p <- power.anova.test(groups = m, n = n, between.var = var(means), within.var = 0.0530, sig.level = a)
  out("anova", n, m, d, sqrt(0.0530), a, 2, format(p$power, digits = 15))
}
