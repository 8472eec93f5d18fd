/**
 * Chromium, without a window: pages as a person sees them, and all that a page asks for or complains about.
 * The shell without a browser around it draws the same pages with a third less work.
 *
 * It knows nothing of the tester's own profile, and of no host but this host's loopback.
 */

import { join } from 'node:path';
import puppeteer, { type CDPSession, type Page, type Browser as Running } from 'puppeteer-core';
import { type Teardown, temporaryFolder } from '../temporary-folder.ts';
import { until } from './ask.ts';
import { plainEnvironment } from './run.ts';

export { type CDPSession, type Page, puppeteer, type Running };

export const program = '/usr/bin/chromium-headless-shell';

/** Starting, and drawing a page, take long where much else runs. */
const patienceMs = 120_000;

export class Browser {
  readonly #running: Running;

  private constructor(running: Running) {
    this.#running = running;
  }

  /** It ends with what it is opened for. */
  static async open(t: Teardown): Promise<Browser> {
    const profile = temporaryFolder(t);
    const running = await puppeteer.launch({
      executablePath: program,
      headless: 'shell',
      userDataDir: join(profile, 'profile'),
      env: { ...plainEnvironment, HOME: profile, TMPDIR: profile },
      timeout: patienceMs,
      protocolTimeout: patienceMs,
      args: [
        '--no-sandbox', // it does not start as root otherwise
        '--disable-quic',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
      ],
    });
    const browser = new Browser(running);
    t.teardown(() => browser.close());
    return browser;
  }

  /** A tab that shares no cookie and no memory with any other. */
  async tab(): Promise<Tab> {
    const context = await this.#running.createBrowserContext();
    return new Tab(await context.newPage());
  }

  close(): Promise<void> {
    return this.#running.close();
  }
}

export class Tab {
  readonly page: Page;
  /** Every address that was asked for, in order. */
  readonly requests: string[] = [];
  /**
   * The things that a person would find in red in the console: errors, warnings, what the page's own policy
   * blocked, what did not come, but for what the page itself no longer waits for.
   */
  readonly complaints: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(patienceMs);
    page
      .on('request', request => this.requests.push(request.url()))
      .on('requestfailed', request => {
        const reason = request.failure()?.errorText;
        if (reason !== 'net::ERR_ABORTED') this.complaints.push(`${request.url()}: ${reason}`);
      })
      .on('pageerror', error => this.complaints.push(String(error)))
      .on('console', message => {
        if (['error', 'warn', 'assert'].includes(message.type()))
          this.complaints.push(`${message.text()} (${message.location().url ?? 'no address'})`);
      });
  }

  /** Resolves once the page is there with all that it is made of. */
  async go(url: string): Promise<void> {
    await this.page.goto(url, { waitUntil: 'load' });
  }

  /** Waits until it can be clicked, and does. Selectors are CSS, and `::-p-text(…)`. */
  async click(selector: string): Promise<void> {
    await this.page.locator(selector).click();
  }

  /** Waits for a field, and puts this into it. */
  async fill(selector: string, text: string): Promise<void> {
    await this.page.locator(selector).fill(text);
  }

  /** Resolves once there is a complaint like this, made before or yet to come. */
  async complained(like: RegExp): Promise<void> {
    await until(
      () => this.complaints.find(complaint => like.test(complaint)) ?? null,
      () => `no complaint like ${like} came, but ${JSON.stringify(this.complaints)}`,
    );
  }

  /** Waits until it can be seen, and gives what is read there. */
  async read(selector: string): Promise<string> {
    const found = await this.page.waitForSelector(selector, { visible: true });
    if (found === null) throw new Error(`${selector} went away`);
    return String(await (await found.getProperty('innerText')).jsonValue());
  }
}
