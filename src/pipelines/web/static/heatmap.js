// The heatmap: arrow keys go from cell to cell, the note of a cell stands beside it. Reading works without it.
(() => {
  "use strict";
  const links = (table) => [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td a")]);
  const arrows = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const kept = `map:${location.pathname}`;

  // One stop for the tab key, not hundreds: the cell where somebody was last.
  const settle = () => {
    const table = document.querySelector("table.map");
    if (!table) return;
    const last = document.getElementById(sessionStorage.getItem(kept) || "");
    const all = links(table).flat();
    const stop = last && all.includes(last) ? last : all.find((link) => link.id.startsWith("at-"));
    for (const link of all) link.tabIndex = link === stop ? 0 : -1;
  };

  const moved = (link, key) => {
    const rows = links(link.closest("table"));
    const row = rows.findIndex((cells) => cells.includes(link));
    const at = rows[row].indexOf(link);
    if (key === "Home") return rows[row][0];
    if (key === "End") return rows[row].at(-1);
    const [down, right] = arrows[key];
    return rows[row + down]?.[at + right];
  };

  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const link = event.target.closest?.(".map td a");
    if (event.key === "Escape") document.body.dataset.quiet = "yes";
    if (link && (arrows[event.key] || event.key === "Home" || event.key === "End")) {
      const to = moved(link, event.key);
      event.preventDefault();
      if (to) { link.tabIndex = -1; to.tabIndex = 0; to.focus(); to.scrollIntoView({ block: "nearest", inline: "nearest" }); }
      return;
    }
    if (document.body.dataset.around && arrows[event.key] && !event.target.closest("input, textarea, select, .scroll, summary")) {
      const go = document.getElementById(`go-${event.key.slice(5).toLowerCase()}`);
      if (go) { event.preventDefault(); location.href = go.href; }
    }
  });

  const place = (link) => {
    delete document.body.dataset.quiet;
    const tip = link.querySelector(".tip");
    if (!tip) return;
    const cell = link.getBoundingClientRect();
    const wide = 320, gap = 6;
    tip.style.left = `${Math.max(8, Math.min(cell.left, innerWidth - wide - 16))}px`;
    const below = cell.bottom + gap + 120 < innerHeight;
    tip.style.top = below ? `${cell.bottom + gap}px` : "auto";
    tip.style.bottom = below ? "auto" : `${innerHeight - cell.top + gap}px`;
  };
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const link = event.target.closest?.(".map td a");
      if (!link) return;
      place(link);
      if (kind === "focusin") sessionStorage.setItem(kept, link.id);
    });
  }

  // "All scenarios" chooses and leaves all; one that is left is not all any more.
  document.addEventListener("change", (event) => {
    const all = document.querySelector("input[data-all]");
    if (!all) return;
    const each = [...document.querySelectorAll(`input[name="${all.dataset.all}"]`)];
    if (event.target === all) for (const box of each) box.checked = all.checked;
    else if (each.includes(event.target)) all.checked = false;
  }, true);

  // What runs is written anew every few seconds: whoever has scrolled stays where they are.
  let left = 0, top = 0;
  document.addEventListener("htmx:beforeSwap", () => {
    const scroll = document.getElementById("map-scroll");
    if (scroll) [left, top] = [scroll.scrollLeft, scroll.scrollTop];
  });
  document.addEventListener("htmx:afterSettle", () => {
    const scroll = document.getElementById("map-scroll");
    if (scroll) [scroll.scrollLeft, scroll.scrollTop] = [left, top];
    settle();
  });
  settle();
})();
