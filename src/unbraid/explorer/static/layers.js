/* The layers of the networks on typed arrays, one sample at a time, images as [channels, height, width]. */

/** out[m * n + j] = sum over k of a[m, k] b[j, k]: rows of `a` times rows of `b`, in tiles of 2 x 4. */
function multiply(a, b, m, n, k, out) {
  const even = m - (m % 2);
  const whole = n - (n % 4);
  for (let row = 0; row < even; row += 2) {
    const a0 = row * k;
    const a1 = a0 + k;
    for (let column = 0; column < whole; column += 4) {
      const b0 = column * k;
      const b1 = b0 + k;
      const b2 = b1 + k;
      const b3 = b2 + k;
      let s00 = 0,
        s01 = 0,
        s02 = 0,
        s03 = 0,
        s10 = 0,
        s11 = 0,
        s12 = 0,
        s13 = 0;
      for (let i = 0; i < k; i++) {
        const x = a[a0 + i];
        const y = a[a1 + i];
        const p = b[b0 + i];
        const q = b[b1 + i];
        const r = b[b2 + i];
        const s = b[b3 + i];
        s00 += x * p;
        s01 += x * q;
        s02 += x * r;
        s03 += x * s;
        s10 += y * p;
        s11 += y * q;
        s12 += y * r;
        s13 += y * s;
      }
      const first = row * n + column;
      const second = first + n;
      out[first] = s00;
      out[first + 1] = s01;
      out[first + 2] = s02;
      out[first + 3] = s03;
      out[second] = s10;
      out[second + 1] = s11;
      out[second + 2] = s12;
      out[second + 3] = s13;
    }
  }
  for (let row = 0; row < m; row++) {
    for (let column = row < even ? whole : 0; column < n; column++) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += a[row * k + i] * b[column * k + i];
      out[row * n + column] = sum;
    }
  }
  return out;
}

/** The patch that each output pixel sees, one row for each pixel: [h w, channels kernel kernel]. */
function patches(x, layer) {
  const [channels, height, width] = layer.from;
  const [, rows, columns] = layer.to;
  const [kernelHeight, kernelWidth] = layer.kernel;
  const size = channels * kernelHeight * kernelWidth;
  const out = new Float32Array(rows * columns * size);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let place = (row * columns + column) * size;
      const top = row * layer.stride[0] - layer.padding[0];
      const left = column * layer.stride[1] - layer.padding[1];
      for (let c = 0; c < channels; c++) {
        for (let i = top; i < top + kernelHeight; i++) {
          const line = (c * height + i) * width;
          for (let j = left; j < left + kernelWidth; j++, place++) {
            if (i >= 0 && i < height && j >= 0 && j < width) out[place] = x[line + j];
          }
        }
      }
    }
  }
  return out;
}

/** Adds what each input pixel draws, [channels kernel kernel, h w], at its place in the output. */
function overlay(drawn, layer, out) {
  const [, height, width] = layer.from;
  const [channels, rows, columns] = layer.to;
  const [kernelHeight, kernelWidth] = layer.kernel;
  let place = 0;
  for (let c = 0; c < channels; c++) {
    for (let i = 0; i < kernelHeight; i++) {
      for (let j = 0; j < kernelWidth; j++) {
        for (let row = 0; row < height; row++) {
          const top = row * layer.stride[0] - layer.padding[0] + i;
          const inside = top >= 0 && top < rows;
          const line = (c * rows + top) * columns;
          let left = j - layer.padding[1];
          for (let column = 0; column < width; column++, place++, left += layer.stride[1]) {
            if (inside && left >= 0 && left < columns) out[line + left] += drawn[place];
          }
        }
      }
    }
  }
  return out;
}

function transposed(x, rows, columns) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = x[i * columns + j];
  return out;
}

/** A new array, each value made from that of `x` and its channel. */
function perChannel(x, channels, make) {
  const out = new Float32Array(x.length);
  const size = x.length / channels;
  for (let c = 0; c < channels; c++) for (let i = c * size; i < (c + 1) * size; i++) out[i] = make(x[i], c);
  return out;
}

