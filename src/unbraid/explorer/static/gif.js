/* Writes an animated GIF: one palette of 256 colours for all frames, compressed as the format wants it (LZW). */

/** At most `count` colours for these pixels (0xrrggbb), by halving boxes of colours at the median (Heckbert 1982). */
function paletteOf(colors, count) {
  const boxes = [colors];
  const channel = (color, shift) => (color >> shift) & 255;
  const extent = (box) => {
    const spans = [16, 8, 0].map((shift) => {
      let low = 255;
      let high = 0;
      for (const color of box) {
        low = Math.min(low, channel(color, shift));
        high = Math.max(high, channel(color, shift));
      }
      return [high - low, shift];
    });
    return spans.reduce((best, span) => (span[0] > best[0] ? span : best));
  };
  const extents = [extent(colors)];
  while (boxes.length < count) {
    let widest = 0;
    for (let i = 1; i < boxes.length; i++) if (extents[i][0] > extents[widest][0]) widest = i;
    const [span, shift] = extents[widest];
    if (!span) break;
    const sorted = boxes[widest].sort((a, b) => channel(a, shift) - channel(b, shift));
    let cut = sorted.length >> 1;
    if (channel(sorted[cut], shift) === channel(sorted[0], shift)) {
      cut = sorted.findIndex((color) => channel(color, shift) > channel(sorted[0], shift));
    }
    const halves = [sorted.slice(0, cut), sorted.slice(cut)];
    boxes.splice(widest, 1, ...halves);
    extents.splice(widest, 1, ...halves.map(extent));
  }
  return boxes.map((box) => {
    const mean = (shift) => Math.round(box.reduce((sum, color) => sum + channel(color, shift), 0) / box.length);
    return (mean(16) << 16) | (mean(8) << 8) | mean(0);
  });
}

/** The place of the palette's colour that is nearest to each pixel. */
function indexed(colors, palette, known) {
  return Uint8Array.from(colors, (color) => {
    if (!known.has(color)) {
      let best = 0;
      let least = Infinity;
      palette.forEach((other, i) => {
        const distance = [16, 8, 0].reduce((sum, s) => sum + (((color >> s) & 255) - ((other >> s) & 255)) ** 2, 0);
        if (distance < least) [least, best] = [distance, i];
      });
      known.set(color, best);
    }
    return known.get(color);
  });
}

/** Codes of 9 to 12 bits for runs of pixels that were seen before, the lowest bit first. */
function compressed(places) {
  const [clear, end] = [256, 257];
  const bytes = [];
  let [held, bits, width] = [0, 0, 9];
  let table = new Map();
  const write = (code) => {
    held |= code << bits;
    for (bits += width; bits >= 8; bits -= 8, held >>>= 8) bytes.push(held & 255);
  };
  write(clear);
  let run = places[0];
  for (let i = 1; i < places.length; i++) {
    const longer = (run << 8) | places[i];
    if (table.has(longer)) {
      run = table.get(longer);
      continue;
    }
    write(run);
    const next = end + 1 + table.size;
    if (next < 4096) {
      table.set(longer, next);
      if (next === 1 << width) width++;
    } else {
      write(clear);
      table = new Map();
      width = 9;
    }
    run = places[i];
  }
  write(run);
  write(end);
  if (bits) bytes.push(held & 255);
  return bytes;
}

/** Each pixel `times` wide and high. */
function repeated(places, width, times) {
  const wide = width * times;
  const all = new Uint8Array(places.length * times * times);
  for (let row = 0; row * width < places.length; row++) {
    const start = row * times * wide;
    for (let x = 0; x < wide; x++) all[start + x] = places[row * width + Math.floor(x / times)];
    for (let copy = 1; copy < times; copy++) all.copyWithin(start + copy * wide, start, start + wide);
  }
  return all;
}

/** Frames, as ImageData of one size, enlarged so many times, shown for `delay` hundredths of a second each, for ever. */
function gif(frames, delay, times = 1) {
  const { width, height } = frames[0];
  const size = [width * times, height * times];
  const colors = frames.map(({ data }) =>
    Array.from({ length: width * height }, (_, i) => (data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2]),
  );
  const palette = paletteOf([...new Set(colors.flat())], 256);
  const known = new Map(palette.map((color, i) => [color, i]));
  const low = (number) => [number & 255, number >> 8];
  const bytes = [...new TextEncoder().encode("GIF89a"), ...size.flatMap(low), 0xf7, 0, 0];
  for (let i = 0; i < 256; i++) bytes.push(palette[i] >> 16, (palette[i] >> 8) & 255, palette[i] & 255);
  bytes.push(0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0);
  for (const frame of colors) {
    bytes.push(0x21, 0xf9, 4, 0, ...low(delay), 0, 0, 0x2c, 0, 0, 0, 0, ...size.flatMap(low), 0, 8);
    const data = compressed(repeated(indexed(frame, palette, known), width, times));
    for (let i = 0; i < data.length; i += 255) {
      const part = data.slice(i, i + 255);
      bytes.push(part.length, ...part);
    }
    bytes.push(0);
  }
  bytes.push(0x3b);
  return new Blob([Uint8Array.from(bytes)], { type: "image/gif" });
}
