// Drives Chromium over pages that gpubench writes: sorts, filters, opens rows and switches the theme, at the width of a desk and
// of a phone. In: the program that writes pages, the browser, the folder of what npm installed, and one to write to; out: what
// is not as it should be, and exit code 1.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [program, chromium, installed, folder] = process.argv.slice(2).map((argument) => path.resolve(argument));
const require = createRequire(path.join(installed, "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const RECORDED = "docs/results/h200/suite.json";
// What a browser would obey if it were not escaped, and how the page shows it.
const ODD = [
  ["</script><script>document.title='obeyed'</script>", "</script><script>document.title='obeyed'</script>"],
  ["<img src=x onerror=\"document.title='obeyed'\">", "<img src=x onerror=\"document.title='obeyed'\">"],
  ["a,b \"c\" 'd' & naïve 千 🦀", "a,b \"c\" 'd' & naïve 千 🦀"],
  ["two\nlines <!-- \u2028", "two\\nlines <!-- \\u{2028}"],
  ["\u001b[31mred\u001b[0m", "\\u{1b}[31mred\\u{1b}[0m"],
];

const page = (json, name) => {
  const file = path.join(folder, name);
  execFileSync(program, ["gpubench", "report", json, "--html", file], { stdio: ["ignore", "ignore", "inherit"] });
  return pathToFileURL(file).href;
};

// The recorded suite, and the same with odd names.
const suite = page(RECORDED, "suite.html");
const run = JSON.parse(readFileSync(RECORDED, "utf8"));
run.records = run.records.slice(0, ODD.length);
run.records.forEach((record, number) => {
  record.benchmark = `odd::${ODD[number][0]}`;
  record.args = [{ name: "n", value: ODD[number][0] }];
});
run.notes = [ODD[0][0]];
const json = path.join(folder, "odd.json");
writeFileSync(json, JSON.stringify(run));
const odd = page(json, "odd.html");

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
let failed = 0;

// Runs `steps` on a new tab with `url`. Any error of a script and any request but for the page itself is a failure.
const check = async (what, url, { width = 1280, theme = "light", script = true }, steps) => {
  const tab = await browser.newPage();
  const wrong = [];
  tab.on("pageerror", (error) => wrong.push(`script error: ${error.message}`));
  tab.on("console", (message) => ["error", "warn"].includes(message.type()) && wrong.push(`console: ${message.text()}`));
  tab.on("request", (request) => request.url().split("#")[0] !== url && wrong.push(`request: ${request.url()}`));
  await tab.setViewport({ width, height: 900 });
  await tab.setJavaScriptEnabled(script);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  try {
    await tab.goto(url);
    await steps(tab);
    assert.deepEqual(wrong, []);
    console.log(`ok      ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}\n${error.message}\n${wrong.join("\n")}`);
  }
  await tab.close();
};

const shown = (tab) => tab.$$eval("#table tbody", (bodies) =>
  bodies.filter((body) => !body.hidden).map((body) => ({
    name: body.querySelector(".name").textContent, cache: body.dataset.cache, verdict: body.dataset.verdict,
    time: Number(body.rows[0].querySelector("[data-v]")?.dataset.v),
  })));

const sorted = (numbers) => numbers.every((number, place) => place === 0 || numbers[place - 1] <= number);

await check("columns sort up and down, by mouse and by key", suite, {}, async (tab) => {
  const head = (await tab.$$("thead th button"))[2];
  assert.equal(await head.evaluate((button) => button.textContent), "time");
  await head.click();
  assert.ok(sorted((await shown(tab)).map((row) => row.time)));
  await head.focus();
  await tab.keyboard.press("Enter");
  assert.ok(sorted((await shown(tab)).map((row) => -row.time)));
  assert.equal(await tab.$eval("th[aria-sort]", (th) => th.getAttribute("aria-sort")), "descending");
});

await check("rows are filtered by text, verdict and cache", suite, {}, async (tab) => {
  const all = (await shown(tab)).length;
  await tab.type("#filter", "saxpy 4194304");
  let rows = await shown(tab);
  assert.ok(rows.length > 0 && rows.length < all && rows.every((row) => row.name.includes("saxpy")));
  await tab.select("#cache", "cold");
  rows = await shown(tab);
  assert.ok(rows.length > 0 && rows.every((row) => row.cache === "cold"));
  assert.match(await tab.$eval("#count", (count) => count.textContent), new RegExp(`^${rows.length} of ${all} rows`));
  await tab.select("#cache", "");
  await tab.$eval("#filter", (filter) => { filter.value = ""; filter.dispatchEvent(new Event("input")); });
  await tab.click("#controls [value=valid]");
  rows = await shown(tab);
  assert.ok(rows.length > 0 && rows.every((row) => row.verdict === "suspect"));
});

await check("a row opens with its drawings, and closes", suite, {}, async (tab) => {
  const first = await tab.$("#table tbody .name");
  await first.click();
  assert.equal(await first.evaluate((name) => name.getAttribute("aria-expanded")), "true");
  assert.equal((await tab.$$("#table tbody:first-of-type .drawings svg")).length, 2);
  assert.ok(await tab.$eval("#table tbody .drawings", (place) => place.getBoundingClientRect().height > 100));
  await first.focus();
  await tab.keyboard.press("Space");
  assert.equal(await first.evaluate((name) => name.getAttribute("aria-expanded")), "false");
});

await check("a point of the roofline leads to its row", suite, {}, async (tab) => {
  const link = await tab.$("#roofline a[href^='#r']");
  const row = await link.evaluate((a) => a.getAttribute("href"));
  await link.evaluate((a) => a.focus());
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(`${row}.open`);
});

await check("the theme is switched and kept", suite, {}, async (tab) => {
  const paper = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await tab.click("#theme");
  assert.equal(await paper(), light);
  await tab.click("#theme");
  assert.notEqual(await paper(), light);
  await tab.reload();
  assert.notEqual(await paper(), light);
  await tab.evaluate(() => localStorage.clear());
});

await check("nothing is wider than a phone", suite, { width: 375 }, async (tab) => {
  await tab.click("#table tbody .name");
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 375);
});

await check("names are shown as they are, and nothing in them is obeyed", odd, {}, async (tab) => {
  const names = await tab.$$eval("#table .name", (names) => names.map((name) => name.textContent));
  assert.deepEqual(names, ODD.map(([, seen]) => `${seen}[n=${seen}]`));
  assert.doesNotMatch(await tab.title(), /obeyed/);
  assert.equal(await tab.$eval(".note", (note) => note.textContent), ODD[0][1]);
  for (const name of await tab.$$("#table .name")) await name.click();
});

await check("all is readable without a script", suite, { script: false }, async (tab) => {
  const text = await tab.$eval("main", (main) => main.innerText);
  for (const words of ["saxpy[n=4194304]", "not converged", "Suspect and invalid results", "Roofline"]) {
    assert.ok(text.includes(words), `there is no "${words}"`);
  }
  const visible = await tab.$$eval("tr.more", (rows) => rows.every((row) => row.getBoundingClientRect().height > 0));
  assert.ok(visible);
});

// What axe finds on a tab.
const violations = async (tab) => {
  await tab.$$eval("details", (all) => all.forEach((details) => { details.open = true; }));
  await tab.evaluate(axe);
  return tab.evaluate(() => axe.run().then(({ violations }) => violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary).join(" | ")}`)));
};

for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 375]]) {
  await check(`axe finds no violation, ${theme}, ${width} px`, suite, { theme, width }, async (tab) => {
    // A few rows are as good as all, and faster.
    await tab.$$eval("#table tbody", (bodies) => bodies.slice(6).forEach((body) => body.remove()));
    await tab.click("#table tbody .name");
    assert.deepEqual(await violations(tab), []);
  });
}

await browser.close();
process.exitCode = failed ? 1 : 0;
