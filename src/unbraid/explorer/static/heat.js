/* What each latent knows of each factor; a cell shows its codes against the factor's values. */

function heat() {
  const table = make("table", { class: "heat", id: "heat" });
  const plot = make("canvas", { class: "plot", id: "scatter", role: "img" });
  const caption = make("p", { class: "caption" });
  let chosen = null;

  function build() {
    const { run } = state;
    panel.hidden = !run.heat;
    if (!run.heat) return;
    const order = run.heat.rows
      .map((row, i) => ({ ...row, carried: Math.max(...latentsOf(row.name).map((latent) => latent.carried)), i }))
      .sort((a, b) => b.carried - a.carried)
      .slice(0, 14);
    const names = run.heat.factors.map((name) => make("th", { scope: "col", text: soft(name) }));
    const head = make("tr", {}, make("th", {}), ...names);
    replace(table, make("thead", {}, head), make("tbody", {}, ...order.map(line)));
    const [row] = order;
    pick(row, row.share.indexOf(Math.max(...row.share)));
  }

  const latentsOf = (name) => state.run.latents.filter((latent) => latent.part === name);

  function line(row) {
    const cells = row.share.map((share, k) => {
      const cell = make("td", { text: share >= 0.005 ? Math.round(100 * share) : "" });
      cell.style.setProperty("--share", Math.min(1, share));
      cell.dataset.cell = `${row.name} ${k}`;
      cell.classList.toggle("dark", share > 0.55);
      cell.addEventListener("mouseenter", () => pick(row, k));
      cell.addEventListener("click", () => pick(row, k));
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row", text: row.name }), ...cells);
  }

  function pick(row, k) {
    chosen = { row, k };
    table.querySelector(".chosen")?.classList.remove("chosen");
    table.querySelector(`td[data-cell="${row.name} ${k}"]`).classList.add("chosen");
    const name = state.run.heat.factors[k];
    caption.textContent = `${row.name} knows ${percent(row.share[k])} of ${name}: ${short(row.nats[k])} nats`;
    draw();
  }

  /** The strongest latent of the row against the factor, each image a point; of many alike, beside each other. */
  function draw() {
    if (!chosen || !plot.clientWidth) return;
    const { run } = state;
    const factor = content.factors[run.heat.places[chosen.k]];
    const latent = latentsOf(chosen.row.name).sort((a, b) => b.carried - a.carried)[0];
    const [width, height] = [plot.clientWidth, 230];
    const context = sharp(plot, width, height);
    const colors = colorsOf(factor);
    const { known, least, most } = colors;
    const beside = known.length <= 20;
    const slot = (width - 70) / Math.max(1, known.length);
    const across = (value, i) => {
      if (!beside) return ((value - least) / (most - least)) * (width - 70);
      return (known.indexOf(value) + 0.5 + (((i * 0.618) % 1) - 0.5) * Math.min(0.7, 40 / slot)) * slot;
    };
    context.globalAlpha = 0.7;
    factor.values.forEach((value, i) => {
      if (value === null) return;
      const fallen = (latent.high - run.values[i * run.width + latent.column]) / (latent.high - latent.low);
      dot(context, 50 + across(value, i), 12 + fallen * (height - 48), 2.6, colors.of(value));
    });
    context.globalAlpha = 1;
    context.fillStyle = themed("--muted");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillText(factor.name, 50 + (width - 70) / 2, height - 4);
    context.save();
    context.translate(12, height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(latent.name, 0, 0);
    context.restore();
    context.textAlign = "right";
    for (const value of [latent.low, latent.high]) {
      context.fillText(short(value), 44, value === latent.low ? height - 36 : 18);
    }
    plot.dataset.shows = `${latent.name} ${factor.name}`;
  }

  redrawn(plot, draw);
  state.listen((changed) => changed.has("run") && build());
  const note =
    "Mutual information of latents (rows, the strongest first) and factors, in per cent of the factor's entropy.";
  const panel = section("What each latent knows", note, make("div", { class: "wide" }, table), caption, plot);
  return panel;
}
