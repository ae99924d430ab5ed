/* The picture in the centre: what the decoder makes of the code, beside the start and its reconstruction. */

function stage() {
  const large = picture("what the decoder makes of the code");
  large.id = "picture";
  const bars = make("div", { class: "bars", id: "bars" });
  const original = make("span", { class: "slot" });
  const rebuilt = picture("reconstruction");
  const caption = make("p", { class: "caption" });
  const frame = make("div", { class: "frame" });
  const pair = make(
    "div",
    { class: "pair" },
    make("figure", {}, original, make("figcaption", { text: "start" })),
    make("figure", { class: "rebuilt" }, rebuilt, make("figcaption", { text: "reconstruction" })),
  );
  let reference = null;

  async function drawRebuilt() {
    pair.lastChild.hidden = !state.run.decodes;
    if (!state.run.decodes) return;
    reference = await model.decode(state.place, state.base, "rebuilt");
    if (reference) paint(rebuilt, reference);
  }

  async function drawLarge() {
    const { run } = state;
    frame.hidden = !run.draws; // the start is beside it
    if (!run.draws) return;
    if (run.frames) {
      replace(frame, drawnInAdvance(run));
      return;
    }
    const shown = content.features ? bars : large;
    if (frame.firstChild !== shown) replace(frame, shown);
    const values = await model.decode(state.place, state.code, "picture");
    if (!values) return;
    if (content.features) drawBars(bars, values, reference);
    else paint(large, values);
  }

  function drawStart() {
    replace(original, shownStart());
    caption.textContent = state.start === null ? "your own" : content.names[state.start];
  }

  state.listen((changed) => {
    if (changed.has("start")) {
      drawStart();
      drawRebuilt();
    }
    if (changed.has("code")) drawLarge();
  });
  return make("div", { class: "stage" }, frame, make("div", { class: "below" }, pair, caption));
}

/** The image that the page starts from. */
function shownStart() {
  if (state.start !== null) return thumb(state.start);
  return state.own ? paint(picture("your own"), state.own) : make("span", { class: "thumb empty" });
}

/** Of a decoder that the page cannot run: the frame nearest to the latent that was moved last. */
function drawnInAdvance(run) {
  const { frames } = run;
  if (state.start === null || state.start >= frames.images) return shownStart();
  const each = 1 + frames.count * frames.columns.length;
  const place = frames.columns.indexOf(state.focus);
  let frame = 0;
  if (place >= 0) {
    const { low, high } = run.latents[state.focus];
    const stop = Math.round(((state.code[state.focus] - low) / (high - low)) * (frames.count - 1));
    frame = 1 + place * frames.count + Math.max(0, Math.min(frames.count - 1, stop));
  }
  const element = tileOf(frames.sheet, state.start * each + frame, frames.images * each);
  element.dataset.frame = frame;
  return element;
}

/** Features that the code has changed most, each as a bar from where it was, in standard deviations. */
function drawBars(parent, values, reference) {
  const before = reference ?? values;
  const change = Array.from(values, (value, i) => Math.abs(value - before[i]));
  const order = change
    .map((_, i) => i)
    .sort((a, b) => change[b] - change[a] || Math.abs(values[b] - 0.5) - Math.abs(values[a] - 0.5));
  const reach = Math.max(
    0.1,
    ...order.slice(0, BARS).map((i) => Math.max(Math.abs(values[i] - 0.5), Math.abs(before[i] - 0.5))),
  );
  const at = (value) => 50 + (50 * (value - 0.5)) / reach;
  const rows = order.slice(0, BARS).map((i) => {
    const [low, high] = [Math.min(values[i], before[i]), Math.max(values[i], before[i])];
    const bar = make("i", { class: values[i] >= before[i] ? "up" : "down" });
    bar.style.left = `${at(low)}%`;
    bar.style.width = `${Math.max(0.6, at(high) - at(low))}%`;
    const mark = make("b", {});
    mark.style.left = `${at(values[i])}%`;
    const moved = 10 * (values[i] - before[i]);
    const name = content.feature_names[i] ?? `feature ${i}`;
    return make(
      "div",
      { class: "bar", "data-feature": i },
      make("span", { class: "name", text: name, title: name }),
      make("span", { class: "track" }, bar, mark),
      make("span", { class: "number", text: `${moved >= 0 ? "+" : "−"}${Math.abs(moved).toFixed(2)} sd` }),
    );
  });
  replace(parent, ...rows);
}
const BARS = 18;

/** An image of the sample that the page starts from when it is clicked. */
function startButton(index) {
  const onclick = () => state.begin(index);
  const pressed = String(state.start === index);
  const attributes = { type: "button", title: content.names[index], "data-index": index, "aria-pressed": pressed };
  return make("button", { ...attributes, onclick }, thumb(index));
}

/** Images of the sample to start from, and a way in for the user's own. */
function gallery() {
  const strip = make("div", { class: "strip" });
  const count = Math.min(content.count, 16);
  let first = 0;
  const draw = () =>
    replace(strip, ...Array.from({ length: count }, (_, i) => startButton((first + i) % content.count)));
  const turn = () => {
    first = (first + count) % content.count;
    draw();
  };
  const more = button("More", turn, "other images of the sample");
  const accepted = content.features ? ".txt,.csv" : "image/*";
  const file = make("input", { type: "file", accept: accepted, hidden: true, onchange: () => take(file.files[0]) });
  const kind = content.features ? "Your own row" : "Your own picture";
  const own = button(kind, () => file.click(), "or drop it, or paste it");
  const message = make("p", { class: "note", role: "status" });

  async function take(given) {
    if (!given) return;
    if (!state.run.encodes) {
      message.textContent = "The page cannot run this run's encoder, so that it cannot take pictures of your own.";
      return;
    }
    message.textContent = "";
    try {
      const values = content.features ? readFeatures(await given.text()) : await readPicture(given);
      if (values) await state.beginOwn(values);
      else message.textContent = `A row has ${content.shape[2]} numbers between 0 and 1, on the scale of the run.`;
    } catch {
      message.textContent = "That is no picture that this browser can read.";
    }
  }

  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    take(event.dataTransfer.files[0]);
  });
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    take(event.clipboardData.files[0] ?? (content.features && text ? new Blob([text]) : null));
  });
  state.listen((changed) => changed.has("start") && draw());
  return make("div", { class: "gallery" }, strip, make("div", { class: "buttons" }, more, own, file), message);
}
