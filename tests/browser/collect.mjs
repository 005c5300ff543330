// Judges a study in a real browser and prints, as JSON, what was seen and answered.
// Usage: node collect.mjs NODE_MODULES CHROMIUM SCENARIO ADDRESS [TOKEN] [PICTURES]
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [modules, executablePath, scenario, address, token, pictures] = process.argv.slice(2);
const require = createRequire(join(modules, "look.cjs"));
const { chromium } = require("playwright-core");
const ARGUMENTS =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const LINK = `${address}/j/${token}`;
const OUTCOMES = ["left", "right", "tie", "right", "left", "skip"];
const LIMIT = 200;

const browser = await chromium.launch({ executablePath, args: ARGUMENTS.split(" ") });
const said = [];
const foreign = [];

async function open(options = {}) {
  const context = await browser.newContext(options);
  context.on("page", (page) => {
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    page.on("request", (request) => request.url().startsWith(address) || foreign.push(request.url()));
  });
  return [context, await context.newPage()];
}

// Looks at a page that may be about to give way to the next.
async function steady(page, look) {
  for (let step = 0; ; step += 1) {
    try {
      return await look();
    } catch (error) {
      if (step > 20 || !/context was destroyed|navigat/i.test(String(error))) throw error;
      await page.waitForLoadState();
    }
  }
}

// The pair that is shown: its id, and the texts of its items.
const PAIR = ".pair:not([hidden])";
const shown = (page) =>
  steady(page, () =>
    page.evaluate((selector) => {
      const pair = document.querySelector(selector);
      if (!pair) return null;
      const [left, right] = [...pair.querySelectorAll(".item .text")].map((one) => one.textContent.trim());
      return { id: pair.dataset.assignment, kind: pair.dataset.kind, left, right };
    }, PAIR),
  );
const heading = (page) => page.locator("h1").textContent();
const count = (page) => page.locator("#count").textContent();

// Waits until another pair is shown, or another page.
const changed = (page, before) =>
  steady(page, () =>
    page.waitForFunction(
      ([selector, id]) => {
        const pair = document.querySelector(selector);
        return pair ? pair.dataset.assignment !== id : !document.getElementById("pairs");
      },
      [PAIR, before.id],
    ),
  );

// Presses what leads to another page.
const leave = (page, press) => Promise.all([page.waitForNavigation(), press()]);

// Goes through a whole study; `act` presses what stands for an outcome or a button of a page.
async function judge(page, act, most = LIMIT) {
  const answers = [];
  for (let step = 0; step < LIMIT && answers.length < most; step += 1) {
    const pair = await shown(page);
    if (pair) {
      const outcome = OUTCOMES[answers.length % OUTCOMES.length];
      if (pair.kind === "practice") await leave(page, () => act(outcome, page));
      else {
        await act(outcome, page);
        answers.push({ ...pair, outcome });
        await changed(page, pair);
      }
    } else if ((await page.locator(".code").count()) || !(await page.locator(".main").count())) break;
    else {
      for (const one of await page.locator("fieldset").all()) await one.locator("label").first().click();
      await leave(page, () => act("main", page));
    }
  }
  return { answers, heading: await heading(page), code: await page.locator(".code").allTextContents() };
}

const KEYS = { left: "ArrowLeft", right: "ArrowRight", tie: "ArrowDown", skip: "s" };
async function byKey(outcome, page) {
  if (outcome !== "main") return page.keyboard.press(KEYS[outcome]);
  // From the top of the page to the button by Tab, as somebody without a mouse would.
  for (let step = 0; step < 30; step += 1) {
    if (await page.evaluate(() => document.activeElement?.matches(".main"))) break;
    await page.keyboard.press("Tab");
  }
  return page.keyboard.press("Enter");
}
const target = (outcome) => (outcome === "main" ? ".main" : `${PAIR} button[value="${outcome}"]`);
const byTouch = (outcome, page) => page.locator(target(outcome)).tap();
const byMouse = (outcome, page) => page.locator(target(outcome)).click();

