/* Parts of two codes, exchanged: blocks, features of several dimensions, or single latents. */

const MOST = 10; // parts that are exchanged
let exchangeWith = () => {};

function exchange() {
  const table = make("div", { class: "exchange", id: "exchange" });
  const other = make("button", { type: "button", title: `another ${sampled}` });
  let index = Math.min(1, content.count - 1);

  /** What is exchanged: the finest parts that there are, or the strongest latents of an undivided code. */
  function exchanged(run) {
    const blocks = run.parts.filter((part) => part.whole);
    const features = run.parts.filter((part) => !part.whole);
    if (features.length) return [...(blocks.length > 1 ? blocks : []), ...features].slice(0, MOST);
    if (blocks.length > 1) return blocks;
    return activeLatents(run)
      .slice(0, MOST)
      .map((latent) => ({ name: latent.name, columns: [latent.column], text: title(run, latent) }));
  }

  /** Pairs of codes with what they are: both as they are, with each part exchanged, and with blocks at 0. */
  function columns(run, ours, theirs) {
    const mixed = (into, from, places) => into.map((value, i) => (places.includes(i) ? from[i] : value));
    const zero = new Float32Array(run.width);
    const parts = exchanged(run);
    const blocks = run.parts.filter((part) => part.whole);
    const found = [
      { head: blocks.length > 1 ? `[${blocks.map(({ name }) => name).join(", ")}]` : "drawn", codes: [ours, theirs] },
    ];
    for (const part of blocks.length > 1 ? blocks : []) {
      const head = `[${blocks.map(({ name }) => (name === part.name ? "0" : name)).join(", ")}]`;
      found.push({ head, codes: [ours, theirs].map((code) => mixed(code, zero, part.columns)) });
    }
    for (const part of parts) {
      const codes = [mixed(ours, theirs, part.columns), mixed(theirs, ours, part.columns)];
      found.push({ head: `${part.text ?? part.name} exchanged`, codes });
    }
    return found;
  }

  function draw() {
    model.forget("exchange");
    if (panel.hidden) return;
    const { run, place } = state;
    const theirs = codeOf(run, index);
    replace(other, thumb(index));
    const cell = (code, key) => {
      const canvas = decoded(place, code, `exchange ${key}`);
      canvas.title = "take this code";
      canvas.addEventListener("click", () => state.setCode(code));
      return canvas;
    };
    const first = make("div", { class: "column" }, make("span", { text: sampled }), shownStart(), other);
    const rest = columns(run, state.code, theirs).map(({ head, codes }) =>
      make(
        "div",
        { class: "column", "data-head": head },
        make("span", { text: soft(head) }),
        ...codes.map((code, i) => cell(code, `${head} ${i}`)),
      ),
    );
    replace(table, first, ...rest);
  }

  exchangeWith = (chosen) => {
    index = chosen;
    draw();
  };
  other.addEventListener("click", () => exchangeWith((index + 1) % content.count));
  let timer = 0;
  state.listen((changed) => {
    panel.hidden = !state.run.decodes || content.count < 2;
    if (!changed.has("code")) return;
    clearTimeout(timer);
    timer = setTimeout(draw, 120);
  });
  const note =
    `The present code, and that of a second ${sampled}, with one part taken from the other. ` +
    `Click the second ${sampled} for another one, or hold Shift and click on the map.`;
  const panel = section("Exchange", note, table);
  return panel;
}
