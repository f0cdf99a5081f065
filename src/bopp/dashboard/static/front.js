"use strict";

// Trials by two objectives, and the stairs of those that no other one beats in both.
bopp.front = (box) => bopp.scatter(box, (data) => {
  const { names, numbers, places, directions, reference } = data;
  const words = { front: "on the front", dominated: "dominated", broken: "breaks a constraint", incomplete: "incomplete" };
  const finite = numbers.flatMap((number, i) => (Number.isFinite(data.x[i]) && Number.isFinite(data.y[i]) ? [i] : []));
  const points = finite.map((i) => ({
    x: data.x[i],
    y: data.y[i],
    number: numbers[i],
    place: places[i],
    text: `trial ${numbers[i]}, ${words[places[i]]}\n${names[0]}: ${bopp.inWords(data.x[i])}\n${names[1]}: ${bopp.inWords(data.y[i])}`,
  }));
  const front = points.filter((point) => point.place === "front").sort((one, other) => one.x - other.x);

  const stairs = ({ ctx, unit, colours, ...brush }) => {
    ctx.strokeStyle = colours.better;
    ctx.lineWidth = 1.5 * unit;
    ctx.beginPath();
    front.forEach((point, i) => {
      const [x, y] = [brush.x(point.x), brush.y(point.y)];
      if (i === 0) return ctx.moveTo(x, y);
      const before = front[i - 1];
      // Between two points, the one that is attained is the one with the better first objective.
      if (directions[0] === "minimize") ctx.lineTo(x, brush.y(before.y));
      else ctx.lineTo(brush.x(before.x), y);
      ctx.lineTo(x, y);
    });
    ctx.stroke();
  };

  const dot = ({ ctx, unit, colours }, place, x, y) => {
    ctx.lineWidth = 1.5 * unit;
    ctx.strokeStyle = place === "broken" ? colours.broken : colours.dots;
    ctx.fillStyle = place === "front" ? colours.better : colours.dots;
    if (place === "broken") return ctx.strokeRect(x - 3.5 * unit, y - 3.5 * unit, 7 * unit, 7 * unit);
    ctx.beginPath();
    ctx.arc(x, y, (place === "front" ? 5 : 3) * unit, 0, 7);
    if (place === "incomplete") ctx.stroke();
    else ctx.fill();
  };

  const paint = (brush) => {
    for (const place of ["incomplete", "dominated", "broken", "front"]) {
      if (place === "front" && data.objectives === 2) stairs(brush); // of more, two bound nothing
      for (const point of points) if (point.place === place) dot(brush, place, brush.x(point.x), brush.y(point.y));
    }
    if (reference === null) return;
    const [x, y, size] = [brush.x(reference[0]), brush.y(reference[1]), 7 * brush.unit];
    brush.ctx.strokeStyle = brush.colours.text;
    brush.ctx.lineWidth = 2 * brush.unit;
    brush.ctx.stroke(new Path2D(`M${x - size} ${y}H${x + size}M${x} ${y - size}V${y + size}`));
  };

  const span = (key, at) => (whole) => {
    const values = points.map((point) => point[key]);
    if (whole && reference !== null) values.push(reference[at]);
    return bopp.ends(whole ? values : [...bopp.inner(values), ...front.map((point) => point[key])]);
  };

  return {
    points,
    paint,
    positive: false,
    decades: false,
    names: names.map((name, i) => `${bopp.cut(name, 24)} (${directions[i]})`),
    near: "near the front",
    span: (whole) => ({ x: span("x", 0)(whole), y: span("y", 1)(whole) }),
    keys: [
      ...Object.entries(words).filter(([place]) => places.includes(place)),
      ...(reference === null ? [] : [["reference", "reference point"]]),
    ],
    note: data.shown < data.total ? `${data.shown} of ${data.total} trials are drawn.` : "",
  };
});
