// Opens pages in a real browser and prints, as JSON, what a reader could stumble over.
// Usage: node look.mjs NODE_MODULES CHROMIUM SECONDS [PICTURES] < list of pages, one on each line
// Each page has SECONDS for all of its screens; standard error tells how far it came.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, seconds, pictures] = process.argv.slice(2);
const require = createRequire(join(modules, "look.cjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
// An A4 page within margins of 1 cm, in CSS pixels.
const PAPER = { width: 718, height: 1047 };
const SCREENS = { wide: { width: 1200, height: 900 }, phone: { width: 390, height: 844 } };
// Small phones: colours are those of the phone above, so one scheme is enough.
const SMALL = { 360: { width: 360, height: 740 }, 320: { width: 320, height: 568 } };
const ARGUMENTS =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

async function check(page, screen) {
  // Colours are the same on every width, and comparing them takes most of the time.
  const rules = { "color-contrast": { enabled: screen === "wide" } };
  return page.evaluate(
    async ([tags, rules]) => {
      const runOnly = { type: "tag", values: tags };
      const result = await globalThis.axe.run(document, { runOnly, rules });
      return {
        violations: result.violations.map((one) => ({
          id: one.id,
          help: one.help,
          nodes: one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
        })),
        passes: result.passes.map((one) => one.id),
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        scripts: document.scripts.length,
      };
    },
    [TAGS, rules],
  );
}

async function look(context, path, colours, screens) {
  const page = await context.newPage();
  const own = pathToFileURL(path).href;
  const seen = {};
  let asked, said;
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(String(error)));
  for (const [screen, viewport] of Object.entries(screens)) {
    const name = `${colours}-${screen}`;
    [asked, said] = [[], []];
    await page.setViewportSize(viewport);
    await page.goto(own);
    await page.evaluate(axe);
    const found = await check(page, screen);
    if (pictures) {
      await page.screenshot({ path: join(pictures, `${basename(path, ".html")}-${name}.png`), fullPage: true });
    }
    seen[name] = { ...found, foreign: asked.filter((url) => url !== own), said };
  }
  await page.close();
  return seen;
}

async function print(context, path) {
  const page = await context.newPage();
  await page.setViewportSize(PAPER);
  await page.emulateMedia({ media: "print" });
  await page.goto(pathToFileURL(path).href);
  const cut = await page.evaluate((height) => {
    // A picture longer than a page is cut between its rows, and nowhere else.
    const whole = [...document.querySelectorAll("figure, figure .row, tr, .verdict")];
    const tooLong = (one) => one.getBoundingClientRect().height > height && !one.querySelector(".row");
    return whole
      .filter((one) => getComputedStyle(one).breakInside !== "avoid" || tooLong(one))
      .map((one) => `${one.tagName} ${Math.round(one.getBoundingClientRect().height)} ${one.textContent.trim().slice(0, 80)}`);
  }, PAPER.height);
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll(".scroll")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.scrollWidth} in ${one.clientWidth}: ${one.textContent.trim().slice(0, 80)}`),
  );
  const margin = "1cm";
  const file = await page.pdf({
    format: "A4",
    margin: { top: margin, bottom: margin, left: margin, right: margin },
    path: pictures ? join(pictures, `${basename(path, ".html")}.pdf`) : undefined,
  });
  await page.close();
  return { cut, wide, head: file.subarray(0, 5).toString("latin1"), bytes: file.length };
}

async function within(limit, path, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${path} was not looked at within ${limit} s`)), 1000 * limit);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const pages = readFileSync(0, "utf8").split("\n").filter(Boolean);
const browser = await chromium.launch({ executablePath, args: ARGUMENTS.split(" ") });
const light = await browser.newContext({ colorScheme: "light" });
const dark = await browser.newContext({ colorScheme: "dark" });

async function everything(path) {
  const seen = await look(light, path, "light", { ...SCREENS, ...SMALL });
  return { ...seen, ...(await look(dark, path, "dark", SCREENS)), print: await print(light, path) };
}

const results = {};
try {
  for (const path of pages) {
    const started = Date.now();
    results[path] = await within(Number(seconds), path, everything(path));
    console.error(`${((Date.now() - started) / 1000).toFixed(1)} s for ${path}`);
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(results));