async function axe(page) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async (tags) => {
    const result = await globalThis.axe.run(document, { runOnly: { type: "tag", values: tags } });
    const small = [...document.querySelectorAll("button, a.button, summary, label")]
      .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
      .filter(([, box]) => box.width && (box.height < 44 || box.width < 44))
      .map(([text, box]) => `${text} ${box.width} x ${box.height}`);
    return {
      violations: result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160))}`),
      passes: result.passes.map((one) => one.id),
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      small,
    };
  }, TAGS);
}

const SCREENS = {
  "light-wide": { colorScheme: "light", viewport: { width: 1200, height: 800 } },
  "dark-wide": { colorScheme: "dark", viewport: { width: 1200, height: 800 } },
  "light-phone": { colorScheme: "light", ...PHONE },
  "dark-phone": { colorScheme: "dark", ...PHONE },
  "light-360": { colorScheme: "light", viewport: { width: 360, height: 740 } },
  "light-320": { colorScheme: "light", viewport: { width: 320, height: 568 } },
};

async function logIn(page) {
  await page.goto(`${address}/study`);
  await page.fill("#password", token);
  await leave(page, () => page.locator("button.main").click());
}
const judged = (page) => page.locator(".facts strong").first().textContent();

const SCENARIOS = {
  async keyboard() {
    const [, page] = await open();
    await page.goto(LINK);
    return judge(page, byKey);
  },
  async touch() {
    const [, page] = await open(PHONE);
    await page.goto(LINK);
    return judge(page, byTouch);
  },
  async "no script"() {
    const [, page] = await open({ javaScriptEnabled: false });
    await page.goto(LINK);
    // Without scripts in the page, what is shown is read from outside.
    const answers = [];
    for (let step = 0; step < LIMIT; step += 1) {
      if (await page.locator("input[type=radio]").count()) {
        for (const one of await page.locator("fieldset").all()) await one.locator("label").first().click();
      }
      if (await page.locator(".pair").count()) {
        const outcome = OUTCOMES[answers.length % OUTCOMES.length];
        const texts = await page.locator(".item .text").allTextContents();
        const isPractice = (await page.locator(".pair").getAttribute("data-kind")) === "practice";
        await page.locator(`button[value="${outcome}"]`).click();
        const [left, right] = texts.map((one) => one.trim());
        if (!isPractice) answers.push({ left, right, outcome });
      } else if ((await page.locator(".code").count()) || !(await page.locator(".main").count())) break;
      else await page.locator(".main").first().click();
      await page.waitForLoadState();
    }
    return { answers, heading: await heading(page), code: await page.locator(".code").allTextContents() };
  },
  async offline() {
    const [context, page] = await open();
    await page.goto(LINK);
    const first = await judge(page, byMouse, 1);
    await page.waitForFunction(() => document.querySelectorAll(".pair").length === 2);
    await context.setOffline(true);
    const away = [];
    for (const outcome of ["left", "right"]) {
      const pair = await shown(page);
      await byKey(outcome, page);
      away.push({ ...pair, outcome });
      await page.waitForTimeout(100);
    }
    await page.waitForFunction(() => /: 2\./.test(document.getElementById("notice").textContent));
    const notice = await page.locator("#notice").textContent();
    // The server stored the answer, and the confirmation was lost: it is sent again, stored once.
    await context.setOffline(false);
    await page.waitForSelector(PAIR);
    const kept = await page.evaluate(() => Object.keys(localStorage).map((name) => localStorage.getItem(name)));
    const rest = await judge(page, byMouse);
    return { answers: [...first.answers, ...away, ...rest.answers], notice, kept, heading: rest.heading };
  },
  async "lost confirmation"() {
    const [context, page] = await open();
    await page.goto(LINK);
    await judge(page, byMouse, 1);
    let sent = 0;
    await context.route("**/judgment", async (route) => {
      sent += 1;
      const answer = await route.fetch();
      if (sent === 1) await route.abort();
      else await route.fulfill({ response: answer });
    });
    const pair = await shown(page);
    await byKey("left", page);
    await page.waitForFunction(() => document.getElementById("notice").textContent !== "");
    await page.waitForFunction(() => document.getElementById("notice").textContent === "", null, { timeout: 20000 });
    const rest = await judge(page, byMouse);
    return { sent, id: pair.id, answers: rest.answers, heading: rest.heading };
  },
  async "closed while offline"() {
    const [context, page] = await open();
    await page.goto(LINK);
    await judge(page, byMouse, 1);
    await page.waitForFunction(() => document.querySelectorAll(".pair").length === 2);
    await context.setOffline(true);
    const pair = await shown(page);
    await byKey("left", page);
    await page.waitForTimeout(300);
    await page.close({ runBeforeUnload: false });
    await context.setOffline(false);
    const again = await context.newPage();
    await again.goto(`${address}/`);
    await again.waitForFunction(() => !Object.values(localStorage).some((one) => one.includes("outcome")));
    const rest = await judge(again, byMouse);
    return { id: pair.id, answers: [{ ...pair, outcome: "left" }, ...rest.answers], heading: rest.heading };
  },
  async tabs() {
    const [context, page] = await open();
    await page.goto(LINK);
    await judge(page, byMouse, 1);
    const second = await context.newPage();
    await second.goto(`${address}/`);
    const same = [(await shown(page)).id, (await shown(second)).id];
    const pair = await shown(page);
    await byKey("left", page);
    await changed(page, pair);
    await byKey("right", second);
    await changed(second, pair);
    const first = await judge(page, byMouse, 2);
    const rest = await judge(second, byMouse);
    return { same, counted: first.answers.length + rest.answers.length, heading: rest.heading };
  },
  async undo() {
    const [, page] = await open();
    await page.goto(LINK);
    await judge(page, byMouse, 1);
    const pair = await shown(page);
    const before = await count(page);
    await byKey("left", page);
    await changed(page, pair);
    await page.waitForFunction(() => document.querySelectorAll(".pair").length === 2);
    await page.keyboard.press("u");
    await page.waitForFunction(([selector, id]) => document.querySelector(selector)?.dataset.assignment === id, [PAIR, pair.id]);
    const after = await count(page);
    await byKey("right", page);
    await changed(page, pair);
    const rest = await judge(page, byMouse);
    return { pair: { ...pair, outcome: "right" }, before, after, answers: rest.answers, heading: rest.heading };
  },
  async elsewhere() {
    const [, page] = await open();
    await page.goto(LINK);
    const first = await judge(page, byMouse, 3);
    const left = await shown(page);
    const [, phone] = await open(PHONE);
    await phone.goto(LINK);
    const resumed = await shown(phone);
    const rest = await judge(phone, byTouch);
    return { left, resumed, answers: [...first.answers, ...rest.answers], heading: rest.heading };
  },
  async hostile() {
    const [, page] = await open();
    await page.goto(LINK);
    const result = await judge(page, byMouse, LIMIT);
    const title = await page.title();
    return { n: result.answers.length, heading: result.heading, title, ran: await page.evaluate(() => globalThis.ran ?? null) };
  },
  // The dashboard of whoever runs the study; the password is in the place of the token.
  async dashboard() {
    const [, page] = await open();
    await logIn(page);
    await page.evaluate(() => (globalThis.mark = "same page"));
    const counted = [await judged(page)];
    const [, judge] = await open();
    await judge.goto(`${address}/join`);
    await leave(judge, () => byMouse("main", judge));
    for (let n = 1; n <= 3; n += 1) {
      const pair = await shown(judge);
      await byMouse(["left", "right", "tie"][n - 1], judge);
      await changed(judge, pair);
      await page.waitForFunction((text) => document.querySelector(".facts strong").textContent === text, String(n), { timeout: 60000 });
      counted.push(await judged(page));
    }
    const mark = await page.evaluate(() => globalThis.mark);
    await leave(page, () => page.locator("#pause").click());
    await judge.goto(`${address}/`);
    const paused = await heading(judge);
    await leave(page, () => page.locator("#resume").click());
    await judge.goto(`${address}/`);
    const resumed = (await shown(judge)) !== null;
    await page.locator("#stop-summary").click();
    await leave(page, () => page.locator("#close").click());
    await judge.goto(`${address}/`);
    const closed = await heading(judge);
    const [, plain] = await open({ javaScriptEnabled: false });
    await logIn(plain);
    const reload = plain.locator(".without-script a");
    await leave(plain, () => reload.click());
    return { counted, mark, paused, resumed, closed, plain: await judged(plain) };
  },
  async "dashboard pages"() {
    const seen = {};
    // Passwords may be tried five times a minute.
    const [first, door] = await open();
    await logIn(door);
    const cookies = await first.cookies();
    for (const [name, options] of Object.entries(SCREENS)) {
      const [context, page] = await open(options);
      const look = async (what) => {
        await page.waitForTimeout(250);
        seen[`${what} ${name}`] = await axe(page);
        if (pictures) await page.screenshot({ path: join(pictures, `${what}-${name}.png`), fullPage: true });
      };
      await page.goto(`${address}/study`);
      await look("login");
      if (name.startsWith("dark")) {
        await page.fill("#password", "something else");
        await leave(page, () => byMouse("main", page));
        await look("wrong");
      }
      await context.addCookies(cookies);
      await page.goto(`${address}/study`);
      for (const one of ["#notes-summary", "#columns-summary", "#stop-summary"]) await page.locator(one).click();
      await look("dashboard");
      await context.close();
    }
    return seen;
  },
  async "dashboard pictures"() {
    const screens = {
      collect_dashboard: { colorScheme: "light", viewport: { width: 1000, height: 860 } },
      collect_dashboard_phone: { colorScheme: "dark", ...PHONE, viewport: { width: 360, height: 900 } },
    };
    for (const [name, options] of Object.entries(screens)) {
      const [, page] = await open(options);
      await logIn(page);
      await page.waitForTimeout(3000);
      await page.screenshot({ path: join(pictures, `${name}.png`) });
    }
    return {};
  },
  // What the documentation shows of the demonstration: see CONTRIBUTING.md.
  async pictures() {
    const screens = {
      collect_pair: { colorScheme: "light", viewport: { width: 1000, height: 640 } },
      collect_phone: { colorScheme: "dark", ...PHONE, viewport: { width: 360, height: 720 } },
    };
    for (const [name, options] of Object.entries(screens)) {
      const [, page] = await open(options);
      await page.goto(`${address}/join`);
      await judge(page, byMouse, 7);
      await page.mouse.move(0, 0);
      await page.waitForTimeout(500);
      await page.screenshot({ path: join(pictures, `${name}.png`) });
    }
    return {};
  },
  // What raters see and pairs do not show: the scale, and the questions at the end.
  async "rating pages"() {
    const seen = {};
    for (const [name, options] of Object.entries(SCREENS)) {
      const [context, page] = await open(options);
      const look = async (what) => {
        await page.waitForTimeout(250);
        seen[`${what} ${name}`] = await axe(page);
        if (pictures) await page.screenshot({ path: join(pictures, `${what}-${name}.png`) });
      };
      await page.goto(`${address}/join`);
      await leave(page, () => byMouse("main", page));
      await look("rating");
      for (let pair; (pair = await shown(page)); ) {
        await byMouse("2", page);
        await changed(page, pair);
      }
      await look("questionnaire");
      await context.close();
    }
    return seen;
  },
  // Every page on every screen, by a judge who goes through the study once.
  async pages() {
    const seen = {};
    for (const [name, options] of Object.entries(SCREENS)) {
      const [context, page] = await open(options);
      const look = async (what) => {
        await page.waitForTimeout(250);
        seen[`${what} ${name}`] = await axe(page);
        if (pictures) await page.screenshot({ path: join(pictures, `${what}-${name}.png`) });
      };
      await page.goto(`${address}/join`);
      await look("welcome");
      await page.goto(`${address}/j/0000000000000000000000`);
      await look("error");
      await page.goto(`${address}/join`);
      await leave(page, () => byMouse("main", page));
      await look("consent");
      await page.goto(`${address}/declined`);
      await look("declined");
      await page.goto(`${address}/`);
      await leave(page, () => byMouse("main", page));
      await look("comprehension");
      for (const one of await page.locator("fieldset").all()) await one.locator("label").last().click();
      await leave(page, () => byMouse("main", page));
      await look("comprehension-again");
      for (const one of await page.locator("fieldset").all()) await one.locator("label").first().click();
      await leave(page, () => byMouse("main", page));
      await look("practice");
      await leave(page, () => byMouse("left", page));
      await look("feedback");
      await leave(page, () => byMouse("main", page));
      await look("judging");
      await page.locator("summary").click();
      await look("help");
      await page.locator("summary").click();
      await context.setOffline(true);
      await byMouse("left", page);
      await byMouse("left", page);
      await look("offline");
      await context.setOffline(false);
      await page.waitForFunction(() => document.getElementById("notice")?.textContent === "", null, { timeout: 60000 });
      for (let step = 0; step < LIMIT && (await shown(page)); step += 1) {
        const pair = await shown(page);
        await byMouse("right", page);
        await changed(page, pair);
      }
      await look("rest");
      await leave(page, () => byMouse("main", page));
      await judge(page, byMouse);
      await look("done");
      await context.close();
    }
    return seen;
  },
};

try {
  const result = await SCENARIOS[scenario]();
  console.log(JSON.stringify({ result, said, foreign }));
} finally {
  await browser.close();
}
