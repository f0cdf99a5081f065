"use strict";

// Points of trials on two axes by uPlot. A kind of chart says what the points are and how they are painted.
{
  const { make } = bopp;
  const COUNTS = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)); // between ticks of numbers of trials
  const MOST = 1e300; // beyond it the difference of two ends overflows
  const spread = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

  // The ends of the values without outliers: a single exploded trial would flatten all others.
  bopp.inner = (values) => {
    const sorted = Float64Array.from(values).sort();
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const fence = 3 * (at(0.75) - at(0.25)) || Math.abs(at(0.5)) * 0.01;
    const low = Math.max(at(0.02), at(0.25) - fence);
    const high = Math.min(at(0.98), at(0.75) + fence);
    return sorted.filter((value) => value >= low && value <= high);
  };

  bopp.ends = (values, log = false, margin = 0.06) => {
    let [low, high] = spread(Array.from(values, (v) => Math.max(-MOST, Math.min(MOST, v))));
    if (log) [low, high] = [Math.log10(low), Math.log10(high)];
    const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-9;
    const pad = high - low > least ? (high - low) * margin : Math.abs(low) * 0.1 || 1;
    [low, high] = [low - pad, high + pad];
    return log ? [10 ** low, 10 ** high] : [low, high];
  };

  const ticks = (plot, splits, axis, space, step) => {
    const largest = Math.max(...splits.map(Math.abs));
    if (largest < 1e6 && step >= 1e-5) {
      const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
      const whole = step * 10 ** digits; // 2.5 for a step of 0.25, which needs one digit more
      return splits.map((value) => value.toFixed(Math.abs(whole - Math.round(whole)) > 1e-6 ? digits + 1 : digits));
    }
    const digits = Math.max(0, Math.min(12, Math.ceil(Math.log10(largest / step))));
    return splits.map((value) => (value === 0 ? "0" : value.toExponential(digits).replace(/\.?0+e/, "e").replace("e+", "e")));
  };
  // uPlot also proposes the ends of the range, which are no round numbers.
  const decades = (plot, splits) => splits.map((value) => {
    const first = value === null ? 0 : value / 10 ** Math.floor(Math.log10(value) + 1e-9);
    return [1, 2, 5].some((round) => Math.abs(first - round) < 1e-6) ? bopp.inWords(value) : null;
  });

  const axis = (label, colours, font, log) => ({
    label, font, labelFont: `600 ${font}`, stroke: colours.muted, labelSize: 24, gap: 4,
    grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1, size: 5 },
    values: log ? decades : ticks,
    space: (plot, index) => (index === 0 ? 70 : 40),
    size: (plot, values, index) => {
      const letter = parseInt(font, 10);
      if (index === 0) return letter + 16;
      return 14 + letter * 0.6 * Math.max(3, ...(values ?? []).map((value) => value?.length ?? 0));
    },
  });

  bopp.scatter = (box, kind) => {
    let plot = null;
    let scene = null; // what kind.scene made of the last data
    let zoom = null;
    let whole = false;
    let log = false;
    let picking = null;

    const button = (text, act) => make("button", { type: "button", textContent: text, hidden: true, onclick: act });
    const range = button("whole range", () => { whole = !whole; zoom = null; refit(); });
    const decade = button("log", () => { log = !log; zoom = null; build(); });
    const reset = button("reset zoom", () => { zoom = null; refit(); });
    const keys = bopp.keys([]);
    const note = make("p", { className: "hint" });
    const under = make("div", { className: "under" }, keys, note, range, decade, reset);
    box.after(under);

    const span = () => zoom ?? scene.span(whole, log);
    const position = (point) => [
      plot.valToPos(point.x, "x"),
      point.y === null ? plot.over.clientHeight - 5 : plot.valToPos(point.y, "y"),
    ];
    const find = (x, y, reach) => {
      let nearest = null;
      for (const point of scene.points) {
        const [left, top] = position(point);
        const distance = Math.hypot(left - x, top - y);
        if (distance < reach) [nearest, reach] = [{ ...point, x: left, y: top }, distance];
      }
      return nearest;
    };

    const paint = () => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      const brush = {
        ctx, unit: uPlot.pxRatio, bottom: bbox.top + bbox.height, colours: bopp.colours(),
        x: (value) => plot.valToPos(value, "x", true),
        y: (value) => plot.valToPos(value, "y", true),
      };
      scene.paint(brush);
      ctx.restore();
    };

    const select = () => {
      const { left, top, width, height } = plot.select;
      if (width < 5 || height < 5) return;
      zoom = {
        x: [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")],
        y: [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")],
      };
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      refit();
    };

    const columns = () => {
      const placed = scene.points.filter((point) => point.y !== null).sort((one, other) => one.x - other.x);
      return placed.length ? [placed.map((p) => p.x), placed.map((p) => p.y)] : [[0], [0]];
    };

    const build = () => {
      plot?.destroy();
      plot = null;
      under.hidden = !scene?.points.length;
      if (under.hidden || !box.clientWidth) return;
      const colours = bopp.colours();
      const style = getComputedStyle(box);
      const font = `${Math.round(parseFloat(style.fontSize) * 0.78)}px ${style.fontFamily}`;
      plot = new uPlot({
        width: box.clientWidth,
        height: box.clientHeight,
        padding: [8, 12, 0, 0],
        legend: { show: false },
        scales: { x: { time: false, range: () => span().x }, y: { distr: log ? 3 : 1, range: () => span().y } },
        series: [{}, { paths: () => null, points: { show: false } }],
        axes: [
          { ...axis(scene.names[0], colours, font, false), ...(scene.counts ? { incrs: COUNTS } : {}) },
          axis(scene.names[1], colours, font, log),
        ],
        cursor: {
          x: false, y: false, points: { show: false }, drag: { x: true, y: true, setScale: false },
          bind: { dblclick: () => () => { zoom = null; refit(); } },
        },
        hooks: { drawAxes: [paint], setSelect: [select] },
      }, columns(), box);
      const ring = make("div", { className: "ring", hidden: true });
      plot.over.append(ring);
      picking = bopp.picking(box, plot.over, find, (found) => {
        ring.hidden = found === null;
        if (found) [ring.style.left, ring.style.top] = [`${found.x}px`, `${found.y}px`];
      });
      label();
    };

    const refit = () => {
      if (!plot) return build();
      picking.hide();
      plot.setData(columns());
      label();
    };

    const label = () => {
      range.textContent = whole ? scene.near : "whole range";
      range.hidden = !whole && String(scene.span(false, log).y) === String(scene.span(true, log).y)
        && String(scene.span(false, log).x) === String(scene.span(true, log).x);
      decade.hidden = !scene.decades && !log;
      decade.setAttribute("aria-pressed", log);
      decade.setAttribute("aria-label", "logarithmic scale");
      reset.hidden = zoom === null;
      keys.replaceChildren(...bopp.keys(scene.keys).children);
      note.textContent = scene.note;
      note.hidden = !scene.note;
    };

    new ResizeObserver(() => {
      if (!plot) build();
      else if (box.clientWidth && (plot.width !== box.clientWidth || plot.height !== box.clientHeight)) {
        plot.setSize({ width: box.clientWidth, height: box.clientHeight });
      }
    }).observe(box);

    return {
      show: (data) => {
        const named = String(scene?.names);
        scene = kind(data);
        if (log && !scene.positive) log = false; // a value that is not positive has no place on this scale
        else if (plot && scene.points.length && String(scene.names) === named) return refit();
        build();
      },
      recolour: build,
    };
  };
}
