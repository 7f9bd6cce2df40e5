"use strict";
// Pages work without this file. With it they change while they are open, and cards can be dragged.

const ages = [[60, 1, "s"], [3600, 60, "m"], [86400, 3600, "h"], [Infinity, 86400, "d"]];
function spell(seconds) {
  const [, unit, sign] = ages.find(([limit]) => seconds < limit);
  const rest = sign === "m" ? ` ${String(Math.floor(seconds % 60)).padStart(2, "0")}s`
    : sign === "h" ? ` ${String(Math.floor(seconds % 3600 / 60)).padStart(2, "0")}m` : "";
  return `${Math.floor(seconds / unit)}${sign}${rest}`;
}
function show(node, text) { if (node.textContent !== text) node.textContent = text; }
function tellTimes() {
  for (const node of document.querySelectorAll("time[data-since]"))
    show(node, spell(Math.max(0, (Date.now() - Date.parse(node.dateTime)) / 1000)));
  for (const node of document.querySelectorAll("time[data-clock]"))
    show(node, new Date(node.dateTime).toLocaleTimeString([], { hour12: false }));
}

// What a person opened, typed or chose stays as it is when its surroundings change.
const KEEP = {
  ignoreActiveValue: true,
  callbacks: {
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
    beforeNodeMorphed: (old) => !["INPUT", "TEXTAREA", "SELECT"].includes(old.tagName),
  },
};
function change(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  const old = fresh && document.getElementById(fresh.id);
  if (old) Idiomorph.morph(old, fresh, KEEP);
  tellTimes();
}
// A browser opens six connections to a server: hidden tabs hold none, or the seventh would stay blank.
function follow({ topic, version }) {
  const sign = document.getElementById("live");
  const say = (text) => { sign.hidden = false; sign.dataset.state = text; show(sign, text); };
  let source = null, since = version;
  const attend = () => {
    if (source) source.close();
    if (document.hidden) return;
    source = new EventSource(`/events/${topic}?since=${since}`);
    source.addEventListener("open", () => say("Live"));
    source.addEventListener("error", () => say("Not connected"));
    source.addEventListener("fragment", (event) => { since = event.lastEventId; change(event.data); });
  };
  document.addEventListener("visibilitychange", attend);
  attend();
}

let dragged = null;
function findMove(column) {
  return column && dragged && dragged.querySelector(`form[data-to="${CSS.escape(column.dataset.stage)}"]`);
}
addEventListener("dragstart", (event) => {
  dragged = event.target.closest && event.target.closest(".card[draggable]");
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  for (const column of document.querySelectorAll(".column")) column.classList.toggle("open", Boolean(findMove(column)));
});
addEventListener("dragend", () => {
  dragged = null;
  for (const column of document.querySelectorAll(".column")) column.classList.remove("open", "over");
});
addEventListener("dragover", (event) => {
  const column = event.target.closest && event.target.closest(".column");
  for (const each of document.querySelectorAll(".column.over")) each.classList.toggle("over", each === column);
  if (findMove(column)) { event.preventDefault(); column.classList.add("over"); }
});
addEventListener("drop", (event) => {
  const move = findMove(event.target.closest && event.target.closest(".column"));
  if (move) { event.preventDefault(); move.requestSubmit(); }
});

addEventListener("submit", (event) => {
  const form = event.target, question = form.dataset.confirm;
  if (question && !confirm(question)) { event.preventDefault(); return; }
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  if (event.submitter) event.submitter.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.activeElement && document.activeElement.closest("details.menu[open]");
  if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
});
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

tellTimes();
setInterval(tellTimes, 1000);
if (document.body.dataset.topic) follow(document.body.dataset);
