"use strict";

// One line per trial across parallel axes, one axis per parameter and the last one for the objective.
{
  const { make } = bopp;
  const LEFT = 2.5; // in rem, like the next ones
  const RIGHT = 4.5; // room for the marks of the last axis
  const NARROW = 5.5; // the least between two axes
  const BETWEEN = 0.8; // two marks that can both be read
  const STRIP = 14; // pixels on either side of an axis in which a drag selects
  const SHADES = 24;
  const FIRST = 20; // of the selected trials have a link

  const drawn = (tag, attributes, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };

  const channels = (colour) => {
    const digits = colour.length === 4 ? [...colour.slice(1)].map((c) => c + c) : colour.slice(1).match(/../g);
    return digits.map((pair) => parseInt(pair, 16));
  };
  const shades = (better, worse) => Array.from({ length: SHADES }, (_, step) => {
    const [from, to] = [channels(better), channels(worse)];
    return `rgb(${from.map((value, i) => Math.round(value + ((to[i] - value) * step) / (SHADES - 1)))})`;
  });

  bopp.parallel = (box) => {
    let data = null;
    let chosen = []; // one boolean per line
    let frame = 0;
    let size = null;
    let picking = null;
    const canvas = make("canvas");
    const svg = drawn("svg", { "aria-hidden": "true" });
    const shine = drawn("polyline", { class: "shine" });
    const stage = make("div", { className: "stage" }, canvas, svg);
    box.append(stage);

    const count = make("p");
    count.setAttribute("aria-live", "polite");
    const clear = make("button", { type: "button", textContent: "clear the selection", hidden: true });
    clear.addEventListener("click", () => brushes.clear());
    const numbers = make("ul", { className: "numbers" });
    const note = make("p", { className: "hint" });
    const keys = bopp.keys([["best", "best"], ["better", "better to worse"], ["fail-line", "failed"]]);
    const brushes = bopp.brushes(() => {
      frame ||= requestAnimationFrame(() => { frame = 0; choose(); });
    });
    const below = make("div", { hidden: true },
      make("div", { className: "under" }, keys, note),
      make("div", { className: "under" }, count, clear, numbers),
      make("details", {}, make("summary", { textContent: "Select by range" }), brushes.sliders));
    box.after(below);

    const x = (axis) => size.left + axis * size.step;
    const y = (place) => size.top + (1 - place) * size.tall;
    const place = (event) => 1 - (event.clientY - svg.getBoundingClientRect().top - size.top) / size.tall;

    const axisAt = (event) => {
      const along = (event.clientX - svg.getBoundingClientRect().left - size.left) / size.step;
      const axis = Math.round(along);
      return Math.abs(along - axis) * size.step <= STRIP && axis in data.axes ? axis : -1;
    };
    brushes.bind(svg, axisAt, place, y);

    const measure = () => {
      const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
      const axes = data.axes.length;
      const width = Math.max(box.clientWidth, ((axes - 1) * NARROW + LEFT + RIGHT) * rem);
      stage.style.width = `${width}px`;
      const height = stage.clientHeight;
      const top = 3.1 * rem;
      const tall = (height - top - 1.2 * rem) / (1 - Math.min(0, data.absent));
      size = { rem, width, height, top, tall, left: LEFT * rem, step: (width - (LEFT + RIGHT) * rem) / Math.max(1, axes - 1) };
      const ratio = window.devicePixelRatio;
      [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    };

    const marks = (axis, index) => {
      const letters = Math.max(4, Math.floor((index === data.axes.length - 1 ? RIGHT * size.rem : size.step) / (size.rem * 0.42)) - 2);
      let last = Infinity;
      const shown = [...axis.marks].sort((one, other) => one.place - other.place).filter((mark) => {
        const fits = last - y(mark.place) >= BETWEEN * size.rem || last === Infinity;
        if (fits) last = y(mark.place);
        return fits;
      });
      if (data.lines.some((line) => line.places[index] < 0)) shown.push({ place: data.absent, label: "not set", absent: true });
      return shown.flatMap((mark) => {
        const [left, top] = [x(index), y(mark.place)];
        return [
          drawn("line", { class: "axis", x1: left - 4, x2: left + 4, y1: top, y2: top }),
          drawn("text", { x: left + 7, y: top + 4, class: mark.absent ? "absent" : "" }, bopp.cut(mark.label, letters)),
        ];
      });
    };

    const lay = () => {
      measure();
      svg.replaceChildren(shine);
      for (const name of stage.querySelectorAll(".name")) name.remove();
      data.axes.forEach((axis, index) => {
        const [from, to] = [Math.max(0, x(index) - size.step / 2 + 2), Math.min(size.width, x(index) + size.step / 2 - 2)];
        const half = Math.min(x(index) - from, to - x(index)); // the name is in the middle over its axis
        const name = make("div", { className: "name", title: axis.name });
        name.textContent = axis.name.replace(/[_./-]/g, "$&\u200b"); // where a long name may break
        [name.style.left, name.style.width] = [`${x(index) - half}px`, `${2 * half}px`];
        stage.append(name);
        svg.append(drawn("line", { class: "axis", x1: x(index), x2: x(index), y1: y(0), y2: y(1) }), ...marks(axis, index));
        const tall = y(data.absent) - y(1) + 20;
        svg.append(
          drawn("rect", { class: "brush", "data-axis": index, x: x(index) - 8, width: 16, rx: 2 }),
          drawn("rect", { class: "strip", x: x(index) - STRIP, y: y(1) - 10, width: 2 * STRIP, height: tall }),
        );
      });
      choose();
    };

    const choose = () => {
      const ranges = [...brushes.ranges];
      chosen = data.lines.map((line) => ranges.every(([axis, [low, high]]) =>
        line.places[axis] >= low - 1e-9 && line.places[axis] <= high + 1e-9));
      for (const brush of svg.querySelectorAll(".brush")) {
        const range = brushes.ranges.get(Number(brush.dataset.axis));
        brush.setAttribute("visibility", range ? "visible" : "hidden");
        brush.setAttribute("y", range ? y(range[1]) : 0);
        brush.setAttribute("height", range ? y(range[0]) - y(range[1]) : 0);
      }
      tell(ranges.length > 0);
      paint();
    };

    const tell = (restricted) => {
      const selected = data.lines.filter((line, i) => chosen[i]);
      const text = restricted ? `${selected.length} of ${data.lines.length} trials selected` : "";
      if (count.textContent !== text) count.textContent = text;
      clear.hidden = !restricted;
      selected.sort((one, other) => (one.rank ?? 1e9) - (other.rank ?? 1e9));
      const first = restricted ? selected.slice(0, FIRST) : [];
      if (numbers.textContent === first.map((line) => line.number).join("")) return; // keep the focus
      numbers.replaceChildren(...first.map((line) =>
        make("li", {}, make("a", { href: bopp.trialAddress(box, line.number), textContent: line.number, ariaLabel: `trial ${line.number}` }))));
    };

    const trace = (ctx, line) => {
      ctx.beginPath();
      line.places.forEach((place, axis) => ctx.lineTo(x(axis), y(place)));
      ctx.stroke();
    };

    const paint = () => {
      const ctx = canvas.getContext("2d");
      const colours = bopp.colours();
      const scale = shades(colours.better, colours.worse);
      const last = Math.max(1, ...data.lines.map((line) => line.rank ?? 0));
      ctx.setTransform(window.devicePixelRatio, 0, 0, window.devicePixelRatio, 0, 0);
      ctx.clearRect(0, 0, size.width, size.height);
      // A line of one pixel of the screen is drawn several times faster than a wider one.
      const thin = data.lines.length > 200 ? 1 / window.devicePixelRatio : 1;
      const solid = Math.max(0.35, Math.min(1, 150 / chosen.filter(Boolean).length)); // many lines would hide each other
      const height = (line, i) => (chosen[i] ? (line.best ? 1e9 : 1e6 - (line.rank ?? 5e5)) : -1);
      const order = data.lines.map((line, i) => [height(line, i), i]).sort((one, other) => one[0] - other[0]);
      for (const [, i] of order) {
        const line = data.lines[i];
        ctx.globalAlpha = line.best || !chosen[i] ? 1 : solid;
        ctx.setLineDash(line.rank === null ? [5, 4] : []);
        ctx.lineWidth = line.best && chosen[i] ? 3 : thin;
        if (!chosen[i]) ctx.strokeStyle = colours.faded;
        else if (line.best) ctx.strokeStyle = colours.best;
        else ctx.strokeStyle = line.rank === null ? colours.muted : scale[Math.floor((line.rank / last) * (SHADES - 1))];
        trace(ctx, line);
      }
    };

    const find = (left, top, reach) => {
      const along = (left - size.left) / size.step;
      const axis = Math.max(0, Math.min(data.axes.length - 2, Math.floor(along)));
      if (Math.abs(along - Math.round(along)) * size.step < STRIP || along < 0) return null; // there, a drag selects
      let nearest = null;
      data.lines.forEach((line, i) => {
        const [from, to] = [line.places[axis], line.places[axis + 1]];
        if (!chosen[i] || to === undefined) return;
        const slope = ((to - from) * size.tall) / size.step;
        const height = y(from + (to - from) * (along - axis));
        const distance = Math.abs(height - top) / Math.hypot(1, slope);
        const state = line.best ? ", the best" : line.rank === null ? ", failed" : "";
        if (distance >= reach) return;
        reach = distance;
        nearest = { number: line.number, text: `trial ${line.number}${state}`, x: left, y: top, line };
      });
      return nearest;
    };

    const mark = (found) => {
      shine.setAttribute("points", found ? found.line.places.map((place, axis) => `${x(axis)},${y(place)}`).join(" ") : "");
    };

    new ResizeObserver(() => {
      if (data?.lines.length && box.clientWidth) lay();
    }).observe(box);

    return {
      show: (fresh) => {
        data = fresh;
        const bottom = (axis, index) => (data.lines.some((line) => line.places[index] < 0) ? data.absent : 0);
        brushes.show(data.axes, data.axes.map(bottom));
        note.textContent = data.shown < data.total ? `${data.shown} of ${data.total} trials are drawn.` : "";
        note.textContent += " Drag along an axis to select.";
        below.hidden = data.lines.length === 0;
        picking ??= bopp.picking(box, stage, find, mark);
        picking.hide();
        if (box.clientWidth && data.lines.length) lay();
      },
      recolour: () => size && paint(),
    };
  };
}
