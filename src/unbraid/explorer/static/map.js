/* The codes of the sample on a plane. */

const KINDS = "#3b6fd4 #e0803a #3d9a68 #c94f5d #8a63c9 #8c6d55 #d477b0 #7a8590 #b5a426 #35a7b5 #5b8c2a #a33d8f".split(
  " ",
);
const RAMP = "#443b84 #30678e #21918c #53c569 #f0dc3c".split(" ");

/** The known values of a factor, and the colour of each: one of its own for up to twelve, else a place on a ramp. */
function colorsOf(factor) {
  const known = [...new Set(factor.values.filter((value) => value !== null))].sort((a, b) => a - b);
  const [least, most] = [known[0], known[known.length - 1]];
  const unknown = themed("--faint");
  const kinds = known.length <= KINDS.length && known.every(Number.isInteger);
  const ramp = (value) => {
    const place = ((value - least) / (most - least)) * (RAMP.length - 1);
    return `color-mix(in srgb, ${RAMP[Math.ceil(place)]} ${100 * (place % 1)}%, ${RAMP[Math.floor(place)]})`;
  };
  const colors = new Map(known.map((value, i) => [value, kinds ? KINDS[i] : ramp(value)]));
  return { known, kinds, least, most, of: (value) => colors.get(value) ?? unknown };
}

/** A filled circle. */
function dot(context, x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

function codeMap() {
  const canvas = make("canvas", { class: "map", id: "map", role: "img", "aria-label": "map of the codes" });
  const choices = make("div", { class: "choices" });
  const legend = make("div", { class: "legend" });
  let points = [];
  let project = null; // a code to the plane, where that is possible
  let factor = null;

  function build() {
    const { run } = state;
    const planes = run.planes.flatMap(({ part, tsne }) => [
      ...(tsne ? [[`tsne ${part}`, `t-SNE of ${part}`]] : []),
      [`pca ${part}`, `PCA of ${part}`],
    ]);
    const plane = keptChoice("plane", "plane", [...planes, ["two", "two latents"]]);
    const two = plane.value === "two" ? [latentChoice("x", 0), latentChoice("y", 1)] : [];
    const names = content.factors.map(({ name }) => [name, name]);
    const known = run.heat?.factors[activeLatents(run)[0].factor];
    const color = names.length ? keptChoice("colour", "color", names, known) : null;
    replace(choices, plane.element, ...two.map((each) => each.element), color?.element);
    place(run, plane.value, ...two.map((each) => each.latent.column));
    factor = content.factors.find(({ name }) => name === color?.value) ?? null;
    replace(legend, ...(factor ? legendOf(factor) : []));
  }

  function place(run, plane, x, y) {
    const [kind, part] = plane.split(" ");
    const { axes, mean, tsne } = run.planes.find((each) => each.part === part) ?? {};
    const columns = run.parts.find((each) => each.name === part)?.columns;
    const along = (code) => (axis) => axis.reduce((sum, a, i) => sum + a * (code[columns[i]] - mean[i]), 0);
    project = { two: (code) => [code[x], code[y]], pca: (code) => axes.map(along(code)), tsne: null }[kind];
    const flat = project ? null : numbersOf(tsne);
    const images = Array.from({ length: content.count }, (_, i) => i);
    points = images.map((i) => (project ? project(codeOf(run, i)) : [flat[2 * i], flat[2 * i + 1]]));
  }

  /** From the plane to the canvas. */
  function scaled() {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const span = (axis) => {
      const values = points.map((point) => point[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low, high - low || 1];
    };
    const [[left, across], [bottom, up]] = [span(0), span(1)];
    return ([x, y]) => [16 + ((x - left) / across) * (width - 32), height - 16 - ((y - bottom) / up) * (height - 32)];
  }

  function draw() {
    if (!canvas.clientWidth) return;
    const context = sharp(canvas, canvas.clientWidth, Math.min(440, Math.max(280, canvas.clientWidth * 0.7)));
    const to = scaled();
    const colors = factor ? colorsOf(factor) : null;
    const [plain, ink] = [themed("--accent"), themed("--ink")];
    const radius = content.count > 150 ? 3.2 : 4.5;
    context.globalAlpha = 0.85;
    points.forEach((point, i) => dot(context, ...to(point), radius, colors ? colors.of(factor.values[i]) : plain));
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.strokeStyle = ink;
    const ring = (point, size) => {
      context.beginPath();
      context.arc(...to(point), size, 0, 7);
      context.stroke();
    };
    if (state.start !== null) ring(points[state.start], 8);
    if (project) ring(project(state.code), 4);
    canvas.place = (index) => to(points[index]);
  }

  /** The image whose point is nearest to the pointer, if one is near. */
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const to = scaled();
    const away = points.map((point) => {
      const [x, y] = to(point);
      return Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top);
    });
    const least = Math.min(...away);
    return least < 18 ? away.indexOf(least) : null;
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
  redrawn(canvas, draw);
  state.listen((changed) => {
    if (changed.has("run") || changed.has("options")) build();
    draw();
  });
  const note = `Each point is one ${sampled} of the sample. Point at one to see it, click to start from it.`;
  return section("Map", note, choices, canvas, legend);
}

function legendOf(factor) {
  const colors = colorsOf(factor);
  const swatch = (background, kind) => {
    const mark = make("i", { class: kind });
    mark.style.background = background;
    return mark;
  };
  if (colors.kinds) {
    return colors.known.map((value) => make("span", {}, swatch(colors.of(value)), valueName(factor, value)));
  }
  const ramp = swatch(`linear-gradient(to right, ${RAMP.join(", ")})`, "ramp");
  return [make("span", {}, valueName(factor, colors.least), ramp, valueName(factor, colors.most))];
}
