/* Several runs side by side: the same image, and the same factor, through each. */

const STOPS = 7;

function compare() {
  const cards = make("div", { class: "cards", id: "compare" });
  const choices = make("div", { class: "choices" });
  const factors = [...new Set(content.runs.flatMap((run) => run.heat?.factors ?? []))];
  let subject = factors.includes(state.options.factor) ? state.options.factor : factors[0];

  /** The latent that knows the factor best; without factors the strongest. */
  function best(run) {
    const k = run.heat ? run.heat.factors.indexOf(subject) : -1;
    if (k < 0) return { latent: activeLatents(run)[0], share: null };
    const row = run.heat.rows.reduce((a, b) => (b.share[k] > a.share[k] ? b : a));
    const latents = run.latents.filter((latent) => latent.part === row.name);
    return { latent: latents.reduce((a, b) => (b.carried > a.carried ? b : a)), share: row.share[k] };
  }

  /** Whether the latent falls as the factor grows, so that runs move the same way. */
  function falls(run, latent) {
    const factor = content.factors.find(({ name }) => name === subject);
    if (!factor) return false;
    const pairs = factor.values
      .map((value, i) => [value, run.values[i * run.width + latent.column]])
      .filter(([value]) => value !== null);
    const mean = (place) => pairs.reduce((sum, pair) => sum + pair[place], 0) / pairs.length;
    const [middle, center] = [mean(0), mean(1)];
    return pairs.reduce((sum, [value, code]) => sum + (value - middle) * (code - center), 0) < 0;
  }

  function card(run, place) {
    const { latent, share } = best(run);
    const backwards = falls(run, latent);
    const cells = Array.from({ length: STOPS }, (_, i) => {
      const canvas = picture(`${run.name}, ${latent.name}, ${i}`);
      const code = state.bases[place].slice();
      const part = (backwards ? STOPS - 1 - i : i) / (STOPS - 1);
      code[latent.column] = latent.low + (latent.high - latent.low) * part;
      if (run.decodes)
        model.decode(place, code, `compare ${place} ${i}`).then((values) => values && paint(canvas, values));
      return canvas;
    });
    const rebuilt = picture(`${run.name}, reconstruction`);
    if (run.decodes)
      model.decode(place, state.bases[place], `compare ${place}`).then((values) => values && paint(rebuilt, values));
    const open = button(runTitle(run), () => state.show(place), "move this run's latents");
    open.setAttribute("aria-pressed", place === state.place);
    const knows = share === null ? latent.name : `${latent.name} knows ${percent(share)} of ${subject}`;
    return make(
      "div",
      { class: "card" },
      make("div", { class: "name" }, open, make("span", { class: "note", text: knows })),
      make("div", { class: "cells" }, shownStart(), run.decodes ? rebuilt : null, ...(run.decodes ? cells : [])),
    );
  }

  function draw() {
    model.forget("compare");
    replace(cards, ...content.runs.map(card));
  }

  const pick = (value) => {
    subject = value;
    state.choose("factor", value);
    draw();
  };
  if (factors.length)
    choices.append(
      choice(
        "factor",
        factors.map((name) => [name, name]),
        subject,
        pick,
      ),
    );
  state.listen((changed) => (changed.has("start") || changed.has("run")) && draw());
  const note = "The start, its reconstruction by each run, and a sweep of the latent that knows the factor best.";
  return section("Side by side", note, choices, cards);
}

/** The run's method, with its directory where methods are the same. */
function runTitle(run) {
  const alone = content.runs.filter((other) => other.method === run.method).length === 1;
  return alone ? run.method : run.name;
}
