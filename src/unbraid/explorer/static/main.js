/* Puts the page together. */

function header() {
  const title = make("h1", {});
  const about = make("p", { class: "note" });
  const notes = make("div", { class: "notes", role: "note" });
  const tabs = content.runs.map((run, i) => button(runTitle(run), () => state.show(i), run.name));
  state.listen((changed) => {
    if (!changed.has("run")) return;
    const { run } = state;
    replace(title, run.method, make("span", { text: ` on ${run.data}` }));
    about.textContent = run.about;
    about.title = run.command;
    replace(notes, ...run.notes.map((text) => make("p", { text })));
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", i === state.place));
  });
  const choose = tabs.length > 1 ? make("nav", { class: "segments", "aria-label": "runs" }, ...tabs) : null;
  return make("header", { class: "top" }, make("div", {}, title, about), choose, notes);
}

function main() {
  readPermalink();
  const page = document.getElementById("page");
  const center = make("div", { class: "center" }, tools(), stage(), grid(), gallery());
  page.append(
    header(),
    make("div", { class: "bench" }, center, controls()),
    ...(content.runs.length > 1 ? [compare()] : []),
    exchange(),
    make("div", { class: "columns" }, codeMap(), neighbours()),
    make("div", { class: "columns" }, heat(), scores()),
  );
  document.body.append(tip.element);
  state.tell("run", "start", "code", "view");
  window.addEventListener("hashchange", () => {
    readPermalink();
    state.tell("run", "start", "code", "view");
  });
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

main();
