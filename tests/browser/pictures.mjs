// Takes the pictures of `docs/archive/page.md` of the recorded suite's page. In: the program that writes pages, the browser, the folder of
// what npm installed, one to write the page to, and one for the pictures; out: two PNGs.

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [program, chromium, installed, folder, docs] = process.argv.slice(2).map((argument) => path.resolve(argument));
const puppeteer = createRequire(path.join(installed, "package.json"))("puppeteer-core");

const file = path.join(folder, "pictures.html");
execFileSync(program, ["gpubench", "report", "docs/results/h200/suite.json", "--html", file], { stdio: "inherit" });
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });

// Opens the row of `name`, scrolls `top` to the upper edge, and takes the picture.
const picture = async (to, { width, height, scale, theme }, { filter, name, top }) => {
  const tab = await browser.newPage();
  await tab.setViewport({ width, height, deviceScaleFactor: scale });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await tab.goto(pathToFileURL(file).href);
  if (filter) await tab.type("#filter", filter);
  await tab.evaluate(([name, top]) => {
    const row = [...document.querySelectorAll("#table tbody")]
      .find((body) => body.dataset.cache === "cold" && body.querySelector(".name").textContent === name);
    row.querySelector(".name").click();
    const edge = top === "row" ? row.previousElementSibling : document.querySelector(top);
    edge.scrollIntoView({ behavior: "instant" });
    document.activeElement.blur();
  }, [name, top]);
  await tab.screenshot({ path: path.join(docs, to) });
  await tab.close();
};

await picture("page-desk.png", { width: 1280, height: 1000, scale: 1, theme: "light" },
  { filter: "saxpy", name: "saxpy[n=4194304]", top: "#cases" });
await picture("page-phone.png", { width: 375, height: 760, scale: 2, theme: "dark" },
  { name: "fill[n=10485760]", top: "row" });
await browser.close();
