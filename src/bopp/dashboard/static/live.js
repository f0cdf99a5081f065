"use strict";

// Keeps the page in step with the store: follows its versions and swaps what changed.
{
  const { body } = document;
  const events = body.dataset.events;
  const LOST = "The dashboard does not answer: it was stopped, or the connection is lost. Trying again.";
  const SIGNED_OUT = "This page is no longer signed in: open the link that bopp dashboard prints when it starts.";
  const banner = document.getElementById("trouble");

  const troubles = { signedOut: "", lost: "", answer: "", store: banner && !banner.hidden ? banner.textContent : "" };
  const trouble = (kind, text) => {
    troubles[kind] = text ?? "";
    if (!banner) return;
    const said = Object.values(troubles).find(Boolean) ?? "";
    if (banner.textContent !== said) banner.textContent = said;
    banner.hidden = !said;
  };
  const judgeSigning = (status) => trouble("signedOut", status === 401 || status === 403 ? SIGNED_OUT : "");
  const judge = (status) => {
    judgeSigning(status);
    const wrong = status >= 400 && !troubles.signedOut;
    trouble("answer", wrong ? `The dashboard answered with error ${status}: reload the page to see why.` : "");
    return status < 400;
  };

  let shown = body.dataset.version ?? "";
  let wanted = shown;

  const touched = new WeakSet();
  document.addEventListener("input", (event) => touched.add(event.target));
  const edited = (section) => [...section.querySelectorAll("input, select, textarea")].some(
    (field) => field === document.activeElement || touched.has(field));

  // A section that goes between the press and the release of a button would swallow the click.
  let pressed = false;
  document.addEventListener("pointerdown", () => { pressed = true; });
  for (const end of ["pointerup", "pointercancel", "dragend"]) {
    document.addEventListener(end, () => setTimeout(() => { pressed = false; }), true);
  }
  const released = async () => {
    for (let turn = 0; pressed && turn < 40; turn += 1) await new Promise((done) => { setTimeout(done, 50); });
  };

  const counterpart = (element, section) => {
    if (element.id) return document.getElementById(element.id);
    const same = (name) => element.hasAttribute(name)
      && [...section.querySelectorAll(`[${name}]`)].find((other) => other.getAttribute(name) === element.getAttribute(name));
    return same("href") || same("aria-label") || null;
  };

  const replace = (old, section) => {
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    for (const details of old.querySelectorAll("details[id]")) {
      const fresh = section.querySelector(`#${CSS.escape(details.id)}`);
      if (fresh) fresh.open = details.open;
    }
    const scrollers = (root) => [...root.querySelectorAll(".scroll, pre")];
    const scrolled = scrollers(old).map((element) => [element.scrollLeft, element.scrollTop]);
    bopp.localTimes(section);
    old.replaceWith(section);
    scrollers(section).forEach((element, i) => {
      if (scrolled[i]) [element.scrollLeft, element.scrollTop] = scrolled[i];
    });
    if (focused) counterpart(focused, section)?.focus({ preventScroll: true });
  };

  const texts = new Map(); // what each section was made of: one that did not change stays, and so does a selection in it
  const swap = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    // where nothing could be shown and now something can, there is a whole page to show; but not instead of a form's answer
    if (!bopp.leaving && [...document.querySelectorAll("[data-reload][id]")].some((gone) => !fresh.getElementById(gone.id))) location.reload();
    for (const part of fresh.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(part.id);
      if (!old || edited(old) || texts.get(part.id) === part.outerHTML) continue;
      texts.set(part.id, part.outerHTML);
      replace(old, document.importNode(part, true));
    }
  };

  const refetch = bopp.paced(async () => {
    const version = wanted;
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("live", "1");
    const answer = await fetch(address, { credentials: "same-origin", cache: "no-store" });
    if (!judge(answer.status)) return;
    const text = await answer.text();
    await released();
    swap(text);
    shown = version;
    refreshPictures();
  }, () => 0);

  setInterval(() => {
    if (!document.hidden && document.querySelector("[data-wait]")) refetch();
  }, 1000);

  const pictures = new WeakMap();
  const onScreen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const picture = pictures.get(entry.target);
      picture.visible = entry.isIntersecting;
      picture.refresh();
    }
  });
  const follow = (frame) => {
    const image = frame.querySelector("img");
    const picture = { visible: false, version: null };
    let drawn = false;
    let turn = 0; // so that no two have the same address
    const load = bopp.paced(async () => {
      const version = wanted;
      const live = image.dataset.liveSrc;
      const address = `${live}${live.includes("?") ? "&" : "?"}at=${version}.${turn += 1}`;
      const answer = await fetch(address, { credentials: "same-origin", cache: "no-store" });
      drawn = answer.status === 200;
      const current = answer.headers.get("Bopp-Current") !== "no";
      if (drawn) {
        const next = new Image();
        next.src = address;
        await next.decode();
        image.previousElementSibling.srcset = `${address} 2x`; // twice the dots, for fine screens
        image.parentElement.hidden = false;
        frame.querySelector(".hint")?.remove();
      }
      if (drawn && current) picture.version = version;
      else setTimeout(picture.refresh, 1000); // it is being drawn
    }, (took) => (drawn ? Math.max(3000, 5 * took) : 900));
    picture.refresh = () => {
      if (picture.visible && picture.version !== wanted) load();
    };
    pictures.set(frame, picture);
    onScreen.observe(frame);
  };
  const refreshPictures = () => {
    for (const frame of document.querySelectorAll("a.scripted")) {
      if (pictures.has(frame)) pictures.get(frame).refresh();
      else follow(frame);
    }
  };
  refreshPictures();

  const see = (message) => {
    trouble("store", message.trouble);
    if (String(message.version) === wanted && wanted === shown) return;
    wanted = String(message.version);
    refetch();
    bopp.reloadCharts();
    refreshPictures();
  };

  // EventSource tells no status and gives up for good after an answer that is an error: ask why, and open anew.
  let source = null;
  let delay = 1000;
  let reopening = 0;
  let losing = 0;
  const why = async () => {
    const stop = new AbortController();
    try {
      const answer = await fetch(events, { credentials: "same-origin", cache: "no-store", signal: stop.signal });
      judgeSigning(answer.status);
    } catch {
      // not reachable at all: the banner says so
    }
    stop.abort();
  };
  const close = () => {
    source?.close();
    source = null;
    clearTimeout(reopening);
    clearTimeout(losing);
    losing = 0;
  };
  const open = () => {
    source?.close();
    source = new EventSource(events);
    source.addEventListener("seen", (event) => see(JSON.parse(event.data)));
    source.addEventListener("open", () => {
      clearTimeout(losing);
      losing = 0;
      delay = 1000;
      const back = troubles.lost || troubles.signedOut;
      trouble("lost", "");
      if (back) refetch();
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) why();
      source.close();
      losing ||= setTimeout(() => trouble("lost", LOST), 2000);
      clearTimeout(reopening);
      reopening = setTimeout(open, delay);
      delay = Math.min(5000, delay * 2);
    });
  };
  const attend = () => {
    if (document.hidden) close();
    else if (!source) open();
  };
  if (events) {
    attend();
    document.addEventListener("visibilitychange", attend);
    window.addEventListener("pagehide", close); // a page with an open connection is not kept for the way back
    window.addEventListener("pageshow", attend);
  }
}
