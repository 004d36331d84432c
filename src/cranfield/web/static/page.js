"use strict";
// Forms answer while somebody types; without this script they answer when they are sent.

const say = (near, text) => {
  const place = near.closest("p").querySelector("[data-said]");
  if (place) place.textContent = text;
};

// A field without effect beside what the form says is not offered, and not sent.
function offer(form) {
  const said = (condition) => {
    const [name, value] = condition.split("="), place = form.querySelector(`[data-field="${name}"]`);
    const field = place && !place.hidden && place.querySelector("input, select");
    const text = !field ? "" : field.type === "checkbox" ? (field.checked ? "true" : "") : field.value;
    return value ? text === value : text !== "";
  };
  const words = (text) => (text ? text.split(" ") : []);
  for (const field of form.querySelectorAll("[data-needs]")) {
    const needs = words(field.dataset.needs), without = words(field.dataset.without);
    const idle = (needs.length && !needs.some(said)) || without.some(said);
    if (!("goal" in field.dataset) || idle) field.hidden = idle;
  }
  for (const field of form.querySelectorAll("[data-field]"))
    for (const each of field.querySelectorAll("input, select")) each.disabled = field.hidden;
  for (const group of form.querySelectorAll("details"))
    group.hidden = [...group.querySelectorAll("[data-field]")].every((field) => field.hidden);
}

function live(form) {
  const answer = document.getElementById("answer");
  const goals = form.dataset.goals ? JSON.parse(form.dataset.goals) : null;
  let timer = 0, asking = null;

  const address = () => {
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      const field = form.querySelector(`[data-field="${name}"]`);
      if (value !== "" && !(field && field.hidden)) asked.append(name, value);
    }
    return form.dataset.live + "?" + asked;
  };

  const fit = () => {
    if (!goals) return offer(form);
    const chosen = form.querySelector("[name=goal]:checked");
    const wanted = chosen ? goals.inputs[chosen.value] : [];
    for (const name of goals.all) form.querySelector(`[data-field="${name}"]`).hidden = !wanted.includes(name);
    for (const name of goals.all) form.querySelector(`[data-field="${name}"]`).dataset.goal = "";
    offer(form);
  };

  const input = (name) => form.querySelector(`[data-field="${name}"] input, [data-field="${name}"] select`);
  const used = (name) => input(name).value !== "" && !input(name).closest("[data-field]").hidden;

  // Another choice needs other fields: those that are empty get an example, which goes when the choice does.
  const fill = (choice, chosen) => {
    for (const field of form.querySelectorAll(`[data-example="${choice}"]`)) {
      field.value = "";
      delete field.dataset.example;
    }
    const before = Object.fromEntries(goals.all.map((name) => [name, used(name)]));
    fit();
    for (const [name, others] of Object.entries(goals.instead)) // said twice, and one of them out of sight
      if (used(name) && !before[name] && others.some(used)) input(name).value = "";
    if (choice === "goal") for (const name of ["curve", "method"]) input(name).value = "";
    for (const [name, value] of Object.entries(goals.examples[choice][chosen] || {})) {
      if (used(name) || (goals.instead[name] || []).some(used)) continue;
      input(name).value = value;
      input(name).dataset.example = choice;
    }
  };

  const tell = () => {
    const labels = [...form.querySelectorAll("[data-example]")].filter((field) => !field.closest("[data-field]").hidden);
    const text = labels.map((field) => field.labels[0].textContent.replace(/^(or: |and )/, "")).join(", ");
    form.querySelector("[data-filled]").textContent = text && `With example values: ${text}.`;
  };

  const ask = async () => {
    if (asking) asking.abort();
    asking = new AbortController();
    const link = address();
    try {
      const response = await fetch(link, { headers: { "X-Part": "answer" }, signal: asking.signal });
      replace(answer, await response.text());
      unfold();
      history.replaceState(null, "", link);
      answer.setAttribute("aria-busy", "false");
    } catch (error) {
      if (error.name === "AbortError") return;
      answer.textContent = "The server does not answer. Is cranfield serve still running?";
      answer.setAttribute("aria-busy", "false");
    }
  };

  // A fault may name a field that is folded away.
  const unfold = () => {
    const said = answer.querySelector(".fault")?.textContent || "";
    for (const label of form.querySelectorAll("details label"))
      if (said.includes(`«${label.textContent.trim().replace(/^(or: |and )/, "")}»`)) label.closest("details").open = true;
  };

  const later = (delay) => {
    answer.setAttribute("aria-busy", "true"); // what is shown is no longer the answer
    clearTimeout(timer);
    timer = setTimeout(ask, delay);
  };

  form.addEventListener("input", (event) => {
    delete event.target.dataset.example;
    if (goals && event.target.name in goals.examples) fill(event.target.name, event.target.value);
    fit();
    if (goals) tell();
    later(120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    later(0);
  });
  fit();
}

