/* Runs the networks beside the page, so that it never stalls. */

const networks = new Map();

self.onmessage = ({ data }) => {
  if (data.networks) {
    for (const [name, packed] of data.networks) networks.set(name, packed);
    return;
  }
  const known = networks.get(data.network);
  if (!known.ready) {
    networks.set(data.network, { ready: unpackNetwork(known) });
  }
  const began = performance.now();
  const output = runNetwork(networks.get(data.network).ready, data.input);
  self.postMessage({ output, took: performance.now() - began });
};
