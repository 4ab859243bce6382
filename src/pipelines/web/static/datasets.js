// Dropping a file, checking it as soon as it is chosen, and the link to an empty CSV with the columns switched on.
(() => {
  "use strict";
  const form = document.querySelector("[data-upload]");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "n" || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
    const link = document.querySelector('a[href="/datasets/new"]');
    if (link) location.href = link.href;
  });
  if (!form) return;

  const file = form.querySelector("input[type=file]");
  const drop = form.querySelector("[data-drop]");
  const checked = form.querySelector("#checked");

  // What was said of the columns of the file before it is not true of the next.
  const forget = () => {
    for (const field of checked.querySelectorAll("input[type=hidden], select[name=rename], [name^='cell:']")) field.remove();
    form.querySelector("input[name=text_name]")?.remove();
    for (const box of checked.querySelectorAll("input[name=axis]:not(:disabled)")) box.checked = false;
  };
  const failed = form.querySelector("[data-failed]");
  const tell = (text) => { failed.textContent = text; failed.hidden = !text; };
  const most = Number(form.dataset.limitMb) * 1024 * 1024;

  const check = () => checked.querySelector("[data-check]")?.click();
  file.addEventListener("change", () => { 
    if (!file.files.length) return;
    const size = file.files[0].size;
    tell(size > most ? `The file has ${(size / 1048576).toFixed(1)} MiB, and an upload at most ${form.dataset.limitMb}. Send it in parts, or raise the server's limit.` : "");
    if (size > most) file.value = "";
    else { forget(); check(); }
  });
  form.querySelector("#f-agent_id")?.addEventListener("change", () => {
    if (checked.querySelector("input[name=chosen]")) check();
  });

  form.addEventListener("htmx:beforeRequest", () => tell(""));
  form.addEventListener("htmx:responseError", (event) => {
    const said = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").querySelector(".notice");
    tell(said?.textContent.trim() || `The server answered ${event.detail.xhr.status}. Nothing was stored; try again.`);
  });
  form.addEventListener("htmx:sendError", () => tell("The server did not answer. Nothing was checked or stored; try again."));
  // What was clicked is gone with what it stood in: reading goes on at what was found.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target !== checked || document.activeElement !== document.body) return;
    const notice = checked.querySelector(".notice");
    if (notice) { notice.tabIndex = -1; notice.focus({ preventScroll: true }); }
  });

  const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  addEventListener("drop", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    file.dispatchEvent(new Event("change", { bubbles: true }));
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-template]");
    if (!link) return;
    const on = [...checked.querySelectorAll("input[name=axis]:checked")].map((box) => ["axis", box.value]);
    link.href = `/datasets/template.csv?${new URLSearchParams(on)}`;
  });
})();
