// Answers by key, shows the next pair at once, and keeps answers while there is no connection.
// Without this script every button is a plain form, and so are practice pairs with it.
"use strict";
(() => {
  const pairs = document.getElementById("pairs");
  if (!pairs) return;
  document.documentElement.classList.add("script");
  const { base, csrf } = pairs.dataset;
  const home = `${base}/`;
  const notice = document.getElementById("notice");
  const says = document.getElementById("says");
  const keys = document.getElementById("keys");
  const FIRST_WAIT = 2000, LONGEST_WAIT = 30000, PATIENCE = 20000;
  let shownAt = performance.now();
  let isSending = false, isFetching = false, isLeaving = false, isUndoing = false;
  let wait = FIRST_WAIT, timer = 0, state = "judging", isPausing = false;

  // Answers that the server has not confirmed, the oldest first; they outlive the page.
  const store = `comparity ${csrf.slice(0, 16)}`;
  const remember = (name, value) => {
    try {
      localStorage.setItem(name, value);
    } catch {
      // A browser without storage keeps answers until the page is closed.
    }
  };
  const recall = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  let queue = JSON.parse(recall(store) || "[]");
  const save = () => remember(store, JSON.stringify(queue));

  const present = () => pairs.firstElementChild;
  const isPractice = () => present()?.dataset.kind === "practice";
  const held = () => [...pairs.children].map((one) => one.dataset.assignment);
  const tell = (text) => {
    if (notice.textContent !== text) notice.textContent = text;
  };

  function post(path, fields) {
    const headers = { Accept: "application/json" };
    const body = new URLSearchParams({ ...fields, csrf });
    return fetch(base + path, { method: "POST", body, headers, signal: AbortSignal.timeout(PATIENCE) });
  }

  function leave() {
    isLeaving = true;
    location.replace(home);
  }

  function show() {
    shownAt = performance.now();
    const pair = present();
    if (!pair || isPausing) {
      setTimeout(() => (present() && !isPausing) || isLeaving || notice.textContent || tell(pairs.dataset.waiting), 1000);
      return;
    }
    pair.hidden = false;
    says.textContent = pair.dataset.says;
    scrollTo(0, 0);
    pair.querySelector(".item").focus({ preventScroll: true });
  }

  function add(html, isFirst) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const pair = holder.content.querySelector(".pair");
    const name = pair?.dataset.assignment;
    if (!pair || held().includes(name) || queue.some((one) => one.assignment === name)) return;
    if (isFirst) {
      if (present()) present().hidden = true;
      pairs.prepend(pair);
    } else {
      pair.hidden = pairs.childElementCount > 0;
      pairs.append(pair);
    }
    if (present() === pair) {
      tell("");
      show();
    }
  }

  // Fetches the pair after the present one, or the present one where none is shown.
  async function fill() {
    if (isFetching || isLeaving || isUndoing || queue.length || isPractice() || pairs.childElementCount > 1) return;
    if (present()?.dataset.pauses) return;
    isFetching = true;
    const isEmpty = !present();
    try {
      const answer = await fetch(`${base}/ahead${isEmpty ? "?instead=present" : ""}`, { signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status === 200 && !isUndoing) add(await answer.text(), false);
      else if (isEmpty && answer.status === 204) leave();
    } catch {
      if (isEmpty) later();
    } finally {
      isFetching = false;
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(send, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }

  function isKept() {
    tell(pairs.dataset.offline.replace("{n}", queue.length));
    later();
  }

  function progress({ done, of }) {
    document.getElementById("bar").value = done;
    document.getElementById("bar").max = of;
    const count = document.getElementById("count");
    count.textContent = count.dataset.form.replace("{done}", done).replace("{of}", of);
  }

  // Sends the oldest answer until none is left. The server stores an id once, so that an answer
  // whose confirmation was lost may be sent again.
  async function send() {
    if (isSending || isLeaving) return;
    isSending = true;
    const wasWaiting = queue.length > 1 || notice.textContent !== "";
    let refused = "";
    while (queue.length && !isLeaving) {
      try {
        const answer = await post("/judgment", queue[0]);
        if (answer.status === 429 || answer.status >= 500) throw new Error("later");
        const told = await answer.json();
        queue.shift();
        save();
        if (answer.ok) {
          state = told.state;
          progress(told);
        } else refused = told.message;
        wait = FIRST_WAIT;
      } catch {
        isSending = false;
        isKept();
        return;
      }
    }
    isSending = false;
    if (isLeaving) return;
    if (refused) {
      // What is shown was fetched before: the server says what is next.
      tell(refused);
      setTimeout(leave, 2500);
    } else if (state !== "judging") leave();
    else {
      if (wasWaiting && present()) tell("");
      if (isPausing) {
        isPausing = false;
        if (present()) show();
      }
      fill();
    }
  }

  function answer(form, outcome) {
    const fields = Object.fromEntries(new FormData(form));
    delete fields.csrf;
    fields.outcome = outcome;
    fields.milliseconds = Math.round(performance.now() - shownAt);
    queue.push(fields);
    save();
    // After this one comes a break or the end: the server says which.
    isPausing = Boolean(present().dataset.pauses);
    present().remove();
    show();
    send();
  }

  async function undo() {
    if (isUndoing) return;
    if (queue.length) {
      tell(pairs.dataset.undoWaits);
      return;
    }
    isUndoing = true;
    const id = [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
    try {
      const answer = await post("/undo", { client_id: id });
      if (answer.ok) {
        const told = await answer.json();
        // The pair that was fetched ahead comes after the present one, which is now second.
        while (pairs.childElementCount > 1) pairs.lastElementChild.remove();
        const isSame = held().some((one) => told.pair.includes(`data-assignment="${one}"`));
        add(told.pair, true);
        progress(told);
        tell(isSame ? pairs.dataset.nothing : "");
      } else tell((await answer.json()).message);
    } catch {
      tell(pairs.dataset.undoWaits);
    }
    isUndoing = false;
  }

  document.addEventListener("submit", (event) => {
    if (event.target.id === "undo") {
      event.preventDefault();
      undo();
    } else if (event.target.closest(".pair")) {
      if (isPractice()) {
        event.target.elements.milliseconds.value = Math.round(performance.now() - shownAt);
      } else {
        event.preventDefault();
        answer(event.target, event.submitter?.value || "skip");
      }
    }
  });

  const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skip", u: "undo" };
  document.addEventListener("keydown", (event) => {
    // The digits of a rating are the values of their buttons.
    const name = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key] || (/^[1-9]$/.test(event.key) && event.key);
    const isTyping = event.target.closest?.("input, summary, textarea, select");
    if (!name || !keys.checked || isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    const button = present()?.querySelector(`button[value="${name}"]`);
    if (!button) return;
    event.preventDefault();
    if (!event.repeat) button.click();
  });
  keys.checked = recall("comparity keys") !== "off";
  keys.addEventListener("change", () => remember("comparity keys", keys.checked ? "on" : "off"));

  const note = (kind) => navigator.sendBeacon(`${base}/event`, new URLSearchParams({ kind, csrf }));
  document.addEventListener("visibilitychange", () => note(document.hidden ? "focus lost" : "focus gained"));
  addEventListener("online", () => {
    wait = FIRST_WAIT;
    send();
  });
  addEventListener("offline", () => queue.length && isKept());
  addEventListener("beforeunload", (event) => {
    if (queue.length && !isLeaving) event.preventDefault();
  });
  // A page from the browser's memory may be older than what was answered since.
  addEventListener("pageshow", (event) => event.persisted && leave());

  if (queue.some((one) => one.assignment === present().dataset.assignment)) {
    present().remove();
    show();
  }
  if (queue.length) send();
  else fill();
})();
