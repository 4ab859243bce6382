// Two runs compared: d goes to where they part, n and N from difference to difference.
(() => {
  "use strict";
  const calls = document.getElementById("calls");
  if (!calls) return;
  const row = (number) => document.getElementById(`r${number}`);
  const show = (element) => {
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  };
  const toMarked = () => {
    const link = calls.querySelector("a[data-row]");
    if (!link) return;
    const there = row(calls.dataset.marked);
    if (there) show(there); else location.href = link.href;
  };
  const next = (way) => {
    const rows = [...calls.querySelectorAll("tr[data-differs]")];
    const here = rows.indexOf(document.activeElement.closest?.("tr"));
    const to = here < 0 ? (way > 0 ? 0 : rows.length - 1) : here + way;
    if (rows[to]) show(rows[to]);
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
    const acts = { d: toMarked, n: () => next(1), N: () => next(-1) };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  if (/^#r\d+$/.test(location.hash)) { const there = row(location.hash.slice(2)); if (there) show(there); }
})();
