/** The plot of usage as it was, in Chromium. */

import t from 'tap';
import { z } from 'zod';
import { recorded, remember } from '../api/past.ts';
import { World } from '../api/world.ts';
import type { Tab } from '../e2e/browser.ts';
import { barriersInAnyLook, isLoaded, reads, Web, wordsOf } from './world.ts';

t.setTimeout(900_000);

const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '10G' } } });
await world.report('alice', 'size:git:lfs', 5_000_000_000);
await recorded(world);
await remember(world, [1e9, 2e9, 3e9, 4e9, 5e9]);
const web = await Web.open(t);
const alice = await world.newToken('alice', ['all']);
const reader = '[role=slider]';

const said = (tab: Tab, what: string) =>
  tab.page.$eval(reader, (element, name) => element.getAttribute(name), what);

t.test('the plot tells in words where growth leads, and every figure as a table', async t => {
  const tab = await web.signedIn(world.url, alice, 'mine');
  await reads(tab, 'At the present growth of 7 GB a week the limit is reached on 20', 'main');
  const shown = await tab.page.$eval('.plot svg', element => element.getAttribute('aria-label'));
  t.match(
    shown,
    /^Usage over time: 1 GB on .*, 5 GB on .*, at most 5 GB on .*\. The limit is 10 GB\. At the present/,
  );
  t.equal(await tab.page.$eval('.limit-words', element => element.textContent), 'limit 10 GB');
  t.ok(await tab.page.$('.plot .ahead'), 'a dashed line goes on');
  await tab.click('main ::-p-text(Show as a table)');
  await reads(tab, 'Hourly figures are stored for 14 days, daily figures for 1826 days.', 'main');
  const cells = await wordsOf(tab, 'main [aria-label^="Usage history"] tbody td:first-of-type');
  t.same(cells.slice(-5), ['5 GB', '4 GB', '3 GB', '2 GB', '1 GB']);
});

t.test('arrow keys move a line that reads the figures out', async t => {
  const tab = await web.signedIn(world.url, alice, 'mine');
  await tab.page.waitForSelector(reader);
  await tab.page.focus(reader);
  await tab.page.keyboard.press('Home');
  t.match(await said(tab, 'aria-valuetext'), /: 1 GB in total, LFS objects 1 GB$/);
  await tab.page.keyboard.press('ArrowRight');
  t.equal(await said(tab, 'aria-valuenow'), '1');
  t.match(await said(tab, 'aria-valuetext'), /: 2 GB in total/);
  t.match(await tab.read('.plot figcaption'), '2 GB of 10 GB', 'it stands below, too');
  await tab.page.keyboard.press('End');
  t.match(await said(tab, 'aria-valuetext'), /: 5 GB in total/);
  await tab.page.keyboard.press('Escape');
  t.match(await tab.read('.plot figcaption'), 'Latest');
});

t.test('other times and the other picture are one press away', async t => {
  const tab = await web.signedIn(world.url, alice, 'mine');
  await tab.click('main ::-p-text(By kind)');
  t.ok(await tab.page.waitForSelector('.plot .band'));
  t.equal(await tab.page.$('.plot .limit'), null);
  for (const range of ['Day', 'Week', 'Year', 'All', 'Month']) {
    await tab.click(`main .choices ::-p-text(${range})`);
    await reads(tab, range, '.choices [aria-pressed=true]');
  }
  t.same(tab.complaints, []);
});

t.test('who has no figures yet reads when they begin', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  await isLoaded(tab);
  t.match(
    await tab.read('main'),
    /The history begins with the next full hour|The chart starts with the next one/,
  );
});

t.test('administrators see it for one owner, and for all together', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));
  await reads(tab, 'Usage has grown by 7 GB a week in the last weeks.', 'main');
  await tab.go(new URL('owners/alice', world.url).href);
  await reads(tab, 'At the present growth of 7 GB a week', 'main');
  t.ok(await tab.page.$('.plot .ahead'));
});

t.test('nothing keeps anybody out of the plot, on a desk and on a phone, light and dark', async t => {
  const tab = await web.signedIn(world.url, alice);
  await tab.go(new URL('mine', world.url).href);
  await reads(tab, 'At the present growth', 'main');
  await tab.click('main ::-p-text(Show as a table)');
  t.same(await barriersInAnyLook(tab), []);
  await tab.click('main ::-p-text(By kind)');
  t.same(await barriersInAnyLook(tab), [], 'by kind');
});

t.test('for a report the figures are saved as CSV, and the chart as SVG and as PNG', async t => {
  const tab = await web.signedIn(world.url, alice, 'mine');
  await tab.page.waitForSelector(reader);
  await tab.page.evaluate(`{
    window.saved = [];
    const make = URL.createObjectURL.bind(URL);
    URL.createObjectURL = blob => {
      window.saved.push(blob);
      return make(blob);
    };
  }`);
  /** Last saved file, as text. */
  const saved = async (button: string, count: number) => {
    await tab.click(`main ::-p-text(${button})`);
    await tab.page.waitForFunction(`window.saved.length === ${count}`);
    const last = `window.saved[${count - 1}]`;
    return tab.page.evaluate(`${last}.text().then(text => [${last}.type, ${last}.size, text])`);
  };
  const [, , figures] = z.tuple([z.string(), z.number(), z.string()]).parse(await saved('Download CSV', 1));
  t.match(figures, /^time,total,size:repos:public,.*\r\n\d{4}-[^,]*Z,1000000000,0,0,1000000000,/);
  const [type, , svg] = z.tuple([z.string(), z.number(), z.string()]).parse(await saved('Download SVG', 2));
  t.equal(type, 'image/svg+xml');
  t.match(svg, /^<svg [^>]*>.*Usage of my account: 5 GB on .*LFS objects: 5 GB/s);
  t.notMatch(svg, /class=|var\(/, 'it needs no style sheet');
  const [png, size] = z.tuple([z.string(), z.number(), z.string()]).parse(await saved('Download PNG', 3));
  t.equal(png, 'image/png');
  t.ok(size > 5000, `${size} bytes`);
  t.same(tab.complaints, []);
});
