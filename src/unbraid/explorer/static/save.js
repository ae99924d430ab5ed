/* What can be saved, and the buttons above the picture. */

const FRAMES = 24;

function tools() {
  const look = (view) => () => state.look(view);
  const views = [
    button(content.features ? "Bars" : "Picture", look("picture")),
    button("Grid of two", look("grid"), "two latents at once (G)"),
  ];
  const drawing = [button("Save PNG", savePng), button("Save GIF", saveGif, "a sweep of the latent moved last")];
  const copy = async () => {
    await navigator.clipboard.writeText(`${location.href.split("#")[0]}#${permalink()}`);
    link.textContent = "Copied";
    setTimeout(() => (link.textContent = "Copy link"), 1500);
  };
  const link = button("Copy link", copy, "a link to what the page shows now");
  const segments = make("div", { class: "segments" }, ...views);
  state.listen(() => {
    views.forEach((view, i) => view.setAttribute("aria-pressed", (state.view === "grid") === (i === 1)));
    for (const each of [segments, ...drawing]) each.hidden = !state.run.decodes;
  });
  return make("div", { class: "tools" }, segments, make("div", { class: "buttons" }, ...drawing, link));
}

/** How many times a picture is enlarged: a whole number, to about 512 on a side. */
function enlargement({ width, height }) {
  return Math.max(1, Math.floor(512 / Math.max(width, height)));
}

function enlarged(source) {
  const times = enlargement(source);
  const canvas = new OffscreenCanvas(source.width * times, source.height * times);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingEnabled = false;
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function save(blob, ending) {
  const name = content.title.replaceAll(/\W+/g, "-");
  const link = make("a", { href: URL.createObjectURL(blob), download: name + ending });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function savePng() {
  let source = document.getElementById("grid");
  if (state.view !== "grid") source = paint(picture(""), await model.decode(state.place, state.code, "save"));
  save(await enlarged(source).convertToBlob({ type: "image/png" }), ".png");
}

/** The sweep of the latent that was moved last, or of the strongest. */
async function saveGif() {
  const { column, low, high, name } = state.run.latents[state.focus ?? activeLatents(state.run)[0].column];
  const frames = [];
  for (let i = 0; i < FRAMES; i++) {
    const code = state.code.slice();
    code[column] = low + ((high - low) * (1 - Math.cos((2 * Math.PI * i) / FRAMES))) / 2;
    frames.push(pixels(await model.decode(state.place, code, `gif ${i}`)));
  }
  save(gif(frames, 8, enlargement(frames[0])), `-${name}.gif`);
}
