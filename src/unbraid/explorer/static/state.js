/* What the page shows: the run, the image that it starts from, the code that has been made of it; and its permalink. */

const content = JSON.parse(document.getElementById("content").textContent);
for (const run of content.runs) {
  run.width = run.latents.length;
  run.values = numbersOf(run.codes);
  run.decodes = Boolean(run.networks.decoder);
  run.encodes = Boolean(run.networks.encoder);
  run.draws = run.decodes || Boolean(run.frames);
}
const model = new Model(content.runs);

/** The code of an image of the sample. */
const codeOf = (run, index) => run.values.slice(index * run.width, (index + 1) * run.width);

/** Latents that carry something, or all where none does, the strongest first. */
function activeLatents(run) {
  const alive = run.latents.filter((latent) => latent.active);
  return (alive.length ? alive : [...run.latents]).sort((a, b) => b.carried - a.carried);
}

const state = {
  place: 0, // of the run among the runs
  start: 0, // the image of the sample, or null for one of the user's
  own: null, // its values
  bases: content.runs.map((run) => codeOf(run, 0)), // the code of the start, in each run
  codes: content.runs.map((run) => codeOf(run, 0)), // what has been made of it
  focus: null, // the column of the latent that was moved last
  view: "picture", // or "grid"
  options: {}, // choices of the panels, by name
  listeners: [],

  get run() {
    return content.runs[this.place];
  },
  get base() {
    return this.bases[this.place];
  },
  get code() {
    return this.codes[this.place];
  },

  /** Calls back with what has changed: "start", "code", "run" or "view". */
  listen(listener) {
    this.listeners.push(listener);
  },
  tell(...changed) {
    for (const listener of this.listeners) listener(new Set(changed));
    keepPermalink();
  },

  /** Starts from an image of the sample. */
  begin(index) {
    this.start = index;
    this.own = null;
    this.bases = content.runs.map((run) => codeOf(run, index));
    this.codes = this.bases.map((base) => base.slice());
    this.tell("start", "code");
  },

  /** Starts from values of the user's. */
  async beginOwn(values) {
    const codes = await Promise.all(
      content.runs.map((run, i) => (run.encodes ? model.encode(i, values, `own ${i}`) : codeOf(run, 0))),
    );
    if (codes.some((code) => code === null)) return;
    this.start = null;
    this.own = values;
    this.bases = codes;
    this.codes = codes.map((code) => code.slice());
    this.tell("start", "code");
  },

  set(column, value) {
    this.code[column] = value;
    this.focus = column;
    this.tell("code");
  },

  setCode(code) {
    this.codes[this.place] = Float32Array.from(code);
    this.tell("code");
  },

  reset() {
    this.setCode(this.base);
  },

  show(place) {
    this.place = place;
    this.focus = null;
    this.tell("run", "start", "code");
  },

  look(view) {
    this.view = view;
    this.tell("view");
  },

  choose(name, value) {
    this.options[name] = value;
    keepPermalink();
  },
};

/** The column of the latent to sweep: the one that was moved last, or the strongest. */
const focused = () => state.focus ?? activeLatents(state.run)[0].column;

let permalinkTimer = 0;
function keepPermalink() {
  clearTimeout(permalinkTimer);
  permalinkTimer = setTimeout(() => history.replaceState(null, "", `#${permalink()}`), 150);
}

/** The state as the fragment of an address. */
function permalink() {
  const words = new URLSearchParams();
  if (state.place) words.set("run", state.place);
  if (state.start === null) words.set("code", Array.from(state.base, (value) => value.toFixed(3)).join(" "));
  else words.set("start", state.start);
  state.run.latents.forEach(({ name, column }) => {
    if (state.code[column] !== state.base[column]) words.set(name, state.code[column].toFixed(3));
  });
  if (state.view !== "picture") words.set("view", state.view);
  for (const [name, value] of Object.entries(state.options)) words.set(`_${name}`, value);
  return words.toString();
}

/** Takes the state from the address; what does not fit this page is left out. */
function readPermalink() {
  const words = new URLSearchParams(location.hash.slice(1));
  const whole = (text, count) => (/^\d+$/.test(text ?? "") && Number(text) < count ? Number(text) : 0);
  state.place = whole(words.get("run"), content.runs.length);
  state.start = whole(words.get("start"), content.count);
  state.bases = content.runs.map((run) => codeOf(run, state.start));
  const given = (words.get("code") ?? "").split(" ").map(Number);
  if (words.has("code") && given.length === state.run.width && given.every(Number.isFinite)) {
    state.start = null;
    state.bases[state.place] = Float32Array.from(given);
  }
  state.codes = state.bases.map((base) => base.slice());
  for (const { name, column } of state.run.latents) {
    const value = Number.parseFloat(words.get(name));
    if (Number.isFinite(value)) state.code[column] = value;
  }
  state.view = words.get("view") === "grid" ? "grid" : "picture";
  for (const [name, value] of words) if (name.startsWith("_")) state.options[name.slice(1)] = value;
}
