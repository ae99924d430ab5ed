/* Elements of the page. Text is always set as text, never as HTML: names come from files. */

/** An element; attributes that begin with "on" are listeners, "text" is its text, others are set as they are. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "circle", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A labelled choice; options are [value, text], or a group: {group: title, options}. */
function choice(label, options, chosen, onchange) {
  const option = ([value, text]) => make("option", { value, text, selected: String(value) === String(chosen) });
  const list = make("select", { "aria-label": label, onchange: () => onchange(list.value) });
  for (const each of options) {
    list.append(
      Array.isArray(each) ? option(each) : make("optgroup", { label: each.group }, ...each.options.map(option)),
    );
  }
  return make("label", { class: "choice" }, make("span", { text: label }), list);
}

function button(text, onclick, title) {
  return make("button", { type: "button", text, onclick, title });
}

function section(title, note, ...children) {
  const head = make("header", {}, make("h2", { text: title }), note ? make("p", { class: "note", text: note }) : null);
  return make("section", { class: "panel" }, head, ...children);
}

function replace(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child));
  return parent;
}

/** A canvas with sharp lines on any screen; gives the context in CSS pixels. */
function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** A name that may be broken after its underscores. */
const soft = (name) => name.replaceAll("_", "_\u200b");
const percent = (share) => `${Math.round(100 * share)} %`;
const short = (number) => (Math.abs(number) >= 100 ? number.toFixed(0) : number.toFixed(2));

/** Draws again when the size of an element or the colours change. */
function redrawn(element, draw) {
  new ResizeObserver(draw).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** A card beside the pointer that says what lies below it. */
const tip = {
  element: make("div", { class: "tip", hidden: true, role: "tooltip" }),
  show(event, ...children) {
    replace(this.element, ...children).hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = event.clientX + 16 + width > window.innerWidth ? event.clientX - width - 16 : event.clientX + 16;
    this.element.style.left = `${Math.max(8, left)}px`;
    this.element.style.top = `${Math.max(8, Math.min(event.clientY - height / 2, window.innerHeight - height - 8))}px`;
  },
  hide() {
    this.element.hidden = true;
  },
};
