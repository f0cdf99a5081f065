"use strict";

// What every chart needs: elements, colours of the theme, and a tip at the trial under the pointer.
window.bopp ??= {};
{
  // Texts come from data, so they are only ever set as text, never as markup.
  bopp.make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  bopp.colours = () => {
    const style = getComputedStyle(document.documentElement);
    const names = "panel text muted edge grid faded dots line better worse best broken".split(" ");
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };

  bopp.trialAddress = (box, number) =>
    `/trial?name=${encodeURIComponent(box.dataset.name ?? "")}&number=${number}`;

  bopp.inWords = (value) => {
    const size = Math.abs(value);
    const rounded = Number(value.toPrecision(6));
    return size !== 0 && (size < 1e-4 || size >= 1e7) ? rounded.toExponential().replace("e+", "e") : String(rounded);
  };

  // A legend: pairs of the class of a mark and its words.
  bopp.keys = (pairs) => bopp.make("ul", { className: "keys" }, ...pairs.map(([name, words]) =>
    bopp.make("li", {}, bopp.make("span", { className: `key ${name}` }), words)));

  bopp.cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);

  // `find(x, y, reach)` gives {number, text, x, y} or null, in pixels of the surface; `mark(found)` highlights.
  bopp.picking = (box, surface, find, mark = () => {}) => {
    const tip = bopp.make("div", { className: "tip", hidden: true });
    surface.append(tip);
    let held = null;
    let pressed = null;

    const place = (event) => {
      const edge = surface.getBoundingClientRect();
      return find(event.clientX - edge.left, event.clientY - edge.top, event.pointerType === "touch" ? 28 : 14);
    };
    const show = (found) => {
      held = found?.number ?? null;
      mark(found);
      surface.classList.toggle("found", found !== null);
      tip.hidden = found === null;
      if (found === null) return;
      tip.textContent = found.text;
      const scrolls = surface.clientWidth > box.clientWidth;
      const left = found.x < (scrolls ? box.scrollLeft + box.clientWidth / 2 : surface.clientWidth / 2);
      tip.style.left = left ? `${found.x + 14}px` : "auto";
      tip.style.right = left ? "auto" : `${surface.clientWidth - found.x + 14}px`;
      tip.style.top = `${Math.max(0, Math.min(found.y - 14, surface.clientHeight - tip.offsetHeight))}px`;
    };

    surface.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") show(event.buttons === 0 ? place(event) : null);
    });
    surface.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") show(null);
    });
    surface.addEventListener("pointerdown", (event) => {
      pressed = { x: event.clientX, y: event.clientY, touch: event.pointerType === "touch", held };
    });
    surface.addEventListener("click", (event) => {
      if (!pressed || Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 4) return;
      const found = place(event);
      // A finger cannot hover: its first tap shows the trial, the second one opens it.
      if (found === null || (pressed.touch && pressed.held !== found.number)) return show(found);
      const address = bopp.trialAddress(box, found.number);
      if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
      else location.assign(address);
    });
    return { hide: () => show(null) };
  };
}