// An answer stays while the form changes, but it is said that it is no longer the answer to what the form says.
function asked(form) {
  const answer = document.getElementById("answer"), stale = form.querySelector("[data-stale]");
  offer(form);
  const said = () => String(new URLSearchParams(new FormData(form))), first = said();
  form.addEventListener("input", () => {
    offer(form);
    stale.hidden = !answer.textContent.trim() || said() === first;
    answer.setAttribute("aria-busy", String(!stale.hidden));
  });
}

// One measure at a time; without this script all stand below each other.
function switching(place) {
  const measures = JSON.parse(place.dataset.measures), all = measures.length;
  const parts = [...place.parentElement.querySelectorAll("[data-measure]")];
  const choose = (at) => {
    for (const part of parts) part.hidden = at < all && part.dataset.measure !== measures[at];
    try { sessionStorage.setItem("measure", measures[at] || ""); } catch { /* it is forgotten then */ }
  };
  const select = document.createElement("select");
  select.id = "shown-measure";
  [...measures, "all measures"].forEach((name, at) => select.add(new Option(name, at)));
  select.addEventListener("change", () => choose(Number(select.value)));
  const label = document.createElement("label");
  label.htmlFor = select.id;
  label.textContent = "Show";
  place.append(label, select);
  place.hidden = false;
  let before = null;
  try { before = sessionStorage.getItem("measure"); } catch { /* the first then */ }
  select.value = before === "" ? all : Math.max(0, measures.indexOf(before));
  choose(Number(select.value));
}

// What a cell says as a number; text that is none is sorted as text.
const number = (text) => {
  const plain = text.replace(/[,%±\s]/g, "").replace("−", "-").replace("∞", "Infinity").replace(/^<1e-300$/, "0");
  return plain === "" || plain === "–" ? NaN : Number(plain);
};

// Tables are sorted by a click on a heading: down, up, and as they were.
function sorting(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  if (rows.length < 2) return;
  rows.forEach((row, at) => (row.dataset.at = at));
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      for (const each of heads) each.removeAttribute("aria-sort");
      const numeric = head.classList.contains("number"), first = numeric ? "descending" : "ascending";
      const now = !before ? first : before === first ? (numeric ? "ascending" : "descending") : "";
      if (now) head.setAttribute("aria-sort", now);
      const sign = now === "descending" ? -1 : 1, text = (row) => row.cells[at].textContent;
      const lacks = (row) => ["", "–"].includes(text(row));
      body.append(...rows.toSorted((a, b) => {
        const order = Number(a.dataset.at) - Number(b.dataset.at);
        if (!now) return order;
        if (lacks(a) || lacks(b)) return lacks(a) - lacks(b) || order; // what is missing stays last
        const x = number(text(a)), y = number(text(b));
        const apart = Number.isNaN(x) || Number.isNaN(y) ? text(a).localeCompare(text(b), "en", { numeric: true }) : x - y;
        return sign * (x === y ? 0 : apart) || order;
      }));
    });
  });
}

const arrange = (part) => {
  part.querySelectorAll("[data-switch]").forEach(switching);
  part.querySelectorAll("table[data-sort]").forEach(sorting);
};

