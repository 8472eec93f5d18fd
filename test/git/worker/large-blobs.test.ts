/** The worker looks for the large files of a push, for a daemon that may not read them. */

import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import t from 'tap';
import { workerAnswers } from '../../../src/wire/index.ts';
import { until } from '../../e2e/ask.ts';
import { World } from './judge/world.ts';

t.test('it tells them on a thread', async t => {
  const world = await World.open(t);
  const name = 'tmp_objdir-incoming-aaaaaa';
  const objects = join(world.bare, 'objects');
  const prepared = join(world.folder, 'prepared');
  const object = 'ab'.padEnd(40, '0');
  const ask = async (quarantine: string) => {
    const task = { kind: 'large_blobs', path: world.bare, name: quarantine } as const;
    const answer = await world.link.ask({ ...task, over_bytes: 1000, deadline_ms: 20_000 }, 20_000);
    return workerAnswers.large_blobs.parse(answer);
  };
  const blob = Buffer.concat([Buffer.from('blob 3000\0'), randomBytes(3000)]);
  // The worker removes a quarantine that nobody's push has: once that was in between, it is there again.
  const look = await until(async () => {
    await mkdir(join(prepared, 'ab'), { recursive: true });
    await writeFile(join(prepared, 'ab', object.slice(2)), deflateSync(blob));
    await rm(join(objects, name), { recursive: true, force: true });
    await rename(prepared, join(objects, name));
    const found = await ask(name);
    return found.is === 'seen' && found.blobs.length > 0 ? found : null;
  });
  t.same(look, { is: 'seen', blobs: [{ object, bytes: 3000 }] });
  t.match(await ask('no quarantine'), { is: 'unknown', why: /none of git/ });
});
