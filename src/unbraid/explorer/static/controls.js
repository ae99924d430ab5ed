/* A slider for each latent, the strongest first, and the keys. */

const FIRST = 12; // sliders that are shown before the others are asked for
const STEPS = 40; // strokes of an arrow key from end to end

function controls() {
  const list = make("div", { class: "sliders" });
  const heading = make("h2", { text: "Latents" });
  let rows = [];
  let all = false;

  function build() {
    const { run } = state;
    sweep.stop();
    const latents = all ? [...run.latents].sort((a, b) => b.carried - a.carried) : activeLatents(run);
    const several = run.blocks.length > 1;
    const most = all ? run.width : Math.ceil(FIRST / run.blocks.length);
    rows = [];
    const groups = run.blocks.map((block) => {
      const strongest = latents.filter((latent) => latent.block === block.name).slice(0, most);
      const own = strongest.map((latent) => slider(run, latent));
      rows.push(...own);
      if (!own.length) return null;
      const title = make("h3", {}, block.name, make("span", { text: block.role }));
      return make("div", { class: "group" }, several ? title : null, ...own.map((row) => row.element));
    });
    const rest = run.width - rows.length;
    const more = button(all ? "Show fewer" : `Show ${rest} more`, () => {
      all = !all;
      build();
      move();
    });
    replace(list, ...groups, rest || all ? more : null);
  }

  function move() {
    for (const row of rows) row.move();
  }

  state.listen((changed) => {
    if (changed.has("run")) {
      all = false;
      build();
    }
    if (changed.has("run") || changed.has("code") || changed.has("start")) move();
  });
  document.addEventListener("keydown", (event) => keys(event, rows));
  const reset = button("Reset", () => state.reset(), "all latents as the start has them (R)");
  const panel = make("div", { class: "controls" }, make("div", { class: "head" }, heading, reset), list, keysHelp());
  state.listen(() => (panel.hidden = !state.run.draws));
  return panel;
}

/** One latent: its name, what it carries, the factor that it knows best, where codes lie, and its value. */
function slider(run, latent) {
  const factor = run.heat && latent.factor !== null ? run.heat.factors[latent.factor] : null;
  const knows = factor !== null ? `${percent(latent.share)} of ${factor}` : "";
  const input = make("input", {
    type: "range",
    step: "any",
    "aria-label": `${latent.name}${factor !== null ? `, mostly ${factor}` : ""}`,
    "data-column": latent.column,
    oninput: () => {
      sweep.stop();
      state.set(latent.column, Number(input.value));
    },
    ondblclick: () => state.set(latent.column, state.base[latent.column]),
  });
  const value = make("output", {});
  const play = button("▶", () => sweep.toggle(latent.column), "sweep this latent (space)");
  play.className = "play";
  const element = make(
    "div",
    { class: "slider" },
    make(
      "div",
      { class: "label" },
      make("b", { text: latent.name }),
      make("span", {
        class: "knows",
        text: knows,
        title: factor !== null ? `knows ${knows}, more than of others` : null,
      }),
      make("span", { class: "carried", text: `${short(latent.carried)} ${latent.unit}` }),
    ),
    make("div", { class: "rail" }, density(run, latent), input),
    value,
    play,
  );

  function move() {
    const [code, base] = [state.code[latent.column], state.base[latent.column]];
    input.min = Math.min(latent.low, base, code);
    input.max = Math.max(latent.high, base, code);
    input.value = code;
    value.textContent = short(code);
    input.setAttribute("aria-valuetext", short(code));
    element.classList.toggle("moved", code !== base);
    element.classList.toggle("playing", sweep.column === latent.column);
    play.textContent = sweep.column === latent.column ? "❚❚" : "▶";
  }
  return { element, input, latent, move };
}

/** How many codes of the sample lie where, as a hill behind the slider. */
function density(run, latent) {
  const bins = 40;
  const counts = new Array(bins).fill(0);
  for (let i = 0; i < content.count; i++) {
    const share = (run.values[i * run.width + latent.column] - latent.low) / (latent.high - latent.low);
    counts[Math.max(0, Math.min(bins - 1, Math.floor(share * bins)))]++;
  }
  const top = Math.max(...counts);
  const points = counts.map((count, i) => `L${((i + 0.5) * 100) / bins} ${20 - (20 * count) / top}`);
  const hill = make("path", { d: `M0 20 ${points.join(" ")} L100 20Z` });
  return make("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, hill);
}

/** Moves one latent to and fro until it is stopped; then it is where it was. */
const sweep = {
  column: null,
  toggle(column) {
    if (this.column === column) this.stop();
    else this.play(column);
  },
  play(column) {
    this.stop();
    this.column = column;
    const before = state.code[column];
    const { low, high } = state.run.latents[column];
    const began =
      performance.now() - 750 * Math.asin(Math.max(-1, Math.min(1, (2 * (before - low)) / (high - low) - 1)));
    const step = (now) => {
      state.set(column, low + ((high - low) * (1 + Math.sin((now - began) / 750))) / 2);
      this.frame = requestAnimationFrame(step);
    };
    this.end = () => state.set(column, before);
    this.frame = requestAnimationFrame(step);
  },
  stop() {
    if (this.column === null) return;
    cancelAnimationFrame(this.frame);
    this.column = null;
    this.end();
  },
};

function keys(event, rows) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.tagName === "SELECT") return;
  const place = rows.findIndex((row) => row.input === target);
  const anywhere = {
    r: () => state.reset(),
    n: () => state.begin(((state.start ?? -1) + 1) % content.count),
    p: () => state.begin(((state.start ?? 1) - 1 + content.count) % content.count),
    g: () => state.run.decodes && state.look(state.view === "grid" ? "picture" : "grid"),
    Escape: () => sweep.stop(),
  };
  let act = anywhere[key.length === 1 ? key.toLowerCase() : key];
  if (place >= 0) {
    const { latent, input } = rows[place];
    const step = (latent.high - latent.low) / STEPS;
    const by = (distance) =>
      state.set(latent.column, Math.max(+input.min, Math.min(+input.max, state.code[latent.column] + distance)));
    const to = (other) => rows[(other + rows.length) % rows.length].input.focus();
    const here = {
      ArrowLeft: () => by(-step),
      ArrowRight: () => by(step),
      ArrowUp: () => to(place - 1),
      ArrowDown: () => to(place + 1),
      Home: () => state.set(latent.column, latent.low),
      End: () => state.set(latent.column, latent.high),
      Backspace: () => state.set(latent.column, state.base[latent.column]),
      0: () => state.set(latent.column, state.base[latent.column]),
      " ": () => sweep.toggle(latent.column),
    };
    act = here[key] ?? act;
  }
  if (act) {
    event.preventDefault();
    act();
  }
}

function keysHelp() {
  const lines = [
    ["← →", "move the latent"],
    ["↑ ↓", "another latent"],
    ["0, double click", "as the start has it"],
    ["space", "sweep"],
    ["n p", "next, previous image"],
    ["r", "reset all"],
    ["g", "grid of two latents"],
  ];
  const list = lines.flatMap(([key, what]) => [make("dt", { text: key }), make("dd", { text: what })]);
  return make("details", { class: "keys" }, make("summary", { text: "Keys" }), make("dl", {}, ...list));
}
