/* The codes of the sample on a plane, and the neighbours of the code in the space of one part of it. */

const KINDS = [
  "#3b6fd4",
  "#e0803a",
  "#3d9a68",
  "#c94f5d",
  "#8a63c9",
  "#8c6d55",
  "#d477b0",
  "#7a8590",
  "#b5a426",
  "#35a7b5",
  "#5b8c2a",
  "#a33d8f",
];
const RAMP = [
  [68, 59, 132],
  [48, 103, 142],
  [33, 145, 140],
  [83, 197, 105],
  [240, 220, 60],
];

/** The colour of each value of a factor: one of their own for up to twelve, else a ramp. */
function colorsOf(factor) {
  const known = [...new Set(factor.values.filter((value) => value !== null))].sort((a, b) => a - b);
  const [least, most] = [known[0], known[known.length - 1]];
  if (known.length <= KINDS.length && known.every(Number.isInteger)) {
    return { known, of: (value) => (value === null ? themed("--faint") : KINDS[known.indexOf(value)]) };
  }
  const of = (value) => {
    if (value === null) return themed("--faint");
    const place = ((value - least) / (most - least)) * (RAMP.length - 1);
    const [from, to] = [RAMP[Math.floor(place)], RAMP[Math.ceil(place)]];
    return `rgb(${from.map((start, i) => Math.round(start + (to[i] - start) * (place % 1))).join(" ")})`;
  };
  return { known: null, least, most, of };
}

