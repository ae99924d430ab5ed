/* Pictures of the sample, of the networks and of the user. Values are in [0, 1], as [channels, height, width].
   A row of features is drawn as a mosaic: each feature a tile, warm above the mean and cold below it. */

/** Height and width of what `paint` draws. */
function pictureSize() {
  const [, height, width] = content.shape;
  if (!content.features) return [height, width];
  const side = Math.ceil(Math.sqrt(width));
  return [Math.ceil(width / side), side];
}

/** One channel of the colour of a feature's value, which lies around 0.5. */
function tint(value, channel) {
  const far = Math.max(-1, Math.min(1, (value - 0.5) * 4));
  const end = far > 0 ? [214, 96, 77] : [67, 147, 195];
  return 244 + (end[channel] - 244) * Math.abs(far);
}

function pixels(values) {
  const [height, width] = pictureSize();
  const image = new ImageData(width, height);
  const size = content.shape[1] * content.shape[2];
  for (let i = 0; i < size; i++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = values[content.shape[0] === 3 ? channel * size + i : i];
      image.data[4 * i + channel] = content.features ? tint(value, channel) : 255 * value;
    }
    image.data[4 * i + 3] = 255;
  }
  return image;
}

/** Draws values on a canvas of their own size, which the style sheet enlarges. */
function paint(canvas, values) {
  const [height, width] = pictureSize();
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  canvas.getContext("2d").putImageData(pixels(values), 0, 0);
  return canvas;
}

function picture(label) {
  const [height, width] = pictureSize();
  return make("canvas", { class: "picture", width, height, role: "img", "aria-label": label });
}

/** One picture of a sheet, as an element that the style sheet sizes. */
function tileOf(sheet, index, count) {
  sheet.url ??= URL.createObjectURL(new Blob([bytesOf(sheet.address.split(",")[1])], { type: "image/png" }));
  const rows = Math.ceil(count / sheet.columns);
  const share = (place, places) => (places > 1 ? (100 * place) / (places - 1) : 0);
  const place = [share(index % sheet.columns, sheet.columns), share(Math.floor(index / sheet.columns), rows)];
  const element = make("span", { class: "thumb", role: "img", "aria-label": `image ${index}` });
  element.style.backgroundImage = `url(${sheet.url})`;
  element.style.backgroundSize = `${100 * sheet.columns}% ${100 * rows}%`;
  element.style.backgroundPosition = `${place[0]}% ${place[1]}%`;
  element.style.aspectRatio = `${sheet.width} / ${sheet.height}`;
  return element;
}

/** An image of the sample, small. */
function thumb(index) {
  if (!content.features) return tileOf(content.sheet, index, content.count);
  const canvas = paint(picture(content.names[index]), featuresOf(index));
  canvas.classList.add("thumb");
  return canvas;
}

function featuresOf(index) {
  content.numbers ??= numbersOf(content.rows);
  const width = content.shape[2];
  return content.numbers.subarray(index * width, (index + 1) * width);
}

/** What is known of an image of the sample. */
function facts(index) {
  const known = content.factors.filter((factor) => factor.values[index] !== null);
  return make(
    "dl",
    {},
    ...known.flatMap((factor) => [
      make("dt", { text: factor.name }),
      make("dd", { text: valueName(factor, factor.values[index]) }),
    ]),
  );
}

function valueName(factor, value) {
  return factor.labels[value] ?? (Number.isInteger(value) ? String(value) : short(value));
}

/** A picture of the user's, cut to the shape of the images and made as small, as values. */
async function readPicture(file) {
  const [channels, height, width] = content.shape;
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" });
  const scale = Math.min(bitmap.width / width, bitmap.height / height);
  const [cutWidth, cutHeight] = [width * scale, height * scale];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  const left = (bitmap.width - cutWidth) / 2;
  const top = (bitmap.height - cutHeight) / 2;
  context.drawImage(bitmap, left, top, cutWidth, cutHeight, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const values = new Float32Array(channels * height * width);
  for (let i = 0; i < height * width; i++) {
    const color = data.subarray(4 * i, 4 * i + 3);
    if (channels === 3) color.forEach((value, channel) => (values[channel * height * width + i] = value / 255));
    else values[i] = Math.round(0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]) / 255;
  }
  return values;
}

/** A row of numbers as text, one for each feature. */
function readFeatures(text) {
  const numbers = text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  const fits = numbers.length === content.shape[2] && numbers.every((value) => value >= 0 && value <= 1);
  return fits ? Float32Array.from(numbers) : null;
}
