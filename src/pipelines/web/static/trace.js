// The page of a run: keys, slider and links move through its steps; the server sends each step, its world, and
// the timeline two hundred lines at a time. Everything here is also a link of the page without it.
(() => {
  "use strict";
  const trace = document.getElementById("trace");
  if (!trace) return;
  const ROW = 28; // pixels of a line, as the style sheet has it: the scroll bar counts on it
  const at = (id) => document.getElementById(id);
  const base = `/runs/${trace.dataset.run}`;
  const list = () => at("trace-lines");
  const slider = at("trace-slider");
  const line = (name) => document.getElementById(`s-${name}`);
  const narrow = matchMedia("(max-width: 720px)");
  let shown = at("step").dataset.s;
  let place = Number(at("step").dataset.place);
  let asked = 0; // the last request for a step: an older answer is dropped
  let timer = 0;

  const fetchText = async (path) => {
    const answer = await fetch(path, { headers: { "HX-Request": "true" } });
    if (answer.status === 401) location.reload();
    return answer.ok ? answer.text() : null;
  };

  // -- the list -------------------------------------------------------------------------------------------
  const sized = () => {
    const lines = list();
    lines.querySelector(".before").style.height = `${lines.dataset.start * ROW}px`;
    lines.querySelector(".after").style.height = `${(lines.dataset.items - lines.dataset.stop) * ROW}px`;
    for (const more of lines.querySelectorAll(".more")) more.hidden = true;
  };
  const mark = () => {
    for (const old of list().querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const now = line(shown) ?? list().querySelector(`[data-place="${place}"]`);
    if (now) now.setAttribute("aria-current", "step");
    const found = new Set((at("trace-hits")?.dataset.found ?? "").split(",").filter(Boolean));
    for (const each of list().querySelectorAll(".line")) each.classList.toggle("hit", found.has(each.dataset.s));
    const { items, total } = list().dataset;
    if (slider) { slider.max = items - 1; slider.value = place; }
    const number = /^\d+$/.test(shown) && shown !== "0" ? `step ${Number(shown).toLocaleString("en")} of ${Number(total).toLocaleString("en")}`
      : shown === "0" ? `the start, before ${Number(total).toLocaleString("en")} steps`
      : shown === "end" ? `the answer, after ${Number(total).toLocaleString("en")} steps` : `between steps, ${Number(total).toLocaleString("en")} in all`;
    at("trace-position").textContent = number;
  };
  const inView = () => {
    const lines = list();
    const top = place * ROW, low = lines.scrollTop, high = low + lines.clientHeight - ROW;
    if (top < low || top > high) lines.scrollTop = top - lines.clientHeight / 3;
  };
  let loads = 0, jumps = 0; // the last request for lines, and how many jumps wait for theirs
  const load = async (query) => {
    const own = ++loads;
    const text = await fetchText(`${base}/window?${query}${list().dataset.view}`);
    if (own !== loads || text === null) return false; // a newer request has other lines to show
    const old = list(), scroll = old.scrollTop, focused = old.contains(document.activeElement);
    const made = new DOMParser().parseFromString(text, "text/html").getElementById("trace-lines");
    old.replaceWith(made);
    watch();
    made.scrollTop = scroll;
    mark();
    if (focused) (line(shown) ?? made).focus({ preventScroll: true });
    return true;
  };
  const jump = async (query) => {
    jumps++;
    try { return await load(query); } finally { jumps--; }
  };
  // Lines for what is in sight: a window may begin or end in the middle of it.
  const fill = () => {
    const lines = list(), { start, stop, items } = lines.dataset;
    const first = Math.floor(lines.scrollTop / ROW), last = Math.min(items - 1, Math.floor((lines.scrollTop + lines.clientHeight) / ROW));
    if (!jumps && lines.clientHeight && (first < start || last >= stop)) load(`at=${Math.floor((first + last) / 2)}`);
  };
  let scrolling = 0;
  const watch = () => {
    sized();
    list().addEventListener("scroll", () => {
      clearTimeout(scrolling);
      scrolling = setTimeout(fill, 80);
    }, { passive: true });
  };

  // -- a step ---------------------------------------------------------------------------------------------
  const fetchStep = async (name) => {
    const own = ++asked;
    const text = await fetchText(`${base}/steps/${encodeURIComponent(name)}?${list().dataset.view.slice(1)}`);
    if (own !== asked) return;
    if (text === null) { at("trace-position").textContent = "This step could not be loaded. Is the server up?"; return; }
    const made = new DOMParser().parseFromString(text, "text/html");
    for (const id of ["step", "world"]) {
      const part = made.getElementById(id), old = at(id);
      const scroll = id === "world" ? old.querySelector(".inside").scrollTop : 0;
      part.removeAttribute("hx-swap-oob");
      old.replaceWith(part);
      window.htmx?.process(part);
      part.dispatchEvent(new CustomEvent("htmx:afterSwap", { bubbles: true })); // times in the reader's zone
      if (scroll) part.querySelector(".inside").scrollTop = scroll;
    }
    highlight();
  };
  const select = async (name, { again = false, wait = 0, tab = true } = {}) => {
    if (name === shown && !again) return;
    if (!line(name) && !(await jump(`s=${encodeURIComponent(name)}`))) return;
    const near = line(name)?.dataset.place ?? list().dataset.near; // a step that is folded has no line
    if (near === undefined) return;
    shown = name;
    place = Number(near);
    mark();
    inView();
    history.replaceState(null, "", `${location.pathname}${search()}#s=${name}`);
    if (tab && at("tab-steps").checked) at("tab-step").checked = true;
    if (narrow.matches) document.querySelector(".trace-tabs").scrollIntoView();
    clearTimeout(timer);
    timer = setTimeout(() => fetchStep(name), wait);
  };
  const search = (words) => {
    const kept = new URLSearchParams(location.search);
    for (const name of ["s", "at"]) kept.delete(name);
    if (words !== undefined) words ? kept.set("q", words) : kept.delete("q");
    return kept.size ? `?${kept}` : "";
  };
  const toPlace = async (wanted, options) => {
    const to = Math.max(0, Math.min(wanted, list().dataset.items - 1));
    const there = () => list().querySelector(`[data-place="${to}"]`);
    if (!there() && !(await jump(`at=${to}`))) return;
    if (there()) await select(there().dataset.s, options);
  };
  const among = (names, way) => {
    const where = names.indexOf(shown);
    if (!names.length) return;
    if (where >= 0) return select(names[(where + way + names.length) % names.length]);
    const numbers = names.map(Number), here = Number(shown) || 0;
    const next = way > 0 ? numbers.findIndex((each) => each > here) : numbers.findLastIndex((each) => each < here);
    select(names[next >= 0 ? next : way > 0 ? 0 : names.length - 1]);
  };
  const names = (text) => (text ?? "").split(",").filter(Boolean);

  const toggleWorld = () => {
    const off = trace.classList.toggle("no-world");
    localStorage.setItem("trace-world", off ? "off" : "on");
  };
  const copyLink = async () => {
    const button = document.querySelector("[data-copy-link]"), before = button.textContent;
    const link = `${location.origin}${base}#s=${shown}`;
    try { await navigator.clipboard.writeText(link); button.textContent = "Copied"; }
    catch { prompt("Copy this link", link); }
    setTimeout(() => { button.textContent = before; }, 1500);
  };

  // Words that were searched for are marked in the step, without touching its text.
  const highlight = () => {
    if (!window.Highlight) return;
    const words = (at("trace-q").value || "").toLowerCase();
    CSS.highlights.delete("found");
    if (!words || !at("trace-hits")) return;
    const ranges = [], walker = document.createTreeWalker(at("step"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < 500) {
      const text = walker.currentNode.data.toLowerCase();
      for (let start = text.indexOf(words); start >= 0 && ranges.length < 500; start = text.indexOf(words, start + words.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, start);
        range.setEnd(walker.currentNode, start + words.length);
        ranges.push(range);
        let fold = walker.currentNode.parentElement.closest("details:not([open])");
        while (fold) { fold.open = true; fold = fold.parentElement.closest("details:not([open])"); }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };

  // -- what people do -------------------------------------------------------------------------------------
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-copy-link]")) return copyLink();
    const view = event.target.closest("a[data-view-link]");
    if (view) { view.hash = `s=${shown}`; return; } // another view of the same step
    const link = event.target.closest("a[data-s]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    select(link.dataset.s, { again: "again" in link.dataset });
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.closest("input:not([type=range]):not([type=radio]), textarea, select") || document.querySelector("dialog[open]")) return;
    const acts = {
      ArrowRight: () => toPlace(place + 1, { wait: 40 }), ArrowLeft: () => toPlace(place - 1, { wait: 40 }),
      Home: () => toPlace(0), End: () => toPlace(Infinity),
      f: () => among(names(list().dataset.failures), 1), F: () => among(names(list().dataset.failures), -1),
      n: () => among(names(at("trace-hits")?.dataset.found), 1), N: () => among(names(at("trace-hits")?.dataset.found), -1),
      w: toggleWorld, c: copyLink,
    };
    if (event.target.matches("input[type=radio]") && event.key.startsWith("Arrow")) return;
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  slider?.addEventListener("input", () => toPlace(Number(slider.value), { wait: 60 }));
  const meant = (event) => {
    const reason = event.target.closest?.("[data-steps]");
    const steps = new Set(names(reason?.dataset.steps));
    for (const each of list().querySelectorAll(".line")) each.classList.toggle("meant", steps.has(each.dataset.s));
  };
  for (const kind of ["mouseover", "focusin"]) trace.addEventListener(kind, meant);
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail?.target?.id === "trace-found" || event.target.id === "trace-found") {
      history.replaceState(null, "", `${location.pathname}${search(at("trace-q").value)}#s=${shown}`);
      const found = names(at("trace-hits")?.dataset.found);
      mark();
      if (found.length && !found.includes(shown)) among(found, 1); else highlight();
    }
  });
  // A run that still goes: its list is put in place by the server; where it was scrolled to stays.
  let kept = 0;
  document.addEventListener("htmx:oobBeforeSwap", () => { kept = list().scrollTop; });
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    if (event.target.id !== "trace-lines") return;
    watch();
    list().scrollTop = kept;
    mark();
    fill();
  });
  addEventListener("hashchange", () => { const name = linked(); if (name) select(name); });
  const linked = () => /^#s=([\w]{1,24})$/.exec(location.hash)?.[1];

  if (slider) slider.hidden = false;
  if (localStorage.getItem("trace-world") === "off") trace.classList.add("no-world");
  watch();
  mark();
  inView();
  if (narrow.matches && (linked() || "asked" in trace.dataset)) document.querySelector(".trace-tabs").scrollIntoView();
  if (linked() && linked() !== shown) select(linked()); else highlight();
})();
