/* Scores with their intervals and what chance would give. */

function scores() {
  const list = make("div", { class: "scores", id: "scores" });

  function line(score) {
    const known = [score.value, score.low, score.high, score.null].filter((value) => value !== null);
    const [least, most] = [Math.min(0, ...known), Math.max(1, ...known)];
    const at = (value) => (100 * (value - least)) / (most - least);
    const track = make("span", { class: "track" });
    const mark = (kind, from, to = from) => {
      const element = make("i", { class: kind });
      element.style.left = `${at(from)}%`;
      element.style.width = kind === "interval" ? `${at(to) - at(from)}%` : null;
      track.append(element);
    };
    if (score.null !== null) mark("chance", score.null);
    if (score.low !== null && score.high !== null) mark("interval", score.low, score.high);
    if (score.value !== null) mark("value", score.value);
    const interval = score.low !== null ? `${short(score.low)} to ${short(score.high)}` : "";
    const chance = score.null !== null ? `chance ${short(score.null)}` : "";
    return make(
      "div",
      { class: "score", title: [score.meaning, ...score.warnings].filter(Boolean).join("\n") },
      make("span", { class: "name", text: soft(score.name) }),
      make("b", { text: score.value === null ? "–" : short(score.value) }),
      track,
      make("span", { class: "note", text: [interval, chance].filter(Boolean).join(" · ") }),
    );
  }

  state.listen((changed) => {
    if (!changed.has("run")) return;
    panel.hidden = !state.run.scores.length;
    replace(list, ...state.run.scores.map(line));
  });
  const panel = section(
    "Scores",
    "A dot for the value, a bar for its 95 % interval, a line for what shuffled codes would get.",
    list,
  );
  return panel;
}
