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
  const table = JSON.parse(find("#calculator-data").textContent);
  const control = (name) => form.elements[name];
  const number = (name) => Number(control(name).value);
  const chosen = () => table.starts[control("measure") ? number("measure") : 0];
  const shown = (value) => String(Number(value.toPrecision(4)));
  const needed = (sd) => Topics.needed(table, number("systems"), number("power"), (sd / number("difference")) ** 2);

  function counted(topics) {
    const [least, most] = [table.topics[0], table.topics[table.topics.length - 1]];
    if (topics === null) return `more than ${most.toLocaleString("en")}`;
    return topics > least ? topics.toLocaleString("en") : `at most ${least}`;
  }

  // Another measure starts from its own numbers; the sliders reach five times as far both ways.
  function start() {
    const { difference, sd } = chosen();
    for (const [name, value] of Object.entries({ difference, sd: Number(shown(sd[0])) })) {
      for (const each of [control(name), control(`${name}_slider`)]) {
        if (each.type === "range") Object.assign(each, { min: value / 5, max: value * 5, step: "any" });
        each.value = value;
      }
    }
    update();
  }

  // The field shows four digits of the pilot's sd, and n is that of all of them.
  const isPilots = () => shown(chosen().sd[0]) === shown(number("sd"));
  const sd = () => (isPilots() ? chosen().sd[0] : number("sd"));

  // The range that the interval of the sd makes of n.
  function between() {
    const [, lower, upper] = chosen().sd;
    return `Between ${counted(needed(lower))} and ${counted(needed(upper))}, reflecting the uncertainty of the pilot's sd.`;
  }

  // The design and its n as a sentence to quote.
  function sentence(topics) {
    const said = { difference: shown(number("difference")), power: table.powers[number("power")] };
    const claim = table.claims[number("systems")].replace(/{(\w+)}/g, (_, name) => said[name]);
    return `${chosen().measure}: ${counted(topics)} topics ${claim}, for an sd of paired differences of ${shown(number("sd"))}.`;
  }

  function isValid() {
    const fields = [...form.querySelectorAll("input[type=number]")];
    for (const field of fields) field.setAttribute("aria-invalid", String(!(Number(field.value) > 0)));
    return fields.every((field) => Number(field.value) > 0);
  }

  function update() {
    const valid = isValid();
    const topics = valid ? needed(sd()) : null;
    find("#result").textContent = valid ? `${counted(topics)} topics` : "–";
    find("#between").textContent = valid ? (isPilots() ? between() : "") : "A difference and an sd are above 0.";
    find("#design").textContent = topics === null ? "" : sentence(topics);
  }

  form.addEventListener("input", (event) => {
    const { name } = event.target;
    if (name === "measure") return start();
    const twin = control(name.endsWith("_slider") ? name.slice(0, -7) : `${name}_slider`);
    if (twin) twin.value = twin.type === "number" ? shown(Number(event.target.value)) : event.target.value;
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  control("systems").value = table.systems.indexOf(table.own.systems);
  control("power").value = table.powers.indexOf(table.own.power);
  start();
})();
