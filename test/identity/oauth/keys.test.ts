import fc from 'fast-check';
import t from 'tap';
import { secretKeysOf } from '../../../src/identity/index.ts';

const old = 'o'.repeat(32);
const newest = 'n'.repeat(32);

t.test('what is sealed is opened with the same key for the same purpose, and by nothing else', async () => {
  const keys = secretKeysOf([newest]);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, purpose, other) => {
      const sealed = keys.seal(text, purpose);
      return (
        keys.open(sealed, purpose) === text &&
        (other === purpose || keys.open(sealed, other) === null) &&
        secretKeysOf([old]).open(sealed, purpose) === null
      );
    }),
  );
});

t.test('the same text is never sealed the same way twice, and does not show', async t => {
  const keys = secretKeysOf([newest]);
  const sealed = new Set(Array.from({ length: 100 }, () => keys.seal('hunter2', 'a')));
  t.equal(sealed.size, 100);
  for (const one of sealed) t.notMatch(one, /hunter2/);
});

t.test('after a rotation what the previous key sealed is read, and sealed anew with the newest', async t => {
  const before = secretKeysOf([old]).seal('hunter2', 'a');
  const keys = secretKeysOf([newest, old]);
  t.equal(keys.open(before, 'a'), 'hunter2');
  t.notOk(keys.isNewest(before));
  const after = keys.seal('hunter2', 'a');
  t.ok(keys.isNewest(after));
  t.equal(secretKeysOf([newest]).open(after, 'a'), 'hunter2');
});

t.test('what was tampered with opens as nothing', async t => {
  const keys = secretKeysOf([newest]);
  const sealed = keys.seal('hunter2', 'a');
  const [id = '', body = ''] = sealed.split('.');
  for (let place = 0; place < body.length - 1; place += 1) {
    const other = body[place] === 'A' ? 'B' : 'A';
    t.equal(keys.open(`${id}.${body.slice(0, place)}${other}${body.slice(place + 1)}`, 'a'), null);
  }
  for (const text of ['', '.', id, `${id}.`, `${id}.AAAA`, 'x.y.z', 'hunter2'])
    t.equal(keys.open(text, 'a'), null);
});
