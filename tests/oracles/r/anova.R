# Golden numbers for tests/oracles/test_anova.py: R's aov, TukeyHSD and ptukey on small balanced tables.
# Run: Rscript anova.R
set.seed(42)
T <- 8; R <- 4; S <- 3
d <- expand.grid(topic = factor(1:T), system = factor(1:R), shard = factor(1:S))
te <- rnorm(T, 0, 0.15); se <- c(0, 0.03, 0.06, 0.12); he <- rnorm(S, 0, 0.02)
ts <- matrix(rnorm(T * R, 0, 0.05), T); tk <- matrix(rnorm(T * S, 0, 0.06), T)
d$y <- round(0.35 + te[d$topic] + se[d$system] + he[d$shard] + ts[cbind(d$topic, d$system)] +
             tk[cbind(d$topic, d$shard)] + rnorm(nrow(d), 0, 0.04), 6)
write.csv(d, "anova_data.csv", row.names = FALSE, quote = FALSE)
models <- list(MD2 = y ~ topic + system, MD3 = y ~ topic + system + topic:system,
  MD4 = y ~ topic + system + shard + topic:system,
  MD5 = y ~ topic + system + shard + topic:system + system:shard,
  MD6 = y ~ topic + system + shard + topic:system + system:shard + topic:shard)
rows <- NULL
whole <- aggregate(y ~ topic + system, d, mean)
add <- function(name, fit) {
  a <- anova(fit)
  rows <<- rbind(rows, data.frame(model = name, effect = rownames(a), df = a$Df, ss = format(a$`Sum Sq`, digits = 15),
    f = format(a$`F value`, digits = 15), p = format(a$`Pr(>F)`, digits = 15)))
}
add("MD1", aov(y ~ topic + system, whole))
for (name in names(models)) add(name, aov(models[[name]], d))
write.csv(rows, "anova.csv", row.names = FALSE, quote = FALSE)
h <- TukeyHSD(aov(y ~ topic + system, whole), "system")$system
write.csv(data.frame(pair = rownames(h), format(h, digits = 15)), "tukey.csv", row.names = FALSE, quote = FALSE)
