/** docs/policy.md, typed as it stands, from its first line to its last: what is shown is what is printed. */

import t from 'tap';
import { iniOf, readGuide, typeOn } from './guide.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const blocks = await readGuide('policy.md');

/** Usage that the manual describes. */
const stored = [
  ['alice', 'size:git:lfs', 5_000_000_000],
  ['alice', 'size:repos:private', 3_200_000_000],
  ['bob', 'size:repos:private', 300_000_000],
  ['acme', 'size:assets:packages:all', 12_000_000_000],
] as const;

t.test('every command of the manual on rules and groups prints what the manual shows', async t => {
  const server = await Server.open(t, { started: false });
  await server.configure({ 'storage.lfs': { PATH: null } });
  let printed: string | null = null;
  for (const block of blocks) {
    if (block.kind === 'ini') {
      if (printed !== null) await server.stop();
      await server.configure(iniOf(block));
      await server.start();
      if (printed !== null) continue;
      await server.softquota('user create acme --type organization');
      for (const [owner, subject, bytes] of stored)
        await server.reports(owner, bytes, { subject, unit: subject });
    } else if (block.kind === 'sh') {
      const typed = await typeOn(server, block.text);
      t.equal(typed.stderr.replace(/^Exported .*\n/, ''), '', block.text);
      printed = typed.stdout;
    } else {
      t.equal(printed, block.text, block.heading);
    }
  }
});
