/** Paths and pages. */

import fc from 'fast-check';
import t from 'tap';
import { addressOf, placeAt } from '../../src/wire/pages.ts';

t.test('a path is one page or none', async t => {
  t.same(placeAt('/'), { page: 'overview', name: null });
  t.same(placeAt('/owners'), { page: 'owners', name: null });
  t.same(placeAt('/owners/alice'), { page: 'owner', name: 'alice' });
  t.same(placeAt('/mine/tokens'), { page: 'myTokens', name: null });
  for (const path of [
    '',
    '/owners/',
    '/owners/a/b',
    '/Owners',
    '/index.html',
    '/owners/%ff',
    '/mine/else',
    '//',
  ]) {
    t.equal(placeAt(path), null, path);
  }
});

t.test('the address of a place leads there, whatever its name', async t => {
  t.equal(addressOf('overview'), './');
  t.equal(addressOf('owner', 'a/b?c#d'), 'owners/a%2Fb%3Fc%23d');
  const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter(name => name !== '.' && name !== '..');
  fc.assert(
    fc.property(names, name => {
      const { pathname } = new URL(addressOf('rule', name), 'http://host/quota/');
      t.same(placeAt(pathname.slice('/quota'.length)), { page: 'rule', name });
    }),
  );
});
