/** Changes in storage that another host walks, as hosts tell one another. */

import t from 'tap';
import { ChangeHints } from '../../src/fleet/change-hints.ts';

t.test('of what is said only paths below a directory are heard', async t => {
  const heard: string[] = [];
  const changeHints = new ChangeHints({
    store: { say: async () => {} },
    heard: path => heard.push(path),
  });
  const tell = (text: string) => changeHints.said(text);
  const say = (differing: object) => tell(JSON.stringify({ is: 'changed', path: 'nas:/a', ...differing }));
  const paths = ['nas:/alice/app.git', 'nas:/a..b/...', '/dev/vda1/odd\udc80\n', 'overlay'];
  for (const path of paths) say({ path });
  for (const path of ['nas:/a/../b', 'a/..', 'a/.', 'a/./b', 'a//b', 'a/', 'n/a\0b', 7]) say({ path });
  say({ path: 'x'.repeat(40_000) });
  say({ is: 'another' });
  say({ more: 1 });
  for (const text of ['', 'null', '{', '[]', '"nas"']) tell(text);
  t.strictSame(heard, paths);
});

t.test('the same path is said once while others are on their way, and no more than can be', async t => {
  const saying: string[] = [];
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const changeHints = new ChangeHints({
    store: {
      say: async text => {
        saying.push(JSON.parse(text).path);
        begin();
        await gate;
        if (saying.length === 1001) end();
        throw new Error('nobody hears it');
      },
    },
    heard: () => {},
  });
  changeHints.passOn('first');
  await begun;
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 2000; at++) changeHints.passOn(`${at}`);
  }
  t.strictSame(saying, ['first']);
  open();
  await ended;
  t.equal(new Set(saying).size, 1001);
});
