/* Asks the worker for codes and pictures, one question at a time. */

class Model {
  constructor(runs) {
    const source = document.getElementById("worker").textContent;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.answer(data);
    this.worker.postMessage({
      networks: runs.flatMap((run, i) => Object.entries(run.networks).map(([kind, net]) => [`${kind} ${i}`, net])),
    });
    this.waiting = [];
    this.asked = null;
    this.next();
  }

  /** The output of a network. A question replaces one with the same key that still waits, which is answered by null. */
  ask(network, input, key) {
    return new Promise((resolve) => {
      const place = this.waiting.findIndex((other) => other.key === key);
      if (place >= 0) this.waiting.splice(place, 1)[0].resolve(null);
      const question = { network, input: Float32Array.from(input), key, resolve };
      if (key === "picture") this.waiting.unshift(question);
      else this.waiting.push(question);
      this.next();
    });
  }

  /** Forgets what has been asked with keys that begin so. */
  forget(prefix) {
    const gone = this.waiting.filter(({ key }) => key.startsWith(prefix));
    this.waiting = this.waiting.filter((question) => !gone.includes(question));
    gone.forEach((question) => question.resolve(null));
  }

  next() {
    document.documentElement.dataset.idle = !this.asked && !this.waiting.length;
    if (this.asked || !this.waiting.length) return;
    this.asked = this.waiting.shift();
    document.documentElement.dataset.idle = false;
    this.worker.postMessage({ network: this.asked.network, input: this.asked.input });
  }

  answer({ output, took }) {
    const { resolve } = this.asked;
    this.asked = null;
    document.documentElement.dataset.took = took.toFixed(1);
    this.next();
    resolve(output);
  }

  decode(run, code, key) {
    return this.ask(`decoder ${run}`, code, key);
  }

  encode(run, picture, key) {
    return this.ask(`encoder ${run}`, picture, key);
  }
}
