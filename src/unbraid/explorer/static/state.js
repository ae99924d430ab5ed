/* What the page shows: the run, the image that it starts from, the code that has been made of it; and its permalink. */

const content = JSON.parse(document.getElementById("content").textContent);
for (const run of content.runs) {
  run.width = run.latents.length;
  run.values = numbersOf(run.codes);
  run.decodes = Boolean(run.networks.decoder);
  run.encodes = Boolean(run.networks.encoder);
  run.draws = run.decodes || Boolean(run.frames);
}
const sampled = content.features ? "row" : "image"; // what the sample consists of
const model = new Model(content.runs);
const OFFERED = 40; // latents that choices offer

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

  /** Calls back with what has changed: "start", "code", "run", "view" or "options". */
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
};

/** A latent's name with the factor that it knows best. */
function title(run, latent) {
  return run.heat && latent.factor !== null ? `${latent.name} · ${run.heat.factors[latent.factor]}` : latent.name;
}

/** A choice that the address keeps; the first option is chosen unless another is, or `usual` is among them. */
function keptChoice(label, name, options, usual) {
  const values = options.flatMap((each) => (Array.isArray(each) ? [each] : each.options)).map(([value]) => value);
  const value = [state.options[name], usual, values[0]].find((each) => values.includes(each));
  const element = choice(label, options, value, (picked) => {
    state.options[name] = picked;
    state.tell("options");
    document.querySelector(`select[aria-label="${label}"]`)?.focus();
  });
  return { value, element };
}

/** A choice among the strongest latents, of which the one at this place is usual. */
function latentChoice(name, place) {
  const latents = activeLatents(state.run).slice(0, OFFERED);
  const options = latents.map((latent) => [latent.name, title(state.run, latent)]);
  const { value, element } = keptChoice(name, name, options, latents[place]?.name);
  return { latent: latents.find((latent) => latent.name === value), element };
}

/** A picture of what a run decodes a code to. */
function decoded(place, code, key) {
  const canvas = picture(key);
  if (content.runs[place].decodes) model.decode(place, code, key).then((values) => values && paint(canvas, values));
  return canvas;
}

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
