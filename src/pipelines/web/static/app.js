// What every page has: scheme, keys, search, copying, times in the reader's zone. Reading works without it.
(() => {
  "use strict";
  const root = document.documentElement;

  const applyScheme = (scheme) => {
    if (scheme) { root.dataset.scheme = scheme; localStorage.setItem("scheme", scheme); }
  };
  const isDark = () => root.dataset.scheme
    ? root.dataset.scheme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
  const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });
  const ago = (moment) => {
    const seconds = (moment - Date.now()) / 1000;
    for (const [unit, size] of units) {
      if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
    }
    return Math.abs(seconds) < 5 ? "now" : relative.format(Math.round(seconds), "second");
  };
  const tellTimes = (within) => {
    for (const time of within.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (isNaN(moment)) continue;
      time.title = exact.format(moment);
      if (time.dataset.as === "ago") time.textContent = ago(moment);
      else if (time.dataset.as === "exact") time.textContent = exact.format(moment);
    }
  };

  const open = (id) => {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    dialog.showModal();
    dialog.querySelector("input[hx-get]")?.dispatchEvent(new Event("opened"));
  };
  if (/Mac|iP(hone|ad|od)/.test(navigator.platform)) for (const key of document.querySelectorAll("[data-find-key]")) key.textContent = "⌘K";
  // A dialog that was closed keeps the focus until the next frame: nobody types into it.
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]")
    && !target.closest("dialog:not([open])");
  const places = { h: "/", a: "/agents", d: "/datasets", w: "/worlds", r: "/runs", e: "/evals", v: "/review", s: "/settings" };
  let went = -Infinity; // when g was pressed

  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return open("finder");
    }
    // At once: left to the browser, a search field is cleared first and the dialog stays.
    const shown = event.key === "Escape" && document.querySelector("dialog[open]");
    if (shown) { event.preventDefault(); return shown.close(); }
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.timeStamp - went < 2500 && places[event.key]) { went = -Infinity; location.href = places[event.key]; return; }
    if (event.key === "g") { went = event.timeStamp; return; }
    if (event.key === "?") open("keys");
    else if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
  });

  // Through what was found, without leaving the keyboard.
  document.addEventListener("keydown", (event) => {
    const finder = event.target.closest?.("#finder");
    if (!finder || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    const stops = [document.getElementById("find"), ...finder.querySelectorAll("#found a")];
    const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, at))].focus();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const act = button.dataset.act;
    if (act === "scheme") applyScheme(isDark() ? "light" : "dark");
    else if (act === "open") open(button.dataset.dialog);
    else if (act === "fill") { // without scripts, the link fills the field by a new page
      const field = document.getElementById(button.dataset.into);
      event.preventDefault();
      field.value = button.dataset.text;
      field.focus();
    }
    else if (act === "close") button.closest("dialog").close();
    else if (act === "copy") {
      const from = button.dataset.from ? document.getElementById(button.dataset.from)
        : button.closest(".json-block")?.querySelector("pre");
      const text = from ? (from.value ?? from.textContent) : button.dataset.text;
      const before = button.textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
      catch { button.textContent = "Select it and copy"; }
      setTimeout(() => { button.textContent = before; }, 1500);
    }
  });

  // A form that asks before it is sent says what will happen in data-confirm.
  document.addEventListener("submit", (event) => {
    const asked = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    if (asked && !confirm(asked)) event.preventDefault();
  });
  // Filters are in the URL: fields left empty are not.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-filters]")) return;
    for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-filters]");
    if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
  });
  addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("form[data-filters] :disabled")) field.disabled = false;
  });

  // The summary above a form lists the fields that it is about, by their labels, and leads to each of them.
  const listProblems = () => {
    const summary = document.querySelector("main .notice.bad > div");
    const fields = [...document.querySelectorAll("main .field [aria-invalid=true]")];
    if (!summary || !fields.length || summary.querySelector("ul")) return;
    const list = summary.appendChild(document.createElement("ul"));
    for (const field of fields) {
      const label = field.labels[0]?.textContent.trim() ?? field.name;
      const problem = document.getElementById(field.getAttribute("aria-describedby"))?.textContent ?? "";
      const link = list.appendChild(document.createElement("li")).appendChild(document.createElement("a"));
      link.href = `#${field.id}`;
      link.textContent = problem.startsWith(label) ? problem : `${label}: ${problem}`;
      link.addEventListener("click", (event) => { event.preventDefault(); field.focus(); });
    }
  };

  listProblems();
  tellTimes(document);
  setInterval(() => tellTimes(document), 30000);
  document.addEventListener("htmx:afterSwap", (event) => tellTimes(event.target));
})();
