/**
 * Names that strangers choose: nothing they write becomes a unit, somebody else's bytes, or an order to a
 * terminal.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

/** Neither C0 (but newlines), nor C1, nor what turns the reading direction or cannot be seen. */
const harmful =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

function harmless(t: Test, what: string, text: string): void {
  t.ok(text.length > 0, `${what} says something`);
  t.notMatch(text, harmful, `${what} brings nothing that a terminal obeys`);
}

t.test('an owner named with escapes and controls is shown as harmless text, everywhere', async t => {
  const evil = 'e\u001b]0;pwned\u0007\u001b[2J\u0085v\u202eli\u2066\u200bx\rnobody';
  const server = await Server.open(t, { repositories: [`${evil}/a\u009bpp\u202e`] });
  const bare = server.path(`${evil}/a\u009bpp\u202e`);
  const clone = await Clone.of(server, bare);
  await clone.commit(1_500_000);
  t.equal((await clone.push()).code, 0);
  await until(async () => {
    const { text } = await server.ask('admin', `/api/v1/admin/quota/usage/${encodeURIComponent(evil)}`);
    return JSON.parse(text).total > 1_500_000 || null;
  });
  await clone.commit(10);
  const push = await clone.push();
  t.equal(push.code, 1);
  t.match(push.said, /^Quota exceeded: e\\u\{1b\}/);
  harmless(t, 'the refusal', push.said);
  // A file that git began and left gives doctor something to tell.
  const left = join(bare, 'objects/pack/tmp_pack_\u001b[1m\u202e');
  await writeFile(left, 'x');
  await must('touch', ['-d', '2 days ago', left]);
  await mkdir(join(server.folder, 'git', evil.toUpperCase()));
  await server.repository(`${evil.toUpperCase()}/b`);
  await server.scan();
  await server.ask(
    'gate',
    `/v1/check?path=${encodeURIComponent(bare)}&actor=${encodeURIComponent('me\u202e')}`,
  );

  const commands = [
    ['usage'],
    ['usage', '--json'],
    ['usage', evil],
    ['usage', evil, '--json'],
    ['usage', `${evil}\u202enot`],
    ['check', evil],
    ['check', evil, '--json'],
    ['check', bare],
    ['check', `${bare}\u001b/../../\u202e`],
    ['doctor'],
    ['doctor', '--json'],
    ['hooks', 'status', join(server.folder, 'git')],
    ['hooks', 'status', '--json', join(server.folder, 'git')],
    ['hooks', 'install', join(server.folder, 'git')],
    [`\u001b[31m`],
  ];
  await Promise.all(
    commands.map(async args => {
      const { stdout, stderr } = await server.softquota(args);
      harmless(t, `softquota ${JSON.stringify(args)}`, stdout + stderr);
    }),
  );
  const scan = await server.softquota(['scan', evil]);
  harmless(t, 'softquota scan', scan.stdout + scan.stderr);
  t.match(scan, { code: 0, stdout: /^Measured 2 units/ }, 'both spellings are one owner');
  const { text } = await server.ask('gate', `/v1/check?path=${encodeURIComponent(bare)}`, {
    accept: 'text/plain',
  });
  harmless(t, 'the gate', text);
  await server.stop();
  harmless(t, 'the log', server.daemon.log);
});
