"use strict";

// Work that is asked for often and done seldom: never twice at once, and with `pause(took)` milliseconds between.
window.bopp ??= {};
bopp.paced = (work, pause) => {
  let busy = false;
  let again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      const began = performance.now();
      try {
        await work();
      } catch (error) {
        console.warn(error.message); // the next change asks again
      }
      const rest = pause(performance.now() - began);
      await new Promise((done) => { setTimeout(done, rest); });
    }
    busy = false;
  };
};