function groupNorm(x, layer) {
  const channels = layer.weight.length;
  const size = x.length / layer.groups;
  const scale = new Float64Array(layer.groups);
  const mean = new Float64Array(layer.groups);
  for (let group = 0; group < layer.groups; group++) {
    let sum = 0;
    let squares = 0;
    for (let i = group * size; i < (group + 1) * size; i++) sum += x[i];
    mean[group] = sum / size;
    for (let i = group * size; i < (group + 1) * size; i++) squares += (x[i] - mean[group]) ** 2;
    scale[group] = 1 / Math.sqrt(squares / size + layer.eps);
  }
  return perChannel(x, channels, (value, c) => {
    const group = Math.floor((c * layer.groups) / channels);
    return (value - mean[group]) * scale[group] * layer.weight[c] + layer.bias[c];
  });
}

const combine = (operation) => (inputs, layer) => {
  const [x, y] = [inputs[0], inputs[1] || layer.constant];
  return x.map((value, i) => operation(value, y[i]));
};

/** What each kind of layer makes of its inputs. */
const LAYERS = {
  linear([x], layer) {
    const out = multiply(layer.weight, x, layer.to[0], 1, x.length, new Float32Array(layer.to[0]));
    return layer.bias ? out.map((value, i) => value + layer.bias[i]) : out;
  },
  conv([x], layer) {
    const [channels, rows, columns] = layer.to;
    const size = layer.weight.length / channels;
    const out = new Float32Array(channels * rows * columns);
    multiply(layer.weight, patches(x, layer), channels, rows * columns, size, out);
    return layer.bias ? perChannel(out, channels, (value, c) => value + layer.bias[c]) : out;
  },
  conv_transpose([x], layer) {
    const [before, height, width] = layer.from;
    const [after, rows, columns] = layer.to;
    const size = layer.weight.length / before;
    layer.turned ??= transposed(layer.weight, before, size);
    const drawn = new Float32Array(size * height * width);
    multiply(layer.turned, transposed(x, before, height * width), size, height * width, before, drawn);
    const out = new Float32Array(after * rows * columns);
    if (layer.bias) layer.bias.forEach((value, c) => out.fill(value, c * rows * columns, (c + 1) * rows * columns));
    return overlay(drawn, layer, out);
  },
  group_norm: ([x], layer) => groupNorm(x, layer),
  affine: ([x], layer) => perChannel(x, layer.weight.length, (value, c) => value * layer.weight[c] + layer.bias[c]),
  relu: ([x]) => x.map((value) => (value > 0 ? value : 0)),
  leaky_relu: ([x], layer) => x.map((value) => (value > 0 ? value : value * layer.slope)),
  sigmoid: ([x]) => x.map((value) => 1 / (1 + Math.exp(-value))),
  tanh: ([x]) => x.map(Math.tanh),
  add: combine((x, y) => x + y),
  subtract: combine((x, y) => x - y),
  multiply: combine((x, y) => x * y),
  divide: combine((x, y) => x / y),
  slice: ([x], layer) => x.slice(layer.start, layer.stop),
  constant: (_, layer) => layer.constant,
  concatenate(inputs, layer) {
    const out = new Float32Array(layer.to.reduce((product, side) => product * side, 1));
    let place = 0;
    for (const part of inputs) {
      out.set(part, place);
      place += part.length;
    }
    return out;
  },
  mean([x], layer) {
    const size = x.length / layer.to[0];
    return new Float32Array(layer.to[0]).map((_, c) => {
      let sum = 0;
      for (let i = c * size; i < (c + 1) * size; i++) sum += x[i];
      return sum / size;
    });
  },
};

/** The output of a network. A layer's inputs are places in the list of values, in which the network's input is first. */
function runNetwork(network, input) {
  const values = [input];
  for (const layer of network.layers) {
    values.push(
      LAYERS[layer.kind](
        layer.inputs.map((place) => values[place]),
        layer,
      ),
    );
  }
  return values[network.output];
}
