/* Numbers that the page carries as text. */

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Arrays of the page, one after the other. With 16 bits, a row is whole multiples of a number of its own. */
function numbersOf({ data, scales, shapes }) {
  const { buffer } = bytesOf(data);
  if (!scales) return new Float32Array(buffer);
  const wholes = new Int16Array(buffer);
  const units = new Float32Array(bytesOf(scales).buffer);
  const out = new Float32Array(wholes.length);
  let [place, row] = [0, 0];
  for (const [rows, columns] of shapes) {
    for (const last = row + rows; row < last; row++) {
      for (const end = place + columns; place < end; place++) out[place] = wholes[place] * units[row];
    }
  }
  return out;
}

/** A network of the page with its weights in place: each is [where it begins, how many numbers]. */
function unpackNetwork(packed) {
  const weights = numbersOf(packed.weights);
  const layers = packed.layers.map((layer) => {
    const filled = { ...layer };
    for (const name of ["weight", "bias", "constant"]) {
      if (layer[name]) filled[name] = weights.subarray(layer[name][0], layer[name][0] + layer[name][1]);
    }
    return filled;
  });
  return { ...packed, layers };
}
