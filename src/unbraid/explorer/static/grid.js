/* Two latents at once: a grid of pictures; and what can be saved. */

const SIDE = 7;

function grid() {
  const canvas = make("canvas", { class: "picture", id: "grid", role: "img", "aria-label": "grid of two latents" });
  const choices = make("div", { class: "choices" });
  const box = make("div", { class: "gridbox", hidden: true }, canvas, choices);
  let axes = [];

  function build() {
    const latents = activeLatents(state.run);
    const find = (name, other) => latents.find((latent) => latent.name === state.options[name]) ?? other;
    axes = [find("across", latents[0]), find("down", latents[1] ?? latents[0])];
    const options = latents.map((latent) => [latent.name, title(state.run, latent)]);
    const pick = (name) => (value) => {
      state.choose(name, value);
      build();
      draw();
    };
    replace(
      choices,
      choice("across", options, axes[0].name, pick("across")),
      choice("down", options, axes[1].name, pick("down")),
    );
  }

  const value = (axis, place) => axis.low + ((axis.high - axis.low) * place) / (SIDE - 1);

  function codeAt(row, column) {
    const code = state.code.slice();
    code[axes[1].column] = value(axes[1], row);
    code[axes[0].column] = value(axes[0], column);
    return code;
  }

  async function draw() {
    box.hidden = state.view !== "grid" || !state.run.decodes;
    document.body.classList.toggle("grid", !box.hidden);
    model.forget("grid");
    if (box.hidden) return;
    const [height, width] = pictureSize();
    Object.assign(canvas, { width: SIDE * width, height: SIDE * height });
    const cells = Array.from({ length: SIDE * SIDE }, (_, i) => i);
    await Promise.all(
      cells.map(async (i) => {
        const [row, column] = [Math.floor(i / SIDE), i % SIDE];
        const values = await model.decode(state.place, codeAt(row, column), `grid ${i}`);
        if (values) canvas.getContext("2d").putImageData(pixels(values), column * width, row * height);
      }),
    );
    canvas.dataset.drawn = Number(canvas.dataset.drawn ?? 0) + 1;
  }

  canvas.addEventListener("click", (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const at = (distance, size) => Math.min(SIDE - 1, Math.floor((SIDE * distance) / size));
    state.setCode(codeAt(at(event.clientY - top, height), at(event.clientX - left, width)));
  });
  state.listen((changed) => {
    if (changed.has("run")) build();
    draw();
  });
  return box;
}

/** A latent's name with the factor that it knows best. */
function title(run, latent) {
  return run.heat && latent.factor !== null ? `${latent.name} · ${run.heat.factors[latent.factor]}` : latent.name;
}

function tools() {
  const look = (view) => () => state.look(view);
  const views = [button("Picture", look("picture")), button("Grid of two", look("grid"), "two latents at once (G)")];
  const animation = button("Save GIF", saveGif, "the sweep of the latent that was moved last");
  const still = button("Save PNG", savePng);
  const link = button(
    "Copy link",
    async () => {
      await navigator.clipboard.writeText(`${location.href.split("#")[0]}#${permalink()}`);
      link.textContent = "Copied";
      setTimeout(() => (link.textContent = "Copy link"), 1500);
    },
    "a link to what the page shows now",
  );
  const segments = make("div", { class: "segments" }, ...views);
  state.listen(() => {
    views.forEach((view, i) => view.setAttribute("aria-pressed", (state.view === "grid") === (i === 1)));
    segments.hidden = !state.run.decodes;
    animation.hidden = !state.run.decodes;
    still.hidden = !state.run.decodes;
  });
  return make("div", { class: "tools" }, segments, make("div", { class: "buttons" }, still, animation, link));
}

/** Pixels enlarged by a whole number, to about 512 on a side. */
function enlarged(source) {
  const times = Math.max(1, Math.floor(512 / Math.max(source.width, source.height)));
  const canvas = new OffscreenCanvas(source.width * times, source.height * times);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingEnabled = false;
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function savePng() {
  let source = document.getElementById("grid");
  if (state.view !== "grid") source = paint(picture(""), await model.decode(state.place, state.code, "save"));
  save(await enlarged(source).convertToBlob({ type: "image/png" }), `${content.title.replaceAll(/\W+/g, "-")}.png`);
}

const FRAMES = 24;
async function saveGif() {
  const column = focused();
  const { low, high, name } = state.run.latents[column];
  const frames = [];
  for (let i = 0; i < FRAMES; i++) {
    const code = state.code.slice();
    code[column] = low + ((high - low) * (1 - Math.cos((2 * Math.PI * i) / FRAMES))) / 2;
    const drawn = enlarged(paint(picture(""), await model.decode(state.place, code, `gif ${i}`)));
    frames.push(drawn.getContext("2d").getImageData(0, 0, drawn.width, drawn.height));
  }
  save(gif(frames, 8), `${content.title.replaceAll(/\W+/g, "-")}-${name}.gif`);
}
