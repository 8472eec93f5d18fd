/**
 * Address that a browser is sent to at a provider. The parameters go there beforehand if the provider takes
 * that (pushed authorization requests, RFC 9126): the browser then brings a reference alone.
 */

import { buildAuthorizationUrl, buildAuthorizationUrlWithPAR } from 'openid-client';
import { byFirstWay, refusalIn } from './exchange.ts';
import { SignInFault } from './fault.ts';
import { causesOf, type Provider } from './providers.ts';

/** Anybody can begin a sign-in: no more than so many wait for providers at once. */
const mostAtOnce = 32;

export class Authorizations {
  #underWay = 0;

  /**
   * Makes the address. If a provider takes pushed requests but does not require them, the browser brings the
   * parameters itself whenever the provider does not take them beforehand. Rejects with a `SignInFault`.
   */
  async addressFor(provider: Provider, parameters: Readonly<Record<string, string>>): Promise<URL> {
    const [configuration] = provider;
    const {
      pushed_authorization_request_endpoint: offered,
      require_pushed_authorization_requests: isRequired,
    } = configuration.serverMetadata();
    if (offered === undefined) return buildAuthorizationUrl(configuration, parameters);
    try {
      return await this.#pushed(provider, parameters);
    } catch (error) {
      if (isRequired !== true) return buildAuthorizationUrl(configuration, parameters);
      throw (
        refusalIn(error, 'provider_refused', 'the provider refuses the pushed request') ??
        new SignInFault('provider_away', `the request could not be pushed: ${causesOf(error)}`)
      );
    }
  }

  async #pushed(provider: Provider, parameters: Readonly<Record<string, string>>): Promise<URL> {
    if (this.#underWay >= mostAtOnce) {
      throw new SignInFault('not_now', `${mostAtOnce} sign-ins wait for their providers already`);
    }
    this.#underWay += 1;
    try {
      return await byFirstWay(provider, by => buildAuthorizationUrlWithPAR(by, { ...parameters }));
    } finally {
      this.#underWay -= 1;
    }
  }
}
