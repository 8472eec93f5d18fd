/** The programs that connect over TCP. */

import { BlockList, isIPv6, type Socket } from 'node:net';

/** Tells whether a connection is from this host itself, or from one of these addresses and networks. */
export function comesFrom(networks: readonly string[]): (socket: Socket) => boolean {
  const known = new BlockList();
  for (const network of ['127.0.0.0/8', '::1', ...networks]) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) known.addAddress(address, family);
    else known.addSubnet(address, Number(bits), family);
  }
  return ({ remoteAddress: address }) =>
    address !== undefined && known.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
