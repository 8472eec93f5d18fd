/** What of an answer reaches a terminal. */

import { readFile, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { plain, refused, warned } from './gate.ts';
import { byEachClient, run, World } from './world.ts';

const forbidden = /[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

byEachClient(
  'controls and bidirectional characters are taken out of a refusal, letters of any script are not',
  async (t, client) => {
    const world = await World.open(t, { client });
    world.gate.answer = refused(
      Buffer.concat([
        Buffer.from(
          'Quota \x1b[31mexceeded\x07\x7f: J\u00fcrgen \u202eevil\u2066 \u200f\u061c日本 😀\r\n\tx',
        ),
        Buffer.from([
          0xc2, 0x9b, 0x33, 0x31, 0x6d, 0x9b, 0xff, 0xe2, 0x80, 0xe2, 0x80, 0xae, 0xae, 0xe0, 0x82, 0x9b,
        ]),
        Buffer.from('end\n\xc3', 'latin1'),
      ]),
    );
    await world.commit('first');
    const push = await world.push(['HEAD:main']);
    t.equal(push.code, 1);
    t.equal(World.said(push), 'Quota [31mexceeded: J\u00fcrgen evil 日本 😀\nx31mend');
  },
);

byEachClient('whatever bytes an answer has, only printable characters come out', async (t, client) => {
  const world = await World.open(t, { client });
  await world.put('upload', `${world.folder}/upload`);
  await world.script(world.hookConf, `socket=${world.gate.socket}\nclient=${client}\n`);
  const nasty = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .array(
        fc.constantFrom(
          0xc2,
          0x9b,
          0xe2,
          0x80,
          0xae,
          0x81,
          0xa6,
          0xd8,
          0x9c,
          0xf0,
          0x9f,
          0xed,
          0xa0,
          10,
          13,
          27,
          1,
          2,
          65,
        ),
      )
      .map(bytes => Uint8Array.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(nasty, async bytes => {
      world.gate.answer = refused(Buffer.from(bytes));
      const { code, stderr } = await world.run(`${world.folder}/upload`, ['alice', 'size:git:lfs']);
      return code === 1 && !forbidden.test(stderr) && !stderr.includes('\ufffd');
    }),
    { numRuns: 150 },
  );
});

byEachClient('a refusal without words still says why', async (t, client) => {
  const world = await World.open(t, { client });
  world.gate.answer = refused('\x1b\x07');
  await world.commit('first');
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 1);
  t.equal(World.said(push), 'Quota exceeded.');
});

byEachClient(
  'a long answer is cut to 20 lines of 1,000 bytes, and no character is cut in two',
  async (t, client) => {
    const world = await World.open(t, { client });
    world.gate.answer = warned(`${'é'.repeat(400)}x${'é'.repeat(400)}\n`.repeat(100));
    await world.commit('first');
    const push = await world.push(['HEAD:main']);
    t.equal(push.code, 0);
    t.same(
      World.said(push).split('\n'),
      Array.from({ length: 20 }, () => `${'é'.repeat(400)}x${'é'.repeat(99)}`),
    );
  },
);

byEachClient('the page of an error is not shown', async (t, client) => {
  const world = await World.open(t, { client });
  world.gate.answer = plain(502, '<html>secret</html>');
  await world.commit('first');
  t.notMatch((await world.push(['HEAD:main'])).stderr, /secret/);
});

for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox', '/bin/mksh']) {
  const found = (await run('sh', ['-c', `[ -x ${shell} ]`])).code === 0;
  if (!found) continue; // the test is about the shells that this host has
  byEachClient(`${shell} says and decides the same`, async (t, client) => {
    const world = await World.open(t, {
      client,
      shell: shell === '/bin/busybox' ? '/bin/busybox ash' : shell,
    });
    world.gate.answer = refused('Quota exceeded: J\u00fcrgen \x1b[1m\u202euses\x9b 2 of 1 MB\n');
    await world.script(`${world.bare}/hooks/pre-receive.d/10-other`, '#!/bin/sh\ncat >&2; exit 3\n');
    await world.commit('first');
    const env = { LC_ALL: 'C.UTF-8' };
    const refusal = await world.push(['HEAD:main'], env);
    t.equal(refusal.code, 1);
    t.equal(World.said(refusal), 'Quota exceeded: J\u00fcrgen [1muses 2 of 1 MB');
    world.gate.answer = warned('nearly\n');
    const chained = await world.push(['HEAD:main', 'HEAD:b'], env);
    t.equal(chained.code, 1);
    const tip = await world.git('rev-parse', 'HEAD');
    const zeros = '0'.repeat(40);
    t.equal(World.said(chained), `nearly\n${zeros} ${tip} refs/heads/main\n${zeros} ${tip} refs/heads/b`);
    world.gate.answer = plain(503);
    await world.configure('softquota.onError', 'deny');
    t.match(World.said(await world.push(['HEAD:main'], env)), /^softquota: .*\(the answer was 503\), so/);
    await world.configure('softquota.onError', 'last');
    const at = `${new Date().toISOString().slice(0, 19)}Z`;
    const header = `softquota refused\t1\t${at}\tCASE=fold\n`;
    await writeFile(
      `${world.folder}/gate.refused`,
      `${header}path\t${world.bare}\tJ\u00fcrgen \x1b[1mis over\n`,
    );
    const last = await world.push(['HEAD:main'], env);
    t.equal(last.code, 1);
    t.match(World.said(last), /^J\u00fcrgen \[1mis over\nsoftquota: .*, this push is refused\.$/);
    t.match(World.said(last), ` list of ${at},`);
    t.match(await readFile(`${world.bare}/softquota-offline`, 'utf8'), /\trefused\tthe answer was 503\t/);
  });
}
