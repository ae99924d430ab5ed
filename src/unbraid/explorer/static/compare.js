/* Several runs side by side: the same image, and the same factor, through each. */

const STOPS = 7;

function compare() {
  const cards = make("div", { class: "cards", id: "compare" });
  const choices = make("div", { class: "choices" });
  const factors = [...new Set(content.runs.flatMap((run) => run.heat?.factors ?? []))];
  let subject = null;

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
    const values = content.factors.find(({ name }) => name === subject)?.values ?? [];
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const code = (i) => run.values[i * run.width + latent.column];
    return values.reduce((sum, value, i) => sum + (value === null ? 0 : (value - mean) * code(i)), 0) < 0;
  }

  function card(run, place) {
    const { latent, share } = best(run);
    const backwards = falls(run, latent);
    const base = state.bases[place];
    const sweep = Array.from({ length: STOPS }, (_, i) => {
      const code = base.slice();
      const part = (backwards ? STOPS - 1 - i : i) / (STOPS - 1);
      code[latent.column] = latent.low + (latent.high - latent.low) * part;
      return decoded(place, code, `compare ${place} ${i}`);
    });
    const rebuilt = decoded(place, base, `compare ${place} reconstruction`);
    const open = button(runTitle(run), () => state.show(place), "move this run's latents");
    open.setAttribute("aria-pressed", place === state.place);
    const knows = share === null ? latent.name : `${latent.name} knows ${percent(share)} of ${subject}`;
    const name = make("div", { class: "name" }, open, make("span", { class: "note", text: knows }));
    const cells = make("div", { class: "cells" }, shownStart(), ...(run.decodes ? [rebuilt, ...sweep] : []));
    return make("div", { class: "card" }, name, cells);
  }

  function draw() {
    model.forget("compare");
    if (factors.length) {
      const factor = keptChoice(
        "factor",
        "factor",
        factors.map((name) => [name, name]),
      );
      subject = factor.value;
      replace(choices, factor.element);
    }
    replace(cards, ...content.runs.map(card));
  }

  state.listen((changed) => (changed.has("start") || changed.has("options")) && draw());
  const note = "The start, its reconstruction by each run, and a sweep of the latent that knows the factor best.";
  return section("Side by side", note, choices, cards);
}

/** The run's method, with its directory where methods are the same. */
function runTitle(run) {
  const alone = content.runs.filter((other) => other.method === run.method).length === 1;
  return alone ? run.method : run.name;
}
