"use strict";
// Numbers under the pointer, from the labels that charts carry; for reports and for served pages.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function show(event) {
    const mark = event.target.closest && event.target.closest("figure svg [role='graphics-symbol'][aria-label]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("aria-label").split("; ").join("\n");
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 10)}px`;
  }
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, show, { passive: true });
})();