function codeMap() {
  const canvas = make("canvas", { class: "map", id: "map", role: "img", "aria-label": "map of the codes" });
  const choices = make("div", { class: "choices" });
  const legend = make("div", { class: "legend" });
  let points = [];
  let project = null; // a code to the plane, where that is possible

  function build() {
    const { run } = state;
    const planes = run.planes.flatMap(({ part, tsne }) => [
      ...(tsne ? [[`tsne ${part}`, `t-SNE of ${part}`]] : []),
      [`pca ${part}`, `PCA of ${part}`],
    ]);
    const options = [...planes, ["two", "two latents"]];
    const known = options.some(([name]) => name === state.options.plane);
    const plane = known ? state.options.plane : options[0][0];
    const latents = activeLatents(run).slice(0, 40);
    const find = (name, other) => latents.find((latent) => latent.name === state.options[name]) ?? other;
    const [x, y] = [find("x", latents[0]), find("y", latents[1] ?? latents[0])];
    const names = latents.map((latent) => [latent.name, title(run, latent)]);
    const color = content.factors.some((factor) => factor.name === state.options.color)
      ? state.options.color
      : bestColor();
    const pick = (name) => (value) => {
      state.choose(name, value);
      build();
      draw();
    };
    replace(
      choices,
      choice("plane", options, plane, pick("plane")),
      plane === "two" ? choice("x", names, x.name, pick("x")) : null,
      plane === "two" ? choice("y", names, y.name, pick("y")) : null,
      content.factors.length
        ? choice(
            "colour",
            content.factors.map(({ name }) => [name, name]),
            color,
            pick("color"),
          )
        : null,
    );
    place(run, plane, x, y);
    canvas.factor = content.factors.find((factor) => factor.name === color);
    canvas.colors = canvas.factor && colorsOf(canvas.factor);
    drawLegend();
  }

  const bestColor = () =>
    (
      content.factors.find(({ name }) => name === state.run.heat?.factors[activeLatents(state.run)[0].factor]) ??
      content.factors[0]
    )?.name;

  function place(run, plane, x, y) {
    const [kind, part] = plane.split(" ");
    const found = run.planes.find((each) => each.part === part);
    const columns = run.parts.find((each) => each.name === part)?.columns;
    if (kind === "two") project = (code) => [code[x.column], code[y.column]];
    else if (kind === "pca")
      project = (code) =>
        found.axes.map((axis) => axis.reduce((sum, a, i) => sum + a * (code[columns[i]] - found.mean[i]), 0));
    else project = null;
    const flat = project ? null : numbersOf(found.tsne);
    points = Array.from({ length: content.count }, (_, i) =>
      project ? project(codeOf(run, i)) : [flat[2 * i], flat[2 * i + 1]],
    );
  }

  function drawLegend() {
    const { factor, colors } = canvas;
    if (!factor) return replace(legend);
    const dot = (value) => {
      const mark = make("i", {});
      mark.style.background = colors.of(value);
      return make("span", {}, mark, valueName(factor, value));
    };
    if (colors.known) return replace(legend, ...colors.known.map(dot));
    const ramp = make("i", { class: "ramp" });
    ramp.style.background = `linear-gradient(to right, ${RAMP.map((c) => `rgb(${c.join(" ")})`).join(", ")})`;
    return replace(legend, make("span", {}, valueName(factor, colors.least), ramp, valueName(factor, colors.most)));
  }

  function scaled() {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight || 380];
    const span = (axis) => {
      const values = points.map((point) => point[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low, high - low || 1];
    };
    const [[left, across], [top, down]] = [span(0), span(1)];
    return ([x, y]) => [16 + ((x - left) / across) * (width - 32), height - 16 - ((y - top) / down) * (height - 32)];
  }

  function draw() {
    if (!canvas.clientWidth) return;
    const context = sharp(canvas, canvas.clientWidth, Math.min(440, Math.max(280, canvas.clientWidth * 0.7)));
    const to = scaled();
    context.globalAlpha = 0.85;
    points.forEach((point, i) => {
      const [x, y] = to(point);
      context.fillStyle = canvas.factor ? canvas.colors.of(canvas.factor.values[i]) : themed("--accent");
      context.beginPath();
      context.arc(x, y, content.count > 150 ? 3.2 : 4.5, 0, 7);
      context.fill();
    });
    context.globalAlpha = 1;
    const ring = (point, radius) => {
      context.strokeStyle = themed("--ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(...to(point), radius, 0, 7);
      context.stroke();
    };
    if (state.start !== null) ring(points[state.start], 8);
    if (project) ring(project(state.code), 4);
    canvas.place = (index) => to(points[index]);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const to = scaled();
    let [best, least] = [null, 18 ** 2];
    points.forEach((point, i) => {
      const [x, y] = to(point);
      const distance = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  canvas.addEventListener("mousemove", (event) => {
    const index = under(event);
    canvas.style.cursor = index === null ? "default" : "pointer";
    if (index === null) tip.hide();
    else tip.show(event, thumb(index), make("b", { text: content.names[index] }), facts(index));
  });
  canvas.addEventListener("mouseleave", () => tip.hide());
  canvas.addEventListener("click", (event) => {
    const index = under(event);
    if (index === null) return;
    if (event.shiftKey) exchangeWith(index);
    else state.begin(index);
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  state.listen((changed) => {
    if (changed.has("run")) build();
    draw();
  });
  return section(
    "Map",
    "Each point is an image of the sample. Point at one to see it, click to start from it.",
    choices,
    canvas,
    legend,
  );
}

const NEIGHBOURS = 12;

function neighbours() {
  const choices = make("div", { class: "choices" });
  const found = make("div", { class: "neighbours", id: "neighbours" });
  let columns = [];

  function build() {
    const { run } = state;
    const latents = activeLatents(run).slice(0, 40);
    const spaces = [...run.parts, ...latents.map((latent) => ({ name: latent.name, columns: [latent.column] }))];
    const chosen = spaces.find((space) => space.name === state.options.space) ?? spaces[0];
    columns = chosen.columns;
    const option = (name, text) => [name, text];
    const groups = [
      { group: "parts", options: run.parts.map(({ name, whole }) => option(name, whole ? `all of ${name}` : name)) },
      { group: "latents", options: latents.map((latent) => option(latent.name, title(run, latent))) },
    ];
    const pick = (value) => {
      state.choose("space", value);
      build();
      draw();
    };
    replace(choices, choice("alike in", groups, chosen.name, pick));
  }

  function draw() {
    const { run, code } = state;
    const distances = Array.from({ length: content.count }, (_, i) => {
      const first = i * run.width;
      return [columns.reduce((sum, column) => sum + (run.values[first + column] - code[column]) ** 2, 0), i];
    });
    distances.sort((a, b) => a[0] - b[0]);
    const nearest = distances.filter(([, i]) => i !== state.start).slice(0, NEIGHBOURS);
    replace(
      found,
      ...nearest.map(([distance, i]) => {
        const each = make("button", { type: "button", "data-index": i, onclick: () => state.begin(i) }, thumb(i));
        each.title = `${content.names[i]}, at a distance of ${short(Math.sqrt(distance))}`;
        return each;
      }),
    );
  }

  state.listen((changed) => {
    if (changed.has("run")) build();
    if (changed.has("code") || changed.has("run")) draw();
  });
  return section(
    "Neighbours",
    "Images whose codes lie nearest to the present one, in one part of the code alone.",
    choices,
    found,
  );
}
