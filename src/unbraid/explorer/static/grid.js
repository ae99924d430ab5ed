/* Two latents at once: a grid of pictures. */

const SIDE = 7;

function grid() {
  const canvas = make("canvas", { class: "picture", id: "grid", role: "img", "aria-label": "grid of two latents" });
  const choices = make("div", { class: "choices" });
  const box = make("div", { class: "gridbox", hidden: true }, canvas, choices);
  let axes = [];

  function build() {
    axes = [latentChoice("across", 0), latentChoice("down", 1)];
    replace(choices, ...axes.map(({ element }) => element));
  }

  function codeAt(row, column) {
    const code = state.code.slice();
    [column, row].forEach((place, i) => {
      const { latent } = axes[i];
      code[latent.column] = latent.low + ((latent.high - latent.low) * place) / (SIDE - 1);
    });
    return code;
  }

  function draw() {
    box.hidden = state.view !== "grid" || !state.run.decodes;
    document.body.classList.toggle("grid", !box.hidden);
    model.forget("grid");
    if (box.hidden) return;
    const [height, width] = pictureSize();
    Object.assign(canvas, { width: SIDE * width, height: SIDE * height });
    for (let i = 0; i < SIDE * SIDE; i++) {
      const [row, column] = [Math.floor(i / SIDE), i % SIDE];
      const show = (values) => canvas.getContext("2d").putImageData(pixels(values), column * width, row * height);
      model.decode(state.place, codeAt(row, column), `grid ${i}`).then((values) => values && show(values));
    }
  }

  canvas.addEventListener("click", (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const at = (distance, size) => Math.min(SIDE - 1, Math.floor((SIDE * distance) / size));
    state.setCode(codeAt(at(event.clientY - top, height), at(event.clientX - left, width)));
  });
  state.listen((changed) => {
    if (changed.has("run") || changed.has("options")) build();
    draw();
  });
  return box;
}
