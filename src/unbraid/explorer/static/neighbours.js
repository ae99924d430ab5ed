/* The images whose codes lie nearest to the present one, in the space of one part of the code. */

const NEIGHBOURS = 12;

function neighbours() {
  const choices = make("div", { class: "choices" });
  const found = make("div", { class: "neighbours", id: "neighbours" });
  let columns = [];
  let shown = "";

  function build() {
    const { run } = state;
    const latents = activeLatents(run).slice(0, OFFERED);
    const spaces = [...run.parts, ...latents.map((latent) => ({ name: latent.name, columns: [latent.column] }))];
    const parts = run.parts.map(({ name, whole }) => [name, whole ? `all of ${name}` : name]);
    const groups = [
      { group: "parts", options: parts },
      { group: "latents", options: latents.map((latent) => [latent.name, title(run, latent)]) },
    ];
    const space = keptChoice("alike in", "space", groups);
    columns = spaces.find(({ name }) => name === space.value).columns;
    replace(choices, space.element);
  }

  function draw() {
    const { run, code } = state;
    const distances = Array.from({ length: content.count }, (_, i) => {
      const first = i * run.width;
      return [columns.reduce((sum, column) => sum + (run.values[first + column] - code[column]) ** 2, 0), i];
    });
    distances.sort((a, b) => a[0] - b[0]);
    const nearest = distances
      .map(([, i]) => i)
      .filter((i) => i !== state.start)
      .slice(0, NEIGHBOURS);
    if (nearest.join() !== shown) replace(found, ...nearest.map(startButton));
    shown = nearest.join();
  }

  state.listen((changed) => {
    if (changed.has("run") || changed.has("options")) build();
    draw();
  });
  const note = `Each ${sampled} whose code is among the nearest to the present one, in one part of the code alone.`;
  return section("Neighbours", note, choices, found);
}
