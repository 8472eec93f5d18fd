/**
 * Checks of connections to other hosts: finds addresses outside the public internet, which need permission of
 * an administrator, and describes untrusted certificates for administrators.
 */

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

/** Special networks in the public space of IPv6: protocols, documentation, and embedded IPv4 addresses. */
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

/** Error codes of Node and OpenSSL for a rejected certificate. */
const codes: ReadonlySet<unknown> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Describes a certificate fault; null: it is another error. `place`: the host, and its port if known. */
export function certificateFault(error: unknown, place: string): string | null {
  if (!(error instanceof Error)) return null;
  // nodemailer replaces `code` by its own, and keeps the original one.
  const code = 'originalCode' in error ? error.originalCode : 'code' in error ? error.code : null;
  if (!codes.has(code)) return null;
  // After a semicolon, the message has advice about options of Node.
  const [why = ''] = error.message.split(';');
  return `the certificate of ${place} is not trusted: ${why}`;
}
