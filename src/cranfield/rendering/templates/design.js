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

  // P(range of m independent normals ≥ w), by the trapezoidal rule.
  function rangeTail(w, m) {
    const step = 0.05;
    let sum = 0;
    for (let z = -9; z <= 9 + w; z += step) {
      const below = normal(z);
      sum += Math.exp((-z * z) / 2) * (below ** (m - 1) - Math.max(0, below - normal(z - w)) ** (m - 1));
    }
    return (m * step * sum) / Math.sqrt(2 * Math.PI);
  }

  // The level of one pair at which the family of all pairs of m systems keeps α: that of the studentised range.
  const pairLevels = new Map();
  function pairLevel(alpha, m) {
    const key = `${alpha} ${m}`;
    if (!pairLevels.has(key)) {
      let low = 0;
      let high = 60;
      for (let round = 0; round < 60; round++) {
        const middle = (low + high) / 2;
        if (rangeTail(middle, m) > alpha) low = middle;
        else high = middle;
      }
      pairLevels.set(key, 2 * normal(-high / Math.SQRT2));
    }
    return pairLevels.get(key);
  }

  // How much stricter max-t is with few topics: MAX_T_QUANTILES and MAX_T_SHIFTS of cranfield.stats.family.
  const QUANTILES = [2.3437, 2.7278, 3.1637, 3.5438, 3.8876, 4.205, 4.5016];
  const SHIFTS = [
    [8, -0.532, -0.531, -0.172, 0.473, 1.432, 2.503, 3.665],
    [10, -0.502, -0.707, -0.753, -0.397, 0.213, 1.049, 2.043],
    [12, -0.404, -0.731, -0.993, -0.954, -0.600, -0.020, 0.742],
    [14, -0.324, -0.638, -1.024, -1.230, -1.187, -0.793, -0.238],
    [17, -0.230, -0.474, -0.897, -1.304, -1.575, -1.541, -1.255],
    [20, -0.171, -0.354, -0.751, -1.182, -1.626, -1.884, -1.902],
    [25, -0.124, -0.241, -0.504, -0.896, -1.348, -1.779, -2.133],
    [30, -0.076, -0.181, -0.374, -0.661, -1.020, -1.460, -1.886],
    [40, -0.052, -0.097, -0.220, -0.396, -0.619, -0.918, -1.247],
    [50, -0.032, -0.081, -0.153, -0.276, -0.444, -0.639, -0.849],
    [70, -0.027, -0.038, -0.079, -0.152, -0.260, -0.362, -0.490],
    [100, -0.023, -0.023, -0.045, -0.077, -0.130, -0.192, -0.268],
  ];
  const between = (grid, value) => {
    const at = Math.max(0, Math.min(grid.length - 2, grid.findLastIndex((each) => each <= value)));
    return [at, (value - grid[at]) / (grid[at + 1] - grid[at])];
  };

  function maxTLevel(n, alpha, m) {
    const level = pairLevel(alpha, m);
    if (m < 3) return level;
    const topics = SHIFTS.map((row) => row[0]);
    const last = topics.at(-1);
    const [row, down] = between(topics.map(Math.log), Math.log(Math.max(topics[0], Math.min(n, last))));
    const [column, across] = between(QUANTILES, normalCritical(level / 2));
    const inRow = (at) => SHIFTS[at][column + 1] * (1 - across) + SHIFTS[at][column + 2] * across;
    const shift = (inRow(row) * (1 - down) + inRow(row + 1) * down) * (last / Math.max(n, last)) ** 2;
    const strict = level * Math.exp(shift);
    return n < 20 ? Math.min(strict, (2 * alpha) / (m * (m - 1))) : strict;
  }

  const maxTPower = (n, d) => pairedPower(n, { ...d, alpha: maxTLevel(n, d.alpha, d.systems) });

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
    "max-t": { value: maxTPower, target: (d) => d.power, sign: 1 },
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

  return { METHODS, MOST_TOPICS, size, fCritical, noncentralFTail, normal, normalCritical, pairLevel };
})();
if (typeof module !== "undefined") module.exports = Design;
