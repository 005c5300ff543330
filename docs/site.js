// What scrolls sideways on a small screen, a wide table or formula, is reached with the Tab key.
const reach = () => {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap, math[display=block]")) {
    if (one.scrollWidth > one.clientWidth) one.setAttribute("tabindex", "0");
    else one.removeAttribute("tabindex");
  }
};
// The corner of a table that names rows and columns is no heading.
for (const corner of document.querySelectorAll("thead th:empty")) {
  corner.replaceWith(document.createElement("td"));
}
addEventListener("resize", reach);
// The theme wraps tables after the page is loaded.
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
