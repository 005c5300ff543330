// Shows what the server sends of the dashboard; without this a button loads the page again.
"use strict";
(() => {
  const live = document.getElementById("live");
  const notice = document.getElementById("notice");
  if (!live) return;
  document.documentElement.classList.add("script");
  const source = new EventSource(live.dataset.events);
  source.addEventListener("parts", ({ data }) => {
    for (const [name, html] of Object.entries(JSON.parse(data))) {
      const part = document.getElementById(name);
      const open = [...part.querySelectorAll("details[open]")].map(({ id }) => id);
      const focused = part.contains(document.activeElement) && document.activeElement.id;
      part.innerHTML = html;
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    }
  });
  source.addEventListener("over", () => location.reload());
  source.onopen = () => (notice.textContent = "");
  source.onerror = () => (notice.textContent = notice.dataset.lost);
})();
