/** Addresses that are not of the public internet: nobody makes softquota ask them unless an administrator says so. */

import { BlockList, isIP } from 'node:net';

/** The special-purpose registry of IPv4 (RFC 6890 and later). */
const special4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Within the public space of IPv6: protocols, documentation, and addresses of IPv4 in other clothes. */
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = networksOf([...special4, ...special6]);
const public6 = networksOf(['2000::/3']);

export function isPrivateAddress(address: string): boolean {
  const family = familyOf(address);
  if (family === null) return true;
  if (family === 'ipv4') return special.check(address, family);
  return !public6.check(address, family) || special.check(address, family);
}

/** Tells whether an address is in one of the networks, such as `10.0.0.7` and `10.0.0.0/8`. */
export function isInNetworks(address: string, networks: readonly string[]): boolean {
  const family = familyOf(address);
  return family !== null && networksOf(networks).check(address, family);
}

function networksOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = familyOf(address);
    if (family === null) continue;
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address);
  return version === 0 ? null : version === 4 ? 'ipv4' : 'ipv6';
}
