"use strict";
// How many topics, computed in the page: the same questions and the same formulas as cranfield.methods.design.
const Design = (() => {
  const MOST_TOPICS = 10000000;
  const LANCZOS = [
    0.99999999999999709182, 57.156235665862923517, -59.597960355475491248, 14.136097974741747174,
    -0.49191381609762019978, 0.33994649984811888699e-4, 0.46523628927048575665e-4, -0.98374475304879564677e-4,
    0.15808870322491248884e-3, -0.21026444172410488319e-3, 0.2174396181152126432e-3, -0.16431810653676389022e-3,
    0.84418223983852743293e-4, -0.2619083840158140867e-4, 0.36899182659531622704e-5,
  ];

  function logGamma(x) {
    let sum = LANCZOS[0];
    for (let k = 1; k < LANCZOS.length; k++) sum += LANCZOS[k] / (x + k);
    const t = x + 5.24218750000000000;
    return (x + 0.5) * Math.log(t) - t + Math.log((2.5066282746310005 * sum) / x);
  }

  function stirling(x) {
    const square = x * x;
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / x;
  }

  // ln Γ(x + a) − ln Γ(x), without losing digits where x is large.
  function logGammaRatio(x, a) {
    if (x < 20) return logGamma(x + a) - logGamma(x);
    return a * Math.log(x) + (x + a - 0.5) * Math.log1p(a / x) - a + stirling(x + a) - stirling(x);
  }

  // ln of x^a (1 − x)^b / (a·B(a, b)); the larger parameter takes the ratio.
  function logFront(a, b, x, y) {
    const beta = a < b ? logGamma(a) - logGammaRatio(b, a) : logGamma(b) - logGammaRatio(a, b);
    const logX = x < 0.5 ? Math.log(x) : Math.log1p(-y);
    const logY = y < 0.5 ? Math.log(y) : Math.log1p(-x);
    return a * logX + b * logY - Math.log(a) - beta;
  }

  // The continued fraction of the incomplete beta function, by Lentz's method.
  function fraction(a, b, x) {
    const tiny = 1e-300;
    let c = 1;
    let d = 1 - ((a + b) * x) / (a + 1);
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    let value = d;
    for (let k = 1; k < 100000; k++) {
      let term = (k * (b - k) * x) / ((a + 2 * k - 1) * (a + 2 * k));
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = Math.abs(c) < tiny ? tiny : c;
      value *= d * c;
      term = (-(a + k) * (a + b + k) * x) / ((a + 2 * k) * (a + 2 * k + 1));
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = Math.abs(c) < tiny ? tiny : c;
      value *= d * c;
      if (Math.abs(d * c - 1) < 1e-16) break;
    }
    return value;
  }

  // P(B ≥ x) for B ~ Beta(a, b), y = 1 − x; a tail is never got by subtraction where it is small.
  function betaTail(a, b, x, y) {
    if (x <= 0) return 1;
    if (y <= 0) return 0;
    if (x > (a + 1) / (a + b + 2)) return Math.exp(logFront(b, a, y, x)) * fraction(b, a, y);
    return 1 - Math.exp(logFront(a, b, x, y)) * fraction(a, b, x);
  }

  function fTail(f, above, below) {
    const whole = above * f + below;
    return betaTail(above / 2, below / 2, (above * f) / whole, below / whole);
  }

  // f with P(F ≥ f) = α: bracketed, then found on the logarithms of both by Illinois' rule.
  function fCritical(alpha, above, below) {
    const miss = (logF) => Math.log(fTail(Math.exp(logF), above, below)) - Math.log(alpha);
    let low = 0;
    let high = 0;
    while (miss(low) < 0) low -= 1;
    while (miss(high) > 0) high += 1;
    let atLow = miss(low);
    let atHigh = miss(high);
    for (let round = 0; round < 200 && high - low > 1e-15 * Math.max(1, Math.abs(high)); round++) {
      if (atLow === atHigh) break;
      const middle = low + ((high - low) * atLow) / (atLow - atHigh);
      const at = miss(middle);
      if (at === 0 || middle === low || middle === high) return Math.exp(middle);
      if (at > 0) {
        low = middle;
        atLow = at;
        atHigh /= 2;
      } else {
        high = middle;
        atHigh = at;
        atLow /= 2;
      }
    }
    return Math.exp((low + high) / 2);
  }

  // P(F' ≥ f): Poisson weights on beta tails, each a term more than the one before.
  function noncentralFTail(f, above, below, noncentrality) {
    const mean = noncentrality / 2;
    const a = above / 2;
    const b = below / 2;
    const x = (above * f) / (above * f + below);
    const y = below / (above * f + below);
    if (mean === 0) return betaTail(a, b, x, y);
    const reach = 12 * Math.sqrt(mean) + 40;
    const first = Math.max(0, Math.floor(mean - reach));
    let weight = Math.exp(first * Math.log(mean) - mean - logGamma(first + 1));
    let tail = betaTail(a + first, b, x, y);
    let step = Math.exp(logFront(a + first, b, x, y));
    let sum = 0;
    for (let j = first; j < mean + reach; j++) {
      sum += weight * tail;
      tail += step;
      step *= (x * (a + j + b)) / (a + j + 1);
      weight *= mean / (j + 1);
    }
    return Math.min(1, sum);
  }

  // Φ(z): a series of positive terms near 0, a continued fraction beyond.
  function normal(z) {
    const size = Math.abs(z);
    const density = Math.exp(-0.5 * size * size) / Math.sqrt(2 * Math.PI);
    let upper;
    if (size < 5) {
      let term = size;
      let sum = size;
      for (let k = 3; term > 1e-17 * sum; k += 2) {
        term *= (size * size) / k;
        sum += term;
      }
      upper = 0.5 - density * sum;
    } else {
      let value = size;
      for (let k = 60; k > 0; k--) value = size + k / value;
      upper = density / value;
    }
    return z > 0 ? 1 - upper : upper;
  }

  function normalCritical(alpha) {
    let low = -40;
    let high = 40;
    for (let round = 0; round < 200 && high - low > 1e-15 * Math.abs(high); round++) {
      const middle = (low + high) / 2;
      if (normal(-middle) > alpha) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  const noncentrality = (n, d) => (n * d.min_range * d.min_range) / (2 * d.variance); // S14 §3.1

  function anovaPower(n, d, below) {
    const above = d.systems - 1;
    return noncentralFTail(fCritical(d.alpha, above, below), above, below, noncentrality(n, d));
  }

  function sakaiPower(n, d) {
    const above = d.systems - 1;
    const below = d.systems * (n - 1);
    const lambda = noncentrality(n, d);
    const w = fCritical(d.alpha, above, below);
    const c = (above + 2 * lambda) / (above + lambda);
    const phi = (above + lambda) ** 2 / (above + 2 * lambda);
    const z = Math.sqrt(c / above) * Math.sqrt(2 * phi - 1) - Math.sqrt(w / below) * Math.sqrt(2 * below - 1);
    return normal(z / Math.sqrt(c / above - w / below));
  }

  function pairedPower(n, d) {
    return noncentralFTail(fCritical(d.alpha, 1, n - 1), 1, n - 1, (n * d.difference ** 2) / d.sd ** 2);
  }

  // One of all pairs of m systems, at the level of Holm's first step.
  const holmPower = (n, d) => pairedPower(n, { ...d, alpha: (2 * d.alpha) / (d.systems * (d.systems - 1)) });

  function expectedWidth(n, d) {
    const half = (n - 1) / 2;
    const sd = (d.sd * Math.exp(logGammaRatio(half, 0.5))) / Math.sqrt(half);
    return (2 * Math.sqrt(fCritical(d.alpha, 1, n - 1)) * sd) / Math.sqrt(n); // S14 §3.2
  }

  // What each method makes of n, what it must reach, and what n − 1 and n give.
  const METHODS = {
    blocked: { value: (n, d) => anovaPower(n, d, (d.systems - 1) * (n - 1)), target: (d) => d.power, sign: 1 },
    exact: { value: (n, d) => anovaPower(n, d, d.systems * (n - 1)), target: (d) => d.power, sign: 1 },
    sakai: { value: sakaiPower, target: (d) => d.power, sign: 1 },
    holm: { value: holmPower, target: (d) => d.power, sign: 1 },
    t: { value: pairedPower, target: (d) => d.power, sign: 1 },
    interval: { value: (n, d) => -expectedWidth(n, d), target: (d) => -d.width, sign: -1 },
    clt: { value: (n, d) => (-normalCritical(d.alpha / 2) * d.sd) / Math.sqrt(n), target: (d) => -d.sensitivity, sign: -1 },
  };

  // The smallest n that does it: doubling, then halving. topics is null where none up to the limit does.
  function size(name, d) {
    const method = METHODS[name];
    const enough = (n) => method.value(n, d) >= method.target(d);
    let below = name === "clt" ? 0 : 1;
    let n = below + 1;
    while (n < MOST_TOPICS && !enough(n)) {
      below = n;
      n = Math.min(2 * n, MOST_TOPICS);
    }
    if (n === MOST_TOPICS && !enough(n)) return { topics: null, achieved: method.sign * method.value(n, d), below: NaN };
    while (n - below > 1) {
      const middle = Math.floor((n + below) / 2);
      if (enough(middle)) n = middle;
      else below = middle;
    }
    const before = n - 1 > (name === "clt" ? 0 : 1) ? method.sign * method.value(n - 1, d) : NaN;
    return { topics: n, achieved: method.sign * method.value(n, d), below: before };
  }

  return { METHODS, MOST_TOPICS, size, fCritical, noncentralFTail, normal, normalCritical };
})();
if (typeof module !== "undefined") module.exports = Design;
