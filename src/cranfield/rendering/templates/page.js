"use strict";
// What the page does besides lying there: copying, and the calculator.
(() => {
  const find = (selector, inside = document) => inside.querySelector(selector);

  // --- copying
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = document.createElement("textarea"); // a page opened as a file may have no clipboard
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(document.getElementById(button.dataset.copy).textContent.trim());
      const before = button.textContent;
      button.textContent = "copied";
      setTimeout(() => (button.textContent = before), 1200);
    });
  }

  // --- what is folded away is printed all the same
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));

  // --- the calculator
  const form = find("#calculator");
  if (!form) return;
  const starts = JSON.parse(find("#starts").textContent);
  const GOALS = { holm: "difference", blocked: "min_range", exact: "min_range", sakai: "min_range", t: "difference", interval: "width" };
  const NAMES = { min_range: "smallest range to find", difference: "smallest difference to find", width: "widest interval" };
  const estimateOf = (method) => (method === "exact" || method === "sakai" ? "two-way" : "residual");
  const amongSystems = (method) => method === "holm" || GOALS[method] === "min_range";
  const control = (name) => form.elements[name];
  const number = (name) => Number(control(name).value);
  const chosen = () => starts[number("measure")];
  const shown = (value) => String(Number(value.toPrecision(4)));

  function design() {
    const method = control("method").value;
    const variance = number("variance");
    const found = { method, alpha: number("alpha"), power: number("power"), variance, sd: Math.sqrt(2 * variance) };
    found[GOALS[method]] = number("goal");
    if (amongSystems(method)) found.systems = number("systems");
    return found;
  }

  function set(name, value, least, most) {
    for (const each of [control(name), control(`${name}_slider`)]) {
      if (least !== undefined) each.min = Math.min(least, value);
      if (most !== undefined) each.max = Math.max(most, value);
      each.value = value;
    }
  }

  // Another measure or method starts from the pilot's own numbers.
  function start() {
    const method = control("method").value;
    const from = chosen();
    const [variance] = from.variances[estimateOf(method)];
    set("variance", Number(variance.toPrecision(4)), 0.001, Number((4 * variance).toPrecision(2)));
    set("goal", from[GOALS[method]], 0.01, 0.5);
    find("#goal-name").textContent = NAMES[GOALS[method]];
    find("#variance-name").textContent = estimateOf(method) === "residual" ? "residual variance σ²" : "variance σ²";
    find("#systems-row").hidden = !amongSystems(method);
    find("#power-row").hidden = method === "interval";
    update();
  }

  // The range the interval of the variance makes of n, as long as the variance is the pilot's.
  function between(wanted) {
    const [variance, lower, upper] = chosen().variances[estimateOf(wanted.method)];
    if (Number(variance.toPrecision(4)) !== wanted.variance) return "";
    const at = (value) => Design.size(wanted.method, { ...wanted, variance: value, sd: Math.sqrt(2 * value) }).topics;
    const words = [at(lower), at(upper)].map((n) => (n === null ? "more than can be" : n.toLocaleString("en")));
    return `Between ${words[0]} and ${words[1]}, reflecting the uncertainty of the pilot variance.`;
  }

  // The design and its n as a sentence to quote.
  function sentence(wanted, topics) {
    const lead = `${chosen().measure}: ${topics.toLocaleString("en")} topics`;
    const goal = GOALS[wanted.method];
    const among = { holm: `between two of ${wanted.systems} systems`, t: "between two systems named in advance" };
    const spread = goal === "min_range" ? `a variance of ${wanted.variance}` : `an sd of paired differences of ${shown(wanted.sd)}`;
    const level = `α = ${wanted.alpha} and ${spread}`;
    if (goal === "width") return `${lead} make the interval of a difference ${wanted.width} wide, as expected for ${level}.`;
    const found = goal === "difference"
      ? `difference of ${wanted.difference} ${among[wanted.method]}`
      : `range of ${wanted.min_range} among ${wanted.systems} systems`;
    return `${lead} detect a ${found} (${wanted.method}) with power ${wanted.power} at ${level}.`;
  }

  function valid() {
    let good = true;
    for (const field of form.querySelectorAll("input[type=number]")) {
      const value = Number(field.value);
      const whole = field.name === "systems";
      const inside = field.name === "power" ? value > number("alpha") && value < 1 : value > 0;
      const fine = field.value !== "" && inside && (!whole || (value >= 2 && value <= 10000 && Number.isInteger(value)));
      field.setAttribute("aria-invalid", String(!fine));
      good = good && fine;
    }
    return good;
  }

  function update() {
    const result = find("#result");
    if (!valid()) {
      result.textContent = "–";
      find("#achieved").textContent = "Every number must be above 0, power between α and 1, and systems 2 or more.";
      find("#between").textContent = find("#design").textContent = "";
      return;
    }
    const wanted = design();
    const found = Design.size(wanted.method, wanted);
    const word = wanted.method === "interval" ? "expected width" : "power";
    result.textContent = found.topics === null ? "–" : `${found.topics.toLocaleString("en")} topics`;
    find("#achieved").textContent = found.topics === null
      ? `No number up to ${Design.MOST_TOPICS.toLocaleString("en")} does this.`
      : `${word} ${shown(found.achieved)} with n` + (Number.isNaN(found.below) ? "." : `, ${shown(found.below)} with n − 1.`);
    find("#between").textContent = between(wanted);
    find("#design").textContent = found.topics === null ? "" : sentence(wanted, found.topics);
    draw(wanted, found.topics);
  }

  // n against the goal, on logarithmic axes, with the design marked.
  function draw(wanted, topics) {
    const goal = GOALS[wanted.method];
    const least = wanted[goal] / 3;
    const points = [];
    for (let k = 0; k <= 28; k++) {
      const value = least * 9 ** (k / 28);
      const n = Design.size(wanted.method, { ...wanted, [goal]: value }).topics;
      if (n !== null) points.push([value, n]);
    }
    const svg = find("#curve");
    svg.replaceChildren();
    if (!points.length) return;
    const box = { left: 52, right: 340, top: 12, bottom: 186 };
    const ends = [Math.max(...points.map((each) => each[1])), Math.min(...points.map((each) => each[1]))];
    const x = (value) => box.left + ((box.right - box.left) * Math.log(value / least)) / Math.log(9);
    const span = Math.log(Math.max(ends[0], ends[1] + 1) / ends[1]);
    const y = (n) => box.bottom - ((box.bottom - box.top) * Math.log(n / ends[1])) / span;
    const add = (tag, attributes, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      if (text !== undefined) node.textContent = text;
      svg.append(node);
    };
    for (const n of ticks(ends[1], ends[0])) {
      add("line", { x1: box.left, x2: box.right, y1: y(n), y2: y(n), class: "grid" });
      add("text", { x: box.left - 6, y: y(n) + 4, "text-anchor": "end" }, n.toLocaleString("en"));
    }
    for (const value of [least, wanted[goal], 3 * wanted[goal]])
      add("text", { x: x(value), y: box.bottom + 18, "text-anchor": "middle" }, shown(value));
    add("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, NAMES[goal]);
    add("polyline", { points: points.map(([value, n]) => `${x(value).toFixed(1)},${y(n).toFixed(1)}`).join(" "), class: "curve" });
    if (topics !== null) add("circle", { cx: x(wanted[goal]), cy: y(topics), r: 5, class: "here" });
    svg.setAttribute("aria-label", `Topics against the ${NAMES[goal]}: from ${ends[0]} down to ${ends[1]}`);
  }

  function ticks(least, most) {
    const found = [];
    for (let power = 1; power <= most; power *= 10)
      for (const step of most / least > 50 ? [1] : [1, 2, 5]) if (step * power >= least && step * power <= most) found.push(step * power);
    return found;
  }

  form.addEventListener("input", (event) => {
    const { name } = event.target;
    if (name === "method" || name === "measure") return start();
    const slider = name.endsWith("_slider");
    const twin = control(slider ? name.slice(0, -7) : `${name}_slider`);
    if (twin) twin.value = event.target.value;
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  set("systems", chosen().systems, 2, 200);
  set("power", chosen().power, 0.5, 0.99);
  control("alpha").value = chosen().alpha;
  start();
})();
