/**
 * A browser as far as signing in goes: it follows redirects one by one, and keeps cookies by host, port and
 * path.
 */

interface Cookie {
  readonly value: string;
  readonly path: string;
  /** Attributes as the server wrote them. */
  readonly attributes: string;
}

export interface Step {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export class Browser {
  /** By origin, by name. Real ones share cookies among ports; here each test's servers are apart. */
  readonly #jar = new Map<string, Map<string, Cookie>>();

  /** One request, without following. */
  async get(address: URL | string, headers: Readonly<Record<string, string>> = {}): Promise<Step> {
    const url = new URL(address);
    const cookie = this.#headerFor(url);
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
    });
    for (const line of response.headers.getSetCookie()) this.#keep(url, line);
    return { url, status: response.status, headers: response.headers, body: await response.text() };
  }

  /** Follows redirects for as long as `until` does not hold of the address to go to; resolves with that. */
  async go(address: URL | string, until: (url: URL) => boolean = () => false): Promise<URL> {
    let url = new URL(address);
    for (let steps = 0; steps < 20; steps += 1) {
      if (until(url)) return url;
      const step = await this.get(url);
      const location = step.headers.get('location');
      if (location === null) return url;
      url = new URL(location, url);
    }
    throw new Error(`too many redirects, the last to ${url}`);
  }

  /** Cookies that it holds for an origin. */
  cookies(origin: string): ReadonlyMap<string, Cookie> {
    return this.#jar.get(origin) ?? new Map();
  }

  set(origin: string, name: string, cookie: Cookie): void {
    this.#jar.set(origin, (this.#jar.get(origin) ?? new Map()).set(name, cookie));
  }

  #headerFor(url: URL): string {
    return [...this.cookies(url.origin)]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }

  #keep(url: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map(part => part.trim());
    const [name = '', value = ''] = pair.split(/=(.*)/s, 2);
    const path = attributes.find(part => /^path=/i.test(part))?.slice('path='.length) ?? '/';
    if (attributes.some(part => /^max-age=0$/i.test(part)) || value === '') {
      this.#jar.get(url.origin)?.delete(name);
    } else this.set(url.origin, name, { value, path, attributes: attributes.join('; ') });
  }
}
