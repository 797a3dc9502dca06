// The page's script: sorts and filters the table, opens rows and draws their samples, and switches the theme. It fetches
// nothing and stores the reader's theme alone.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);

  // ---- Theme: as the system has it, light, dark, and again.
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = one("#theme");
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.now = theme;
  };
  let stored = null;
  try { stored = localStorage.getItem("gpubench-theme"); } catch { /* A page from a file may have no storage. */ }
  show(themes.includes(stored) ? stored : "auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.now) + 1) % themes.length];
    show(next);
    try { localStorage.setItem("gpubench-theme", next); } catch { /* The same. */ }
  });

  // ---- Table: rows that match, in their order, and of these as many as are asked for.
  const PAGE = 500;
  const table = one("#table");
  const rows = all("tbody", table).map((body) => ({
    body,
    text: body.rows[0].cells[0].textContent.toLowerCase(),
    cells: body.rows[0].cells,
  }));
  let order = rows;
  let most = PAGE;
  const filter = one("#filter"), cache = one("#cache"), count = one("#count"), more = one("#more");
  const verdicts = all("#controls [name=verdict]");

  const update = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(verdicts.filter((box) => box.checked).map((box) => box.value));
    let matching = 0;
    for (const { body, text } of order) {
      const matches = wanted.has(body.dataset.verdict) && (!cache.value || cache.value === body.dataset.cache)
        && words.every((word) => text.includes(word));
      if (matches) matching += 1;
      body.hidden = !matches || matching > most;
    }
    const shown = Math.min(matching, most);
    count.textContent = `${matching} of ${rows.length} rows match` + (shown < matching ? `, the first ${shown} are shown` : "");
    more.hidden = shown === matching;
  };
  const changed = () => { most = PAGE; update(); };
  filter.addEventListener("input", changed);
  cache.addEventListener("change", changed);
  verdicts.forEach((box) => box.addEventListener("change", changed));
  one("#controls").addEventListener("submit", (event) => event.preventDefault());
  one("button", more).addEventListener("click", () => { most += PAGE; update(); });

  // ---- Sorting: a button in each head; numbers by their values, texts as people count. Rows without a value come last.
  const heads = all("thead th", table);
  heads.forEach((head, column) => {
    const sort = document.createElement("button");
    sort.type = "button";
    sort.textContent = head.textContent;
    head.replaceChildren(sort);
    sort.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const texts = head.dataset.kind === "text";
      const collator = new Intl.Collator(undefined, { numeric: true });
      const key = ({ cells }) => {
        const cell = cells[column];
        if (texts) return cell.textContent;
        return "v" in cell.dataset ? Number(cell.dataset.v) : NaN;
      };
      const keyed = rows.map((row) => ({ row, key: key(row) }));
      const sign = down ? -1 : 1;
      keyed.sort((a, b) => {
        if (texts) return sign * collator.compare(a.key, b.key);
        if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number.isNaN(a.key) - Number.isNaN(b.key);
        return sign * (a.key - b.key);
      });
      order = keyed.map(({ row }) => row);
      table.append(...order.map(({ body }) => body));
      update();
    });
  });

  // ---- Rows that open.
  const open = (body, state = !body.classList.contains("open")) => {
    body.classList.toggle("open", state);
    one(".name", body).setAttribute("aria-expanded", String(state));
    const place = one(".drawings", body);
    if (state && place && !place.childElementCount) draw(place);
  };
  for (const { body } of rows) {
    const name = one(".name", body);
    name.setAttribute("role", "button");
    name.setAttribute("aria-expanded", "false");
  }
  table.addEventListener("click", (event) => {
    const name = event.target.closest(".name");
    if (!name) return;
    event.preventDefault();
    open(name.closest("tbody"));
  });
  table.addEventListener("keydown", (event) => {
    const name = event.target.closest(".name");
    if (!name || event.key !== " ") return;
    event.preventDefault();
    open(name.closest("tbody"));
  });
  const follow = () => {
    const body = /^#r\d+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
    if (!body) return;
    if (body.hidden) {
      filter.value = "";
      cache.value = "";
      verdicts.forEach((box) => { box.checked = true; });
      most = rows.length;
      update();
    }
    open(body, true);
    body.scrollIntoView({ block: "start" });
    one(".name", body).focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);

  // ---- Drawings of samples.
  const W = 520;
  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const unitOf = (time) => UNITS.find(([amount]) => Math.abs(time) >= amount) ?? UNITS[3];
  const time = (value, [amount, unit] = unitOf(value)) =>
    value === 0 ? "0" : `${Number((value / amount).toPrecision(4))} ${unit}`;
  const numbersOf = (text, digits) =>
    Array.from({ length: text.length / digits }, (_, at) => parseInt(text.slice(at * digits, (at + 1) * digits), 16));

  // Round steps that the axis ends need not lie on.
  const ticks = (low, high) => {
    if (!(high > low)) return [low];
    const rough = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let tick = Math.ceil(low / step); tick * step <= high * (1 + 1e-12); tick += 1) found.push(tick * step);
    return found;
  };
  const scale = (low, high, from, to) => {
    const span = high > low ? high - low : Math.abs(low) || 1;
    const first = high > low ? low : low - span / 2;
    return (value) => from + ((value - first) / span) * (to - from);
  };

  // What a row's element holds of its samples.
  const read = (place) => {
    const numbers = (name) => place.dataset[name].split(",").map(Number);
    const [min, q1, median, q3, max] = numbers("quantiles");
    const order = numbersOf(place.dataset.order, 4).map((part) => min + (part / 65535) * (max - min));
    const cache = place.closest("tbody").dataset.cache;
    return {
      min, q1, median, q3, max, order, cache,
      all: Number(place.dataset.samples), p99: Number(place.dataset.p99),
      clock: (place.dataset.clock ?? "").split(" ").filter(Boolean).map((read) => read.split(":").map(Number)),
      interval: numbers("interval"), histogram: numbersOf(place.dataset.histogram, 2), told: place.dataset.told,
    };
  };

  const svg = (height, title, body) =>
    `<svg class="drawing" viewBox="0 0 ${W} ${height}" role="img" aria-label="${escape(title)}">${body}</svg>`;
  const text = (x, y, words, anchor = "start", classes = "soft small") =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${classes}">${escape(words)}</text>`;
  const line = (x1, y1, x2, y2, classes) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" class="${classes}"/>`;

  // The text of the last tick stays within the drawing.
  const across = (x, low, high, top, bottom, unit) =>
    ticks(low, high).map((tick) => {
      const label = time(tick, unit);
      const middle = Math.min(x(tick), W - 3.5 * label.length);
      return line(x(tick), top, x(tick), bottom, "grid") + text(middle, bottom + 15, label, "middle");
    }).join("");

  // The distributions of a row and of the same case with the other cache state: density, box and median.
  const distribution = (sets) => {
    const [left, right, high] = [48, W - 16, 64];
    const low = Math.min(...sets.map((set) => set.min));
    const far = Math.max(...sets.map((set) => Math.max(set.p99, set.q3)));
    const x = scale(low, far, left, right);
    const unit = unitOf(far);
    const top = 26, each = high + 34;
    const bottom = top + each * sets.length;
    let body = text(16, 16, "Distribution, up to the 99th percentile", "start", "ink") + across(x, low, far, top, bottom, unit);
    sets.forEach((set, index) => {
      const number = set.cache === "cold" ? 1 : 0;
      const base = top + each * index + high;
      const wide = (set.p99 - set.min) / set.histogram.length;
      const points = [...set.histogram].flatMap((height, bin) => {
        const y = base - (height / 255) * (high - 6);
        return [`${x(set.min + bin * wide)},${y}`, `${x(set.min + (bin + 1) * wide)},${y}`];
      });
      const ends = [`${x(set.min)},${base}`, ...points, `${x(set.min + wide * set.histogram.length)},${base}`];
      body += wide > 0
        ? `<polygon points="${ends.join(" ")}" class="box f${number} s${number}"/>`
        : line(x(set.min), base - high + 6, x(set.min), base, `median s${number}`);
      const y = base + 14, reach = 1.5 * (set.q3 - set.q1);
      const whiskers = [Math.max(set.min, set.q1 - reach), Math.min(far, set.max, set.q3 + reach)];
      body += line(x(whiskers[0]), y, x(whiskers[1]), y, `s${number}`);
      body += `<rect x="${x(set.q1)}" y="${y - 6}" width="${Math.max(1, x(set.q3) - x(set.q1))}" height="12" class="box f${number} s${number}"/>`;
      body += line(x(set.median), y - 6, x(set.median), y + 6, `median s${number}`);
      body += text(left - 8, y + 4, set.cache, "end", "ink small");
      body += text(right, base - high + 12, `median ${time(set.median)}`, "end", "ink small halo");
    });
    return svg(bottom + 24, `Distribution: ${sets.map((set) => `${set.cache}: ${set.told}`).join("; ")}`, body);
  };

  // The samples in the order they ran, with their median and its interval, and the clock below where it is known.
  const inOrder = (set) => {
    const [left, right, top, bottom] = [64, W - 16, 26, 170];
    const number = set.cache === "cold" ? 1 : 0;
    const x = scale(0, set.all - 1, left + 4, right - 4);
    const y = scale(set.min, set.max, bottom - 4, top + 4);
    const unit = unitOf(set.max);
    let body = text(16, 16, `Samples in the order they ran, ${set.cache}`, "start", "ink");
    for (const tick of ticks(set.min, set.max)) {
      body += line(left, y(tick), right, y(tick), "grid") + text(left - 6, y(tick) + 4, time(tick, unit), "end");
    }
    const [low, high] = set.interval.map((end) => y(Math.min(set.max, Math.max(set.min, end))));
    body += `<rect x="${left}" y="${high}" width="${right - left}" height="${Math.max(1, low - high)}" class="band f${number}"/>`;
    const place = (index) => x(set.order.length > 1 ? (index * (set.all - 1)) / (set.order.length - 1) : 0);
    const dots = set.order.map((value, index) => `M${place(index).toFixed(1)} ${y(value).toFixed(1)}h0`).join("");
    body += `<path d="${dots}" class="dots s${number}" fill="none" stroke-width="3" stroke-linecap="round"/>`;
    body += line(left, y(set.median), right, y(set.median), "rule");
    body += line(left, bottom, right, bottom, "axis");
    const end = set.clock.length ? bottom + 96 : bottom;
    if (set.clock.length) {
      const clocks = set.clock.map(([, clock]) => clock);
      const [slow, fast] = [Math.min(...clocks), Math.max(...clocks)];
      const [above, below] = [bottom + 36, end - 6];
      const c = scale(slow, fast, below, above);
      body += text(16, bottom + 22, "Clock of the multiprocessors behind each group", "start", "ink");
      // Labels are whole megahertz: between two of them a clock would have the same label twice.
      const whole = ticks(slow, fast).filter((tick) => Math.abs(tick - Math.round(tick)) < 1e-6);
      for (const tick of whole.slice(0, 4)) {
        body += line(left, c(tick), right, c(tick), "grid") + text(left - 6, c(tick) + 4, `${Math.round(tick)} MHz`, "end");
      }
      // The clock holds from the group before on.
      let before = 0;
      const points = set.clock.flatMap(([samples, clock]) => {
        const step = [`${x(before)},${c(clock)}`, `${x(Math.min(samples, set.all - 1))},${c(clock)}`];
        before = samples;
        return step;
      });
      body += `<polyline points="${points.join(" ")}" class="line solid s2"/>` + line(left, end, right, end, "axis");
    }
    for (const tick of ticks(0, set.all - 1)) body += text(x(tick), end + 15, String(tick), "middle");
    body += text((left + right) / 2, end + 32, "number of the sample; shaded: 95 % interval of the median", "middle");
    return svg(end + 42, `Samples in the order they ran: ${set.told}`, body);
  };

  const draw = (place) => {
    const set = read(place);
    const partner = place.dataset.partner && document.getElementById(place.dataset.partner);
    const other = partner && one(".drawings", partner);
    const sets = other ? [set, read(other)] : [set];
    sets.sort((a, b) => (a.cache === "hot" ? 0 : 1) - (b.cache === "hot" ? 0 : 1));
    place.innerHTML = distribution(sets) + inOrder(set);
  };

  update();
  // Until now the style has shown the first rows alone.
  table.classList.add("ready");
  follow();
})();
