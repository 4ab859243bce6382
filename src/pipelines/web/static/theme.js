// Before anything is painted: the scheme that the reader chose, else the system's.
(() => {
  const chosen = localStorage.getItem("scheme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.scheme = chosen;
})();
