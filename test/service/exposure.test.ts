/** Paths where a socket may lie: nobody else may be able to put theirs there. */

import fs from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { exposureOf as exposure, listen } from '../../src/service/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const stranger = 4711;

const exposureOf = (path: string): string | null => exposure(path)?.words ?? null;

function directory(path: string, mode: number, uid = 0): string {
  fs.mkdirSync(path);
  fs.chmodSync(path, mode);
  fs.chownSync(path, uid, uid);
  return path;
}

t.test('a directory that everybody may write is refused, sticky or not, and stays empty', async t => {
  const folder = temporaryFolder(t);
  for (const [name, mode] of [
    ['open', 0o777],
    ['sticky', 0o1777],
    ['others', 0o702],
  ] as const) {
    const at = directory(join(folder, name), mode);
    const path = join(at, 'gate.sock');
    const place = { path, mode: 0o660, group: null, setting: '[server] SOCKET' };
    await t.rejects(listen(createServer(), place), {
      code: 'configuration',
      message:
        `[server] SOCKET = ${path}: everybody may write ${at}, and so can replace the socket; ` +
        "expected a directory that only the daemon's user and root may write, such as /run/softquota",
    });
    t.strictSame(fs.readdirSync(at), []);
  }
  t.equal(exposureOf('/tmp/gate.sock'), 'everybody may write /tmp');
  t.equal(exposureOf(join(folder, 'open/../gate.sock')), null);
});

t.test('a closed directory is as good as the way to it', async t => {
  const folder = temporaryFolder(t);
  t.equal(exposureOf(join(folder, 's')), null, 'one of ours in a sticky one');
  t.equal(exposureOf(join(directory(join(folder, 'group'), 0o770), 's')), null);
  const sticky = directory(join(folder, 'sticky'), 0o1777);
  const theirs = directory(join(sticky, 'theirs'), 0o755, stranger);
  t.equal(exposureOf(join(theirs, 's')), `everybody may replace ${theirs}`);
  t.equal(exposure(join(theirs, 's'), stranger), null, 'where the daemon is that user');
  t.equal(exposureOf(join(directory(join(sticky, 'ours'), 0o755), 's')), null);
  const open = directory(join(folder, 'open'), 0o777);
  const inOpen = directory(join(open, 'closed'), 0o700);
  t.equal(exposureOf(join(inOpen, 's')), `everybody may replace ${inOpen}`);
  t.equal(exposureOf(join(directory(join(inOpen, 'deeper'), 0o700), 's')), `everybody may replace ${inOpen}`);
});

t.test('links are followed, and the directories that they lie in count', async t => {
  const folder = temporaryFolder(t);
  const closed = directory(join(folder, 'closed'), 0o700);
  const sticky = directory(join(folder, 'sticky'), 0o1777);
  const link = (path: string, target: string, uid = 0): string => {
    fs.symlinkSync(target, path);
    fs.lchownSync(path, uid, uid);
    return path;
  };
  t.equal(exposureOf(join(link(join(folder, 'to-sticky'), 'sticky'), 's')), `everybody may write ${sticky}`);
  t.equal(exposureOf(join(link(join(folder, 'to-tmp'), '/tmp'), 's')), 'everybody may write /tmp');
  t.equal(exposureOf(join(link(join(folder, 'to-closed'), `../..${folder}/closed`), 's')), null);
  const theirs = link(join(sticky, 'theirs'), closed, stranger);
  t.equal(exposureOf(join(theirs, 's')), `everybody may replace ${theirs}`);
  t.equal(exposureOf(join(link(join(sticky, 'ours'), closed), 's')), null);
  link(join(folder, 'circle'), 'circle');
  t.equal(exposureOf(join(folder, 'circle/s')), null, 'no way there: listening fails');
  t.equal(exposureOf(join(folder, 'missing/s')), null);
});
