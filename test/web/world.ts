/**
 * The web UI as people have it: Chromium on a daemon's own address. Whose page it is was signed in from that
 * very address, as the sign-in page does it.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { z } from 'zod';
import { within } from '../../src/turns.ts';
import { patienceMs, until } from '../e2e/ask.ts';
import { Browser, type Tab } from '../e2e/browser.ts';
import { some } from '../run-length.ts';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const build = fileURLToPath(new URL('../../scripts/build', import.meta.url));

export class Web {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** It ends with the test. What the pages are made of is built anew where that is not current. */
  static async open(t: Test): Promise<Web> {
    await promisify(execFile)(build);
    return new Web(await Browser.open(t));
  }

  /** A tab of nobody's. */
  tab(): Promise<Tab> {
    return this.#browser.tab();
  }

  /**
   * A tab in which whoever has this token is signed in, at a page of the daemon at `url`, an address below
   * that.
   */
  async signedIn(url: URL, token: string, path = ''): Promise<Tab> {
    const tab = await this.tab();
    // Any address will do; this one asks nothing that is refused.
    await tab.go(new URL('api/v1/version', url).href);
    await signIn(tab, token);
    await tab.go(new URL(path, url).href);
    return tab;
  }
}

/** From a page of the daemon's. */
export async function signIn(tab: Tab, token: string): Promise<void> {
  const status = await tab.page.evaluate(
    `fetch('/api/v1/session', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: ${JSON.stringify(token)} }),
    }).then(answer => answer.status)`,
  );
  if (status !== 201) throw new Error(`signing in: ${status}`);
}

/** The field of this label, for `Tab.fill` and `Tab.click`. */
export const field = (label: string) => `::-p-aria(${label})`;

export async function choose({ page }: Tab, label: string, value: string): Promise<void> {
  const select = await page.waitForSelector(field(label));
  await select?.select(value);
}

/** Presses a button that sends something, and holds that until the button cannot be pressed again. */
export async function pressOnce({ page }: Tab, button: string): Promise<void> {
  const isDisabled = Promise.withResolvers<void>();
  await page.setRequestInterception(true);
  page.on('request', async request => {
    if (request.method() === 'POST') await isDisabled.promise;
    await request.continue();
  });
  await page.click(button);
  await page.waitForSelector(`${button}:disabled`);
  isDisabled.resolve();
}

/** A page that nobody looks at asks nothing; a browser with windows tells it when somebody comes back. */
export async function lookAt({ page }: Tab): Promise<void> {
  await page.bringToFront();
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
}

/** Resolves once nothing on the page is still on its way. */
export async function isLoaded(tab: Tab): Promise<void> {
  await tab.page.waitForFunction('document.querySelector("h1") && !document.querySelector(".skeleton")');
}

/** Opens pages of the daemon at `url` in this tab, and resolves once nothing of one is on its way. */
export const opener = (url: URL, tab: Tab) => async (path: string) => {
  await tab.go(new URL(path, url).href);
  await isLoaded(tab);
};

/** The words of each of these elements, in one line. */
export function wordsOf({ page }: Tab, selector: string): Promise<readonly string[]> {
  return page.$$eval(selector, all => all.map(each => each.innerText.replaceAll(/\s+/g, ' ').trim()));
}

export const focused = ({ page }: Tab) =>
  page.evaluate('document.activeElement.innerText || document.activeElement.name');

/** Goes on by Tab until what has the focus begins like this. */
export async function tabTo(tab: Tab, words: string): Promise<void> {
  const seen: string[] = [];
  for (let steps = 0; steps < 120; steps++) {
    await tab.page.keyboard.press('Tab');
    const now = String(await focused(tab));
    if (now.startsWith(words)) return;
    seen.push(now);
  }
  throw new Error(`${words} is not come to: ${seen.join(' | ')}`);
}

/** Resolves once this can be read somewhere below the selector. */
export async function reads(tab: Tab, text: string, selector = 'body'): Promise<void> {
  await becomes(tab, textIsThere(text, selector), `${text} was never to be read`);
}

/** Resolves once this can no longer be read below the selector. */
export async function readsNoMore(tab: Tab, text: string, selector = 'body'): Promise<void> {
  await becomes(tab, `!(${textIsThere(text, selector)})`, `${text} stayed`);
}

function textIsThere(text: string, selector: string): string {
  return `[...document.querySelectorAll(${JSON.stringify(selector)})]
    .some(element => element.innerText.includes(${JSON.stringify(text)}))`;
}

/** Looks again after each change of the page: its own timers hardly run in a tab that was behind another. */
async function becomes({ page }: Tab, condition: string, otherwise: string): Promise<void> {
  const comes = `new Promise(resolve => {
    const look = () => (${condition}) && resolve(true);
    new MutationObserver(look).observe(document, {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
    look();
  })`;
  let there: unknown;
  await until(
    async () => {
      // Null where the page was left meanwhile, and the promise with it.
      const seen = await within(
        page.evaluate(comes).catch(() => null),
        patienceMs,
        null,
      );
      if (seen === null) there = await page.evaluate('document.body.innerText').catch(() => null);
      return seen;
    },
    () => `${otherwise}; there is: ${there}`,
  );
}

const looks = [
  { scheme: 'light', width: 1280 },
  { scheme: 'light', width: 360 },
  { scheme: 'dark', width: 360 },
  { scheme: 'dark', width: 1280 },
] as const;

export async function lookAs({ page }: Tab, { scheme, width }: (typeof looks)[number]): Promise<void> {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.setViewport({ width, height: 800 });
}

const axeResults = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});

/**
 * Barriers that keep people out of the page as it is: axe's findings, and whether it is wider than the
 * window.
 */
export async function barriers({ page }: Tab): Promise<readonly string[]> {
  if ((await page.evaluate('"axe" in window')) === false) await page.evaluate(axe);
  const { violations } = axeResults.parse(
    await page.evaluate('axe.run(document, { resultTypes: ["violations"] })'),
  );
  const isCut = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    ...(isCut === true ? ['the page is wider than the window'] : []),
  ];
}

/**
 * Barriers of the page as it looks on a desk and on a phone, light and dark; in an ordinary run light on a
 * desk and dark on a phone.
 */
export async function barriersInAnyLook(tab: Tab): Promise<readonly string[]> {
  const found: string[] = [];
  for (const look of some(looks, 2)) {
    await lookAs(tab, look);
    const seen = await barriers(tab);
    found.push(...seen.map(barrier => `${look.scheme}, ${look.width} pixels wide: ${barrier}`));
  }
  await lookAs(tab, looks[0]);
  return found;
}
