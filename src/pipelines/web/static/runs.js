// Lists of runs and batches by keys: j and k move, Enter opens, x marks, c compares. And a batch that ends.
(() => {
  "use strict";
  const rows = () => [...document.querySelectorAll("tr[data-row]")];
  const boxes = () => [...document.querySelectorAll("tr[data-row] input[type=checkbox]")];
  const marked = () => boxes().filter((box) => box.checked);
  const rowOf = (element) => element?.closest?.("tr[data-row]");
  let last = null; // the row that was left by a click or a swap

  const here = () => rowOf(document.activeElement) ?? (last?.isConnected ? last : null);
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(here());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step))];
    last = next;
    next.querySelector("[data-opens]").focus();
    next.scrollIntoView({ block: "nearest" });
  };

  const tell = () => {
    const number = marked().length;
    for (const box of boxes()) rowOf(box).classList.toggle("marked-row", box.checked);
    for (const form of document.querySelectorAll("form[data-marked]")) {
      form.querySelector("button").disabled = number !== 2;
    }
  };
  // The one marked first gives way to a third.
  const order = [];
  const noteMark = (box) => {
    const at = order.indexOf(box);
    if (at >= 0) order.splice(at, 1);
    if (box.checked) order.push(box);
    while (order.length > 2) order.shift().checked = false;
    tell();
  };
  const compare = () => {
    if (marked().length === 2) document.querySelector("form[data-marked]")?.requestSubmit();
  };

  document.addEventListener("change", (event) => {
    if (event.target.matches?.("tr[data-row] input[type=checkbox]")) noteMark(event.target);
  });
  document.addEventListener("focusin", (event) => { last = rowOf(event.target) ?? last; });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.closest("textarea, select, [contenteditable], input:not([type=checkbox])")) return;
    if (event.key === "j" || event.key === "k") { event.preventDefault(); go(event.key === "j" ? 1 : -1); }
    else if (event.key === "x" && here()) {
      event.preventDefault();
      const box = here().querySelector("input[type=checkbox]");
      box.checked = !box.checked;
      noteMark(box);
    } else if (event.key === "c") compare();
  });

  // Everybody who watches hears of the end at once: the results are asked for within the next two seconds.
  document.addEventListener("htmx:sseClose", (event) => {
    if (event.detail.type !== "message") return;
    event.target.dataset.ended = "yes";
    setTimeout(() => htmx.trigger("#results", "batch-ended"), Math.random() * 2000);
  });
  // While a batch runs, its tables follow. The busier the server, the less often they are asked for.
  let moved = 0, pause = 2000, asked = 0;
  const isBusy = () => document.hidden || document.querySelector("dialog[open], details.menu[open]");
  const follow = () => {
    moved = 0;
    if (document.querySelector("[data-live][data-ended]")) return;
    if (isBusy()) { moved = setTimeout(follow, pause); return; }
    asked = performance.now();
    htmx.trigger("#results", "batch-moved");
  };
  document.addEventListener("htmx:sseMessage", () => { moved ||= setTimeout(follow, pause); });
  // What was selected and focused stays so in the new table.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target.id !== "results") return;
    pause = Math.max(2000, 10 * (performance.now() - asked));
    const row = rowOf(document.activeElement), boxOf = (each) => each?.querySelector("input[type=checkbox]")?.value;
    kept = { marked: order.map((box) => box.value), row: boxOf(row), isBox: document.activeElement?.matches("input[type=checkbox]"), last: boxOf(here()) };
  });
  document.addEventListener("htmx:afterSwap", () => {
    const was = kept;
    kept = null;
    if (was) {
      const boxOf = (value) => boxes().find((box) => box.value === value);
      order.splice(0, order.length, ...was.marked.map(boxOf).filter(Boolean));
      for (const box of order) box.checked = true;
      last = rowOf(boxOf(was.last)) ?? null;
      const row = rowOf(boxOf(was.row));
      if (row) (was.isBox ? boxOf(was.row) : row.querySelector("[data-opens]")).focus({ preventScroll: true });
    }
    tell();
  });
  // A browser keeps six connections to a server, however many tabs watch: those nobody looks at let go of theirs.
  document.addEventListener("visibilitychange", () => {
    const now = document.querySelector("[data-live]");
    if (!now || now.dataset.ended) return;
    const again = now.cloneNode(true);
    if (document.hidden) again.removeAttribute("sse-connect");
    else again.setAttribute("sse-connect", now.dataset.live);
    htmx.swap(now, again.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  });
  // A menu closes when something else is meant.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  });
  addEventListener("pageshow", () => { order.push(...marked()); tell(); });
})();
