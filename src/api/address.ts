/** Where a request seems to come from. */

import { BlockList, isIPv6, type Socket } from 'node:net';

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
  const many = new BlockList();
  for (const proxy of ['127.0.0.0/8', '::1', ...proxies]) {
    const [address = '', bits] = proxy.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) many.addAddress(address, family);
    else many.addSubnet(address, Number(bits), family);
  }
  return ({ remoteAddress: address }) => {
    if (address === undefined) return null;
    return many.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ? null : address;
  };
}
