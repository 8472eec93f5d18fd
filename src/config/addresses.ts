/** Kinds of values that name places on a network, and mailboxes. */

import { BlockList, isIP } from 'node:net';
import { isHost, redisAddressIn } from '../network.ts';
import { listOf, matching, textKind, type ValueType } from './kinds.ts';

export const listenAddress: ValueType<string> = matching(
  isHost,
  'neither an address nor a host name',
  'Write an IP address or a host name, such as 127.0.0.1, :: or localhost',
  text => text.trim().replace(/^\[(.*)\]$/, '$1'),
);

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
const network: ValueType<string> = matching(
  isNetwork,
  'not an address',
  'Write an IP address or a network, such as 10.0.0.7 or 10.0.0.0/8',
);

export const networks: ValueType<readonly string[]> = listOf(
  network,
  'Write IP addresses and networks, separated by commas, such as 127.0.0.1, 10.0.0.0/8',
);

function isNetwork(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/');
  const version = isIP(address);
  if (version === 0 || others.length > 0 || address.includes('%')) return false;
  if (bits === undefined) return true;
  if (!/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}

/** An address for browsers, with the slash that other addresses are appended to. */
export const webAddress: ValueType<string> = {
  expected: 'Write an address such as https://git.example/quota/, with nothing after the path',
  parse: text => {
    const written = text.trim();
    const url = /^https?:\/\//i.test(written) ? URL.parse(written) : null;
    if (url === null) return { ok: false, problem: 'not an http or https address' };
    // An empty query or fragment shows in the text only.
    if (/[?#]/.test(written)) return { ok: false, problem: 'an address with a query or a fragment' };
    if (/^[^/]*\/\/[^/]*@/.test(written)) return { ok: false, problem: 'an address with a user' };
    return { ok: true, value: url.href.replace(/\/?$/, '/') };
  },
  print: text => text,
};

/** Address of the shared store. The password in it must not be shown: see `maskPassword`. */
export const storeAddress: ValueType<string> = textKind(text => {
  if (/^redis\+cluster:/i.test(text))
    return 'a Redis Cluster, which softquota cannot use any more (docs/redis.md)';
  return redisAddressIn(text) === null ? 'not an address of a store' : null;
}, 'Write redis://HOST:PORT/DATABASE, rediss:// for TLS, or redis+sentinel://H1:P,H2:P/MASTER/0, each with USER:PASSWORD@, percent-encoded, before the host where needed');

const masked = '********';

/** A sound address without its user and password. */
export function maskPassword(address: string): string {
  return address.replace(/^([a-z+]+:\/\/)[^/]*@/i, `$1${masked}@`);
}

/**
 * Shows scheme, host and path of a text that was meant as an address: all else may be a password. A path of
 * SQLite has none.
 */
export function maskUnsound(text: string): string {
  if (text.trimStart().startsWith('sqlite:')) return text;
  const [, scheme = '', rest = ''] = /^([a-z+]+:\/\/)?(.*)$/is.exec(text) ?? [];
  const at = rest.lastIndexOf('@');
  const end = rest.search(/[\s#&;=?]/);
  const shown = rest.slice(at + 1, end === -1 ? rest.length : end);
  return `${scheme}${at === -1 ? '' : `${masked}@`}${shown}${end === -1 ? '' : masked}`;
}

const mailbox = /^[^\s@<>,;:"()[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$/;

export const mailAddress: ValueType<string> = matching(
  mailbox,
  'not a mail address',
  'Write a mail address such as root@git.example',
);

export const senderAddress: ValueType<string> = matching(
  isSender,
  'not a mail address',
  'Write a mail address such as quota@git.example, or softquota <quota@git.example>',
);

function isSender(text: string): boolean {
  const [, name, address = ''] = /^([^<>\p{Cc}]{1,100})<([^<>]{1,320})>$/u.exec(text) ?? [];
  return mailbox.test(name === undefined ? text : address);
}
