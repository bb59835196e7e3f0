// The page of a run in headless Chromium: light and dark, desktop and phone, keyboard and screen reader, paper. Without a
// Chromium there is nothing to look with (tests/report.rs reads the markup); PIPESTATE_CHROMIUM names one that is elsewhere.
// `npm run test:report` insists on one, and takes the README's pictures into docs/images.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { renderReportSync } from 'pipestate';
import { folder, root } from './support.mjs';

const CHROMIUM = [process.env.PIPESTATE_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((path) => path && existsSync(path));
const PICTURES = process.env.PIPESTATE_PICTURES === '1';
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--hide-scrollbars',
];
if (PICTURES && !CHROMIUM) throw new Error('no Chromium is here: apt-get install chromium, or set PIPESTATE_CHROMIUM');
const skip = CHROMIUM ? false : 'no Chromium is here';

let browser;
before(async () => {
  if (!CHROMIUM) return;
  const { chromium } = await import('playwright-core');
  // With a profile of its own, which goes with it.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
});
after(() => browser?.close());

const PLACE = {
  agent: '.claude/logs/multi-agent/web-shop/12',
  pipeline: '.superpipelines/temp/release-notes/2f9c1a7e-1c1f-4b7e-9c55-0d5c4c1e7b10',
};
const MODIFIED = { agent: '2026-07-31T11:26:48Z', pipeline: '2026-07-31T13:51:00Z' };

/** Opens the page of a fixture, and sees to it that it asks for nothing and breaks no rule of its own. */
async function open(t, kind, { width = 1000, height = 800, ...look } = {}) {
  const at = folder(t);
  const run = join(at, PLACE[kind]);
  cpSync(join(root, '__test__/fixtures/report', kind), run, { recursive: true });
  const modified = new Date(MODIFIED[kind]);
  utimesSync(join(run, `${kind}-state.json`), modified, modified);
  const html = renderReportSync(run, { now: '2026-07-31T13:52:00Z', home: false });
  const file = join(at, 'run.html');
  // The picture is not to show a folder of this machine.
  writeFileSync(file, html.replaceAll(`${at}/`, ''));
  const context = await browser.newContext({ viewport: { width, height }, offline: true, ...look });
  t.after(() => context.close());
  const page = await context.newPage();
  const asked = [];
  const said = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  await page.goto(pathToFileURL(file).href);
  assert.deepEqual(asked, [pathToFileURL(file).href]);
  assert.deepEqual(said, []);
  return page;
}

/** Text that is too faint to read, by WCAG 2.2 AA: 4.5 to 1, or 3 to 1 where it is large. */
function tooFaint() {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own) continue;
    const style = getComputedStyle(element);
    const colour = channels(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(colour), luminance(background(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24;
    if (ratio < (isLarge ? 3 : 4.5)) found.push(`${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
}

/** Elements that reach beyond the window's right edge. */
function beyond() {
  const all = [...document.querySelectorAll('body *')];
  return all.filter((element) => element.getBoundingClientRect().right > innerWidth + 1).map((element) => element.outerHTML.slice(0, 80));
}

for (const kind of ['agent', 'pipeline']) {
  for (const colorScheme of ['light', 'dark']) {
    test(`${kind}, ${colorScheme}: everything can be read, on a desktop and on a phone`, { skip }, async (t) => {
      const page = await open(t, kind, { colorScheme });
      assert.deepEqual(await page.evaluate(tooFaint), []);
      const [r] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
      assert.equal(r > 128, colorScheme === 'light');
      for (const width of [1000, 640, 360, 320]) {
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await page.evaluate(beyond), [], `${width} wide`);
      }
    });
  }
}

test('the bars lie where their times are', { skip }, async (t) => {
  const page = await open(t, 'pipeline');
  const bars = await page.locator('.track rect:last-child').evaluateAll((all) => all.map((bar) => {
    const { left, right } = bar.getBoundingClientRect();
    const track = bar.closest('.track').getBoundingClientRect();
    return [left, right].map((x) => Math.round((100 * (x - track.left)) / track.width));
  }));
  // Of 13:00:00 to 13:52:00.
  assert.deepEqual(bars, [[0, 13], [13, 56], [56, 65], [77, 100]]);
});

test('it is told to who does not see it, and used by who has no mouse', { skip }, async (t) => {
  const page = await open(t, 'agent');
  const tree = await page.locator('main').ariaSnapshot();
  for (const told of [
    '- heading "SHOP-482" [level=1]',
    '- region "Decision"',
    '- navigation "Sections"',
    '- heading "3 dev" [level=3]',
    '- img "2026-07-31 09:31 to 2026-07-31 09:52, then 2026-07-31 10:20 to 2026-07-31 10:58"',
    '- list "Outputs"',
    '- region "Findings"',
  ]) assert.ok(tree.includes(told), `${told} in\n${tree}`);
  const levels = await page.locator('h1, h2, h3').evaluateAll((all) => all.map(({ tagName }) => Number(tagName[1])));
  levels.reduce((before, level) => (assert.ok(level <= before + 1), level));
  const links = await page.locator('a').allTextContents();
  for (const link of links) {
    await page.keyboard.press('Tab');
    const { text, outline } = await page.evaluate(() => {
      const { outlineStyle } = getComputedStyle(document.activeElement);
      return { text: document.activeElement.textContent, outline: outlineStyle };
    });
    assert.deepEqual([text, outline], [link, 'solid']);
  }
  await page.keyboard.press('Enter');
  const top = await page.locator('#findings').evaluate((heading) => heading.getBoundingClientRect().top);
  assert.ok(top < 800, `${top}`);
});

test('on paper it is black on white, without what only a screen is for', { skip }, async (t) => {
  const page = await open(t, 'agent', { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print' });
  const [body, nav] = await page.evaluate(() => [
    getComputedStyle(document.body), getComputedStyle(document.querySelector('nav')),
  ].map(({ backgroundColor, color, display }) => ({ backgroundColor, color, display })));
  assert.deepEqual([body.backgroundColor, body.color, nav.display], ['rgb(255, 255, 255)', 'rgb(0, 0, 0)', 'none']);
  assert.deepEqual(await page.evaluate(tooFaint), []);
  const pdf = await page.pdf({ format: 'A4' });
  const pages = pdf.toString('latin1').match(/\/Type \/Page\b/g).length;
  assert.ok(pages >= 1 && pages <= 4, `${pages} pages`);
});

test('its pictures are taken for the README', { skip: PICTURES ? false : 'npm run test:report takes them' }, async (t) => {
  for (const [name, kind, look] of [
    ['report-light.png', 'agent', { colorScheme: 'light', height: 1230 }],
    ['report-dark.png', 'pipeline', { colorScheme: 'dark', height: 1230 }],
  ]) {
    const page = await open(t, kind, look);
    const path = join(root, 'docs/images', name);
    await page.screenshot({ path });
    assert.ok(statSync(path).size < 150_000, `${name} has ${statSync(path).size} bytes`);
  }
});
