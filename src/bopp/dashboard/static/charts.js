"use strict";

// Fetches the data of every chart of the page, and again when live.js says that the study changed.
{
  const kinds = { convergence: bopp.convergence, front: bopp.front, parallel: bopp.parallel };

  const start = (box) => {
    const chart = kinds[box.dataset.chart](box);
    const empty = bopp.make("p", { className: "empty", hidden: true });
    box.before(empty); // what is within role="img" is not read out
    const say = (text) => {
      empty.textContent = text;
      empty.hidden = !text;
    };
    const load = bopp.paced(async () => {
      const answer = await fetch(box.dataset.src, { credentials: "same-origin", cache: "no-store" });
      if (!answer.ok) {
        if (!box.dataset.drawn) say("There is no data for this chart yet.");
        return;
      }
      const data = await answer.json();
      const count = (data.lines ?? data.numbers).length + (data.failed?.length ?? 0);
      say(count ? "" : "No trial has finished yet.");
      if (!count && !box.dataset.drawn) return;
      box.dataset.drawn = "yes";
      chart.show(data);
    }, (took) => Math.max(0, 1000 - took));
    load();
    return { load, recolour: chart.recolour };
  };

  const charts = [...document.querySelectorAll(".chart[data-chart]")].filter((box) => box.dataset.chart in kinds).map(start);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.recolour()));
  bopp.reloadCharts = () => charts.forEach((chart) => chart.load());
}
