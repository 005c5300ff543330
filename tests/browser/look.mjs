// Opens pages in a real browser and prints, as JSON, what a reader could stumble over.
// Usage: node look.mjs NODE_MODULES CHROMIUM FOLDER [PICTURES] < list of pages, one on each line
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, folder, pictures] = process.argv.slice(2);
const require = createRequire(join(modules, "look.cjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
// An A4 page within margins of 1 cm, in CSS pixels.
const PAPER = { width: 718, height: 1047 };
const SCREENS = { wide: { width: 1200, height: 900 }, phone: { width: 390, height: 844 } };
const ARGUMENTS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

async function look(context, path, name) {
  const page = await context.newPage();
  const asked = [];
  const said = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(String(error)));
  const own = pathToFileURL(path).href;
  await page.goto(own);
  await page.evaluate(axe);
  const found = await page.evaluate(async (tags) => {
    const result = await globalThis.axe.run(document, { runOnly: { type: "tag", values: tags } });
    return {
      violations: result.violations.map((one) => ({
        id: one.id,
        help: one.help,
        nodes: one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
      })),
      passes: result.passes.length,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      scripts: document.scripts.length,
    };
  }, TAGS);
  if (pictures) {
    await page.screenshot({ path: join(pictures, `${basename(path, ".html")}-${name}.png`), fullPage: true });
  }
  await page.close();
  return { ...found, foreign: asked.filter((url) => url !== own), said };
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

const pages = readFileSync(0, "utf8").split("\n").filter(Boolean);
const userData = mkdtempSync(join(folder ?? tmpdir(), "browser-"));
const results = {};
for (const colorScheme of ["light", "dark"]) {
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const context = await chromium.launchPersistentContext(join(userData, `${colorScheme}-${screen}`), {
      executablePath,
      args: ARGUMENTS.split(" "),
      colorScheme,
      viewport,
    });
    for (const path of pages) {
      const seen = (results[path] ??= {});
      seen[`${colorScheme}-${screen}`] = await look(context, path, `${colorScheme}-${screen}`);
      if (colorScheme === "light" && screen === "wide") {
        seen.print = await print(context, path);
      }
    }
    await context.close();
  }
}
console.log(JSON.stringify(results));
