/** Addresses inside are told from those of the public internet. */

import t from 'tap';
import { isInNetworks, isPrivateAddress } from '../../src/notices/outgoing.ts';

t.test('only addresses of the public internet are no private ones', async t => {
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    'not an address',
  ]) {
    t.equal(isPrivateAddress(address), true, address);
  }
  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1']) {
    t.equal(isPrivateAddress(address), false, address);
  }
});

t.test('networks have the addresses that they name', async t => {
  t.equal(isInNetworks('10.1.2.3', ['10.0.0.0/8']), true);
  t.equal(isInNetworks('11.1.2.3', ['10.0.0.0/8', '::1']), false);
  t.equal(isInNetworks('::1', ['10.0.0.0/8', '::1']), true);
  t.equal(isInNetworks('127.0.0.1', []), false);
});
