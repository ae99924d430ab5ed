/* Numbers that the page carries as text. */

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Numbers with 16 bits (a sign, 5 bits of exponent and 10 of fraction) as numbers with 32. */
function widened(halves) {
  const out = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) {
    const exponent = (halves[i] >> 10) & 31;
    const fraction = halves[i] & 1023;
    const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
    out[i] = halves[i] >> 15 ? -size : size;
  }
  return out;
}

/** An array of the page: {type: "float16" | "float32", data: base64}. */
function numbersOf(packed) {
  const { buffer } = bytesOf(packed.data);
  return packed.type === "float16" ? widened(new Uint16Array(buffer)) : new Float32Array(buffer);
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
