"use strict";

// Ranges selected on the axes of a chart of parallel axes: by the sliders below it, and by dragging on it.
{
  const { make } = bopp;
  const GRIP = 8; // pixels around an end of a brush in which a drag moves that end

  // `change()` is called after each change; `ranges` maps an axis to [low, high] where it is restricted.
  bopp.brushes = (change) => {
    const ranges = new Map();
    const sliders = make("div", { className: "ranges" });
    let axes = [];
    let bottoms = [];
    let inputs = [];

    const near = (axis, place) => {
      if (place < 0) return "not set";
      const marks = axis.marks.map((mark) => [Math.abs(mark.place - place), mark.label]);
      const [distance, label] = marks.sort((one, other) => one[0] - other[0])[0] ?? [1, ""];
      return distance < 0.005 ? bopp.cut(label, 16) : `${Math.round(place * 100)} %`;
    };

    const follow = (index) => {
      const places = ranges.get(index) ?? [bottoms[index], 1];
      inputs[index].forEach(({ input, output }, end) => {
        input.value = places[end];
        output.textContent = near(axes[index], places[end]);
        input.setAttribute("aria-valuetext", output.textContent);
      });
    };

    const set = (index, low, high) => {
      [low, high] = [Math.max(bottoms[index], low), Math.min(1, high)];
      if (low <= bottoms[index] && high >= 1) ranges.delete(index);
      else ranges.set(index, [low, high]);
      follow(index);
      change();
    };

    const slider = (index, end) => {
      const input = make("input", { type: "range", min: bottoms[index], max: 1, step: 0.01 });
      const output = make("span");
      input.addEventListener("input", () => {
        const places = [...(ranges.get(index) ?? [bottoms[index], 1])];
        places[end] = input.valueAsNumber;
        places[1 - end] = end === 0 ? Math.max(...places) : Math.min(...places);
        set(index, ...places);
      });
      inputs[index][end] = { input, output };
      return make("label", {}, end === 0 ? "lower" : "upper", input, output);
    };

    const group = (axis, index) => {
      inputs[index] = [];
      const name = make("strong", { textContent: axis.name });
      const element = make("div", { tabIndex: 0 }, name, slider(index, 0), slider(index, 1));
      element.setAttribute("role", "group");
      element.setAttribute("aria-label", axis.name);
      return element;
    };

    const show = (freshAxes, freshBottoms) => {
      const same = String(freshAxes.map((axis) => axis.name)) === String(axes.map((axis) => axis.name))
        && String(freshBottoms) === String(bottoms);
      [axes, bottoms] = [freshAxes, freshBottoms];
      if (!same) {
        ranges.clear();
        inputs = [];
        sliders.replaceChildren(...axes.map(group));
      }
      axes.forEach((axis, index) => follow(index));
    };

    const clear = () => {
      ranges.clear();
      axes.forEach((axis, index) => follow(index));
      change();
    };

    // Where a drag that begins at a place leads to: it moves an end, or the whole brush, or draws a new one.
    const dragFrom = (index, at, pixel) => {
      const range = ranges.get(index);
      const far = (end) => Math.abs(pixel(range[end]) - pixel(at));
      if (range && Math.min(far(0), far(1)) <= GRIP) {
        const other = range[far(0) <= far(1) ? 1 : 0];
        return (to) => [Math.min(other, to), Math.max(other, to)];
      }
      if (range && at > range[0] && at < range[1]) {
        const size = range[1] - range[0];
        return (to) => {
          const low = Math.max(bottoms[index], Math.min(1 - size, range[0] + to - at));
          return [low, low + size];
        };
      }
      return (to) => (Math.abs(pixel(to) - pixel(at)) < 3 ? null : [Math.min(at, to), Math.max(at, to)]);
    };

    // `axisAt(event)` gives the axis under the pointer or -1; `place(event)` and `pixel(place)` convert heights.
    // The surface listens, not the axes: these are laid anew with every change of the data, also during a drag.
    const bind = (surface, axisAt, place, pixel) => {
      let index = -1;
      let drag = null;
      surface.addEventListener("pointerdown", (event) => {
        index = axisAt(event);
        if (event.button !== 0 || index < 0) return;
        surface.setPointerCapture(event.pointerId);
        drag = dragFrom(index, place(event), pixel);
      });
      surface.addEventListener("pointermove", (event) => {
        const range = drag?.(place(event));
        if (range) set(index, ...range);
      });
      for (const end of ["pointerup", "pointercancel"]) surface.addEventListener(end, () => { drag = null; });
      surface.addEventListener("dblclick", (event) => {
        const axis = axisAt(event);
        if (axis >= 0) set(axis, bottoms[axis], 1);
      });
    };

    return { ranges, sliders, show, clear, bind };
  };
}
