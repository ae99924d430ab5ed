"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };

  /* A window beside each traversal that shows one of its images, and a slider that goes through them. */
  function sweep(figure) {
    const frames = Number(figure.dataset.frames);
    if (frames < 2) return null;
    const image = figure.querySelector("img");
    const viewer = make("div", "viewer");
    const frame = make("div", "frame");
    const slider = make("input", "slider");
    Object.assign(slider, { type: "range", min: 0, max: frames - 1, value: (frames - 1) / 2 });
    slider.setAttribute("aria-label", image.alt);
    frame.style.backgroundImage = `url("${image.src}")`;
    frame.style.backgroundSize = `${100 * Number(figure.dataset.size)}% 100%`;
    const show = (place) => {
      slider.value = place;
      frame.style.backgroundPosition = `${(100 * Number(slider.value)) / (frames - 1)}% 0`;
    };
    slider.addEventListener("input", () => show(slider.value));
    image.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse") return;
      const box = image.getBoundingClientRect();
      show(Math.floor((frames * (event.clientX - box.left)) / box.width));
    });
    viewer.append(frame, slider);
    figure.querySelector("figcaption").after(viewer);
    const fit = () => (frame.style.aspectRatio = `${image.naturalWidth / Number(figure.dataset.size)} / ${image.naturalHeight}`);
    image.complete ? fit() : image.addEventListener("load", fit);
    show((frames - 1) / 2);
    return show;
  }

  for (const group of all(".strips.sweep")) {
    const figures = all("figure", group);
    const shows = figures.map(sweep).filter(Boolean);
    if (!shows.length) continue;
    const last = Number(figures[0].dataset.frames) - 1;
    const play = make("button", "play", "▶ move all");
    play.type = "button";
    let timer = 0;
    let step = last / 2;
    play.addEventListener("click", () => {
      clearInterval(timer);
      if (play.classList.toggle("on")) {
        timer = setInterval(() => {
          step = (step + 1) % (2 * last);
          shows.forEach((show) => show(step > last ? 2 * last - step : step));
        }, 160);
      }
      play.textContent = play.classList.contains("on") ? "❚❚ stop" : "▶ move all";
    });
    group.before(play);
  }

  /* A click on the head of a column sorts a table by it; another click turns it round. */
  const value = (row, column) => {
    const text = row.cells[column].innerText.trim();
    const number = parseFloat(text.replaceAll(",", ""));
    return [text === "" ? null : Number.isNaN(number) ? text : number];
  };
  const compare = ([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  };
  for (const table of all("table.sortable")) {
    all("th", table).forEach((head, column) => {
      const button = make("button", "sort", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => {
          const [x, y] = [value(a, column), value(b, column)];
          return x[0] === null || y[0] === null ? compare(x, y) : (down ? -1 : 1) * compare(x, y);
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  /* A cursor with the values of a chart. */
  for (const chart of all(".chart")) {
    const places = JSON.parse(chart.dataset.places);
    if (!places.length) continue;
    const plot = chart.querySelector(".plot");
    const lines = all("path.line", chart).map((path) => ({
      name: path.dataset.name,
      colour: path.style.getPropertyValue("--c"),
      values: JSON.parse(path.dataset.values),
    }));
    const cursor = make("div", "cursor");
    const told = make("div", "told");
    plot.append(cursor, told);
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const at = (100 * (event.clientX - box.left)) / box.width;
      const gaps = places.map(([place]) => Math.abs(place - at));
      const nearest = gaps.indexOf(Math.min(...gaps));
      cursor.style.left = `${places[nearest][0]}%`;
      told.replaceChildren(make("b", "", places[nearest][1]));
      for (const line of lines) {
        if (line.values[nearest] === null) continue;
        const row = make("span", "", `${line.name} ${line.values[nearest]}`.trim());
        row.style.setProperty("--c", line.colour);
        told.append(row);
      }
      told.classList.toggle("left", at > 55);
      told.style.left = `${places[nearest][0]}%`;
      plot.classList.add("on");
    });
    plot.addEventListener("pointerleave", () => plot.classList.remove("on"));
  }

  /* A click enlarges pictures and maps. */
  const large = document.getElementById("large");
  const inside = large.querySelector("div");
  for (const picture of all("main img, .scatter svg")) {
    picture.addEventListener("click", () => {
      inside.replaceChildren(picture.cloneNode(true));
      inside.className = picture.closest(".scatter") ? "scatter" : "";
      large.showModal();
    });
  }
  large.addEventListener("click", () => large.close());

  /* The part of the page that is being read is marked in the contents. */
  const links = new Map(all("nav a").map((link) => [link.getAttribute("href").slice(1), link]));
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link) => link.classList.remove("here"));
        links.get(entry.target.id)?.classList.add("here");
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  all("main > section").forEach((section) => watcher.observe(section));
})();
