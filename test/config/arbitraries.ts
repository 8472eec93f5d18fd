/** Configurations as somebody might write them: any keys, any sound values, any quoting. */

import fc from 'fast-check';
import { encodeValue } from '../../src/config/lines.ts';
import { nameFault } from '../../src/quota/index.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 20 }).filter(text => text.isWellFormed());
const visible = anyText.map(text => text.replace(/\p{Cc}/gu, ''));
const segment = anyText.map(text => `x${text.replace(/[/,{}*\0]/g, '')}x`);
const socket = anyText.map(text => text.replace(/[/\0]/g, '')).filter(text => !/^\.{0,2}$/.test(text));
/** A name that `fixed` takes. */
export const ownerName = visible.map(text => text.trim()).filter(text => nameFault(text) === null);
const size = fc.oneof(
  fc.constant(-1),
  fc.maxSafeNat(),
  fc.tuple(fc.nat(99), fc.constantFrom('k', 'Mi', 'G', 'TiB')).map(([n, unit]) => `${n}${unit}`),
);
const pick = (...words: string[]) => fc.constantFrom(...words, ...words.map(word => word.toUpperCase()));
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 4 }).map(items => items.join(','));

const storage = (section: string) => ({
  [`${section}.PATH`]: segment.map(name => `/srv/${section}/${name}/{owner}/x`),
  [`${section}.OWNER`]: fc.oneof(
    ownerName.map(name => `fixed ${name}`),
    pick('path', 'file owner'),
  ),
});

/** The keys by section and name; secrets are not among them, for they are not printed. */
const values: Readonly<Record<string, fc.Arbitrary<string | number | boolean>>> = {
  'quota.ENABLED': fc.boolean(),
  'quota.DEFAULT_GROUPS': list(anyText),
  'quota.REFUSE_WHEN': pick('exceeded', 'reached'),
  'quota.UNCOVERED': pick('default', 'deny'),
  'quota.MODE': pick('enforce', 'report'),
  'quota.WARN_AT': list(fc.integer({ min: 1, max: 100 })),
  'quota.default.TOTAL': size,
  ...storage('storage.repos'),
  'storage.repos.VISIBILITY': pick('export-ok', 'public', 'private'),
  ...storage('storage.wiki'),
  ...storage('storage.attachments.issues'),
  ...storage('storage.packages'),
  'storage.FOLLOW': list(segment.map(name => `/disk/${name}`)),
  'scan.WORKERS': fc.integer({ min: 1, max: 64 }),
  'scan.SCHEDULE': fc.tuple(fc.nat(59), fc.nat(23)).map(([minute, hour]) => `${minute} ${hour} * * *`),
  'scan.MEASURE': pick('apparent', 'allocated'),
  'scan.EXCLUDE': list(segment),
  'gate.ADDR': fc.ipV4(),
  'gate.PORT': fc.integer({ min: 1, max: 65_535 }),
  'hooks.CONTACT': visible,
  'server.DATA_PATH': segment,
  'server.SOCKET': socket.map(name => `/run/a${name}`),
  'server.SOCKET_MODE': pick('0600', '660', '0777'),
  'server.SOCKET_GROUP': pick('', 'git', '998'),
  'server.ADMIN_SOCKET': socket.map(name => `/run/b${name}`),
  'server.HTTP_ADDR': fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()),
  'server.HTTP_PORT': fc.nat(65_535),
  'server.ROOT_URL': fc.webUrl(),
  'server.TRUSTED_PROXIES': list(fc.oneof(fc.ipV4(), fc.ipV6())),
  'users.AUTO_CREATE': fc.boolean(),
  'users.CASE': pick('fold', 'keep'),
  'store.HOST': pick('redis://127.0.0.1:7', 'redis+sentinel://a,b:1/m'),
  'store.WAIT_REPLICAS': fc.nat(64),
  'events.KEEP': fc
    .tuple(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(...'smhdw'))
    .map(([n, u]) => `${n}${u}`),
  'log.LEVEL': pick('debug', 'warn'),
  'log.FORMAT': pick('json', 'pretty'),
};

/** An app.ini without a fault. */
export const configText: fc.Arbitrary<string> = fc.record(values, { requiredKeys: [] }).map(given =>
  Object.entries(given)
    .map(([place, value]) => {
      const dot = place.lastIndexOf('.');
      return `[${place.slice(0, dot)}]\n${place.slice(dot + 1)} = ${encodeValue(String(value))}\n`;
    })
    .join(''),
);
