/** Finds the address that a request seems to come from. */

import type { Socket } from 'node:net';
import { comesFrom } from '../service/index.ts';

/**
 * The address alone, where a proxy wrote the port that it was called from, too: `203.0.113.7:4711`,
 * `[2001:db8::1]:443`. What has several colons and no brackets is an IPv6 address by itself.
 */
export function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

/**
 * Tells the address that a connection is from; null for a proxy's, and for this host's own: many may be
 * behind them.
 */
export function peersBehind(proxies: readonly string[]): (socket: Socket) => string | null {
  const hasManyBehind = comesFrom(proxies);
  return socket => (hasManyBehind(socket) ? null : (socket.remoteAddress ?? null));
}
