"use strict";

// Small comforts of every page: times in the reader's zone, and forms that a double click sends once.
{
  const originals = new WeakSet();
  const two = (number) => String(number).padStart(2, "0");

  bopp.localTimes = (root) => {
    for (const element of root.querySelectorAll("time[datetime*=T]")) {
      const moment = new Date(element.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      if (!originals.has(element)) element.title = element.textContent.trim();
      originals.add(element);
      const clock = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
      const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
      element.textContent = moment.toDateString() === new Date().toDateString() ? clock : `${day} ${clock}`;
    }
  };
  bopp.localTimes(document);

  const sent = new Set();
  const enable = () => {
    bopp.leaving = false;
    for (const button of sent) button.disabled = false;
    sent.clear();
  };
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    bopp.leaving = true;
    // A button that is disabled already does not send its own name and value.
    setTimeout(() => {
      for (const button of event.target.elements) {
        if (button.type !== "submit" || button.disabled) continue;
        button.disabled = true;
        sent.add(button);
      }
    });
  });
  window.addEventListener("pageshow", enable);
}
