// The review pages: keys that press what they stand on, ticking all, giving an item back on leaving it.
(() => {
  "use strict";
  const typing = (target) => target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select");
  let left = false; // something was pressed that leaves this page: pressed again, it would be done twice

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (event.metaKey || event.ctrlKey || event.altKey || event.repeat || typing(event.target)) return;
    if (left || document.querySelector("dialog[open]") || !/^[a-z0-9]$/.test(event.key)) return;
    const meant = document.querySelector(`[data-key="${event.key}"]:not(:disabled)`);
    if (!meant) return;
    event.preventDefault();
    if (meant.matches("textarea, input")) meant.focus();
    else { left = true; meant.click(); }
  });

  document.addEventListener("change", (event) => {
    const name = event.target.dataset.ticks;
    if (!name) return;
    for (const box of document.querySelectorAll(`input[type=checkbox][name="${name}"]`)) box.checked = event.target.checked;
  });

  // Whoever goes elsewhere gives the item back, so that nobody waits a quarter of an hour for them.
  addEventListener("pagehide", () => {
    const where = document.body.dataset.release;
    if (!where) return;
    const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
    fetch(where, { method: "POST", keepalive: true, headers, redirect: "manual" }).catch(() => {});
  });
})();
