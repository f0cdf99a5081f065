"use strict";

// Values of trials in the order of their numbers, and the best so far.
bopp.convergence = (box) => bopp.scatter(box, (data) => {
  const { numbers, values, best, broken, failed, objective, direction } = data;
  const points = numbers.map((number, i) => ({
    x: number,
    y: values[i],
    number,
    broken: broken[i],
    text: `trial ${number}: ${bopp.inWords(values[i])}${broken[i] ? "\nbreaks a constraint" : ""}`,
  }));
  const lost = failed.map((number) => ({ x: number, y: null, number, text: `trial ${number}: failed` }));
  const bests = best.filter((value) => value !== null);
  const all = [...points, ...lost];
  const kept = [...bopp.inner(values), ...bests.slice(-1)];
  const positive = values.every((value) => value > 0);
  const most = all.reduce((highest, point) => Math.max(highest, point.x), 0);
  const least = all.reduce((lowest, point) => Math.min(lowest, point.x), most);

  const square = ({ ctx, unit }, x, y) => ctx.strokeRect(x - 3.5 * unit, y - 3.5 * unit, 7 * unit, 7 * unit);

  const paint = (brush) => {
    const { ctx, unit, bottom, colours } = brush;
    ctx.fillStyle = colours.dots;
    ctx.strokeStyle = colours.broken;
    ctx.lineWidth = 1.5 * unit;
    const radius = (points.length > 1000 ? 2 : 3) * unit;
    for (const point of points) {
      const [x, y] = [brush.x(point.x), brush.y(point.y)];
      if (point.broken) {
        square(brush, x, y);
      } else {
        ctx.beginPath();
        ctx.arc(x, y, radius, 0, 7);
        ctx.fill();
      }
    }
    ctx.fillStyle = colours.line;
    for (const point of lost) ctx.fillRect(brush.x(point.x) - unit, bottom - 9 * unit, 2 * unit, 9 * unit);
    ctx.strokeStyle = colours.line;
    ctx.lineWidth = 2 * unit;
    ctx.beginPath();
    let level = null;
    numbers.forEach((number, i) => {
      if (best[i] === null) return;
      const [x, y] = [brush.x(number), brush.y(best[i])];
      if (level === null) ctx.moveTo(x, y);
      else ctx.lineTo(x, level);
      if (y !== level) ctx.lineTo(x, y);
      level = y;
    });
    if (level !== null) ctx.lineTo(brush.x(most), level);
    ctx.stroke();
  };

  return {
    points: all,
    paint,
    positive,
    counts: true,
    names: ["trial", `${bopp.cut(objective, 24)} (${direction})`],
    near: "near the best",
    decades: positive && Math.max(...values) / Math.min(...values) > 1000,
    span: (whole, log) => ({
      x: bopp.ends([least, Math.max(most, least + 5)], false, 0.02),
      y: values.length ? bopp.ends(whole ? [...values, ...bests] : kept, log) : [0, 1],
    }),
    keys: [
      ["dots", "trial"],
      ["line", "best so far"],
      ...(broken.includes(true) ? [["broken", "breaks a constraint"]] : []),
      ...(failed.length ? [["failed", "failed (at the bottom)"]] : []),
    ],
    note: data.shown < data.total ? `${data.shown} of ${data.total} trials are drawn.` : "",
  };
});