// A new answer stands where the old one was, and who had reached a link or a button there with the keyboard is on it still.
function replace(place, html) {
  const focused = place.contains(document.activeElement) && document.activeElement;
  const like = (one) => [...place.querySelectorAll(one.localName)].filter((other) => other.textContent === one.textContent);
  const at = focused ? like(focused).indexOf(focused) : -1;
  place.innerHTML = html; // made and escaped by the server
  arrange(place);
  if (focused) (like(focused)[at] || place).focus();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-link]");
  if (!button) return;
  const text = button.dataset.copy ? document.querySelector(button.dataset.copy).textContent : location.href;
  try {
    await navigator.clipboard.writeText(text);
    say(button, "Copied.");
  } catch {
    say(button, text);
  }
});

// A page of work that is not done yet asks how far it is, and shows the answer when there is one.
function follow(place) {
  const bar = place.querySelector("progress"), text = place.querySelector("[data-progress]");
  let leaving = false; // asking for the page again would start anew what was cancelled
  document.addEventListener("submit", () => (leaving = true));
  const step = async () => {
    try {
      const state = await (await fetch(place.dataset.follow)).json();
      if (leaving) return;
      if (state.state === "cancelled") return location.assign(place.dataset.back);
      if (state.state !== "waiting" && state.state !== "running") return location.reload();
      if (state.total) { bar.max = state.total; bar.value = state.done; }
      text.textContent = state.text;
    } catch {
      text.textContent = "The server does not answer.";
    }
    setTimeout(step, 400);
  };
  setTimeout(step, 250);
}

function dropping(zone) {
  const input = zone.querySelector("input[type=file]"), list = zone.querySelector("[data-chosen]");
  const tell = () => {
    const files = [...input.files], size = files.reduce((sum, file) => sum + file.size, 0);
    list.textContent = files.length ? `${files.length} file${files.length > 1 ? "s" : ""}, ${(size / 1e6).toFixed(1)} MB` : "";
  };
  input.addEventListener("change", tell);
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    input.files = event.dataTransfer.files;
    tell();
  });
}

// Sending shows how much has gone; without this script the browser shows it.
function sending(form) {
  form.addEventListener("submit", (event) => {
    const bar = form.querySelector("progress"), said = form.querySelector("[data-sent]");
    event.preventDefault();
    const size = [...form.querySelector("[type=file]").files].reduce((sum, file) => sum + file.size, 0);
    if (size > Number(form.dataset.most)) {
      said.textContent = `These are ${(size / 1e6).toFixed(0)} MB; the server takes ${(form.dataset.most / 1e6).toFixed(0)}.`;
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (sent) => { bar.hidden = false; bar.max = sent.total; bar.value = sent.loaded; said.textContent = `${(sent.loaded / 1e6).toFixed(0)} of ${(sent.total / 1e6).toFixed(0)} MB sent`; };
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { answer = { error: { what: request.responseText || `status ${request.status}`, fix: "" } }; }
      if (answer.link) location.assign(answer.link);
      else { bar.hidden = true; said.textContent = [answer.error.where, answer.error.what, answer.error.fix].filter(Boolean).join(" – "); }
    };
    request.onerror = () => { bar.hidden = true; said.textContent = "The server closed the connection: too large, or it has stopped."; };
    request.send(new FormData(form));
    const stop = form.querySelector("[data-stop]");
    stop.hidden = false;
    stop.onclick = () => { request.abort(); bar.hidden = true; stop.hidden = true; said.textContent = "Stopped."; };
  });
}

// On a narrow screen the list of questions would stand before every answer.
const questions = document.querySelector(".questions");
if (questions && document.getElementById("answer") && matchMedia("(max-width: 46rem)").matches) questions.open = false;

arrange(document);
document.querySelectorAll("form[data-live]").forEach(live);
document.querySelectorAll("form[data-asked]").forEach(asked);
document.querySelectorAll("[data-follow]").forEach(follow);
document.querySelectorAll(".drop").forEach(dropping);
document.querySelectorAll("form[data-upload]").forEach(sending);
