/** Host names, and the address of the Redis that hosts share. */

import { isIP } from 'node:net';

/** Names of containers and of their networks may have `_`. */
const hostName =
  /^(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i;

/** Dots and digits alone are a mistyped address, never a name. */
export function isHost(text: string): boolean {
  return (hostName.test(text) && !/^[\d.]+$/.test(text)) || isIP(text) !== 0;
}

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /** The servers; with Sentinels these, which know where the master is. */
  readonly places: readonly ServerAddress[];
  readonly tls: boolean;
  /** The name of the master that the Sentinels watch; null without Sentinels. */
  readonly master: string | null;
  readonly database: number;
  /** Empty: the user that Redis calls `default`. */
  readonly user: string;
  /** Null: there is none. */
  readonly password: string | null;
}

const redisForm =
  /^(?<scheme>rediss?|redis\+sentinel):\/\/(?:(?<user>[^\s:@/?#]*)(?::(?<password>[^\s@/?#]*))?@)?(?<hosts>[^\s@/?#]+)(?:\/(?<rest>[^\s?#]*))?$/i;

/** Reads `redis://`, `rediss://` and `redis+sentinel://H1:P,H2:P/MASTER/0`; null for any other text. */
export function redisAddressIn(text: string): RedisAddress | null {
  const groups = redisForm.exec(text)?.groups;
  if (groups === undefined) return null;
  const { scheme = '', user = '', password, hosts = '', rest = '' } = groups;
  const isSentinel = scheme.toLowerCase() === 'redis+sentinel';
  const [master = '', database = '', ...more] = isSentinel ? rest.split('/') : ['', ...rest.split('/')];
  const written = hosts.split(',');
  const places = written.flatMap(place => serverAddressIn(place, isSentinel ? 26_379 : 6379) ?? []);
  if (places.length < written.length || !(isSentinel ? master !== '' : places.length === 1)) return null;
  if (!/^\d{0,5}$/.test(database) || more.length > 0) return null;
  try {
    return {
      places,
      tls: scheme.toLowerCase() === 'rediss',
      master: isSentinel ? decodeURIComponent(master) : null,
      database: Number(database),
      user: decodeURIComponent(user),
      password: password === undefined ? null : decodeURIComponent(password),
    };
  } catch {
    return null;
  }
}

function serverAddressIn(text: string, usualPort: number): ServerAddress | null {
  const [, bracketed, plain = '', digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? usualPort : Number(digits);
  const isSound = bracketed === undefined ? isHost(plain) : isIP(bracketed) === 6;
  return isSound && port >= 1 && port <= 65_535 ? { host: bracketed ?? plain, port } : null;
}
